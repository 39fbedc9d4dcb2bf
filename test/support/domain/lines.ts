import { newCounts } from '../../../src/domain/counts.ts'
import { serviceIdentity } from '../../../src/domain/identity.ts'
import type { Line } from '../../../src/domain/line.ts'
import { type Pricing, plainPricing } from '../../../src/domain/segment-parts.ts'

/** Price terms in which nothing costs anything. */
export const FREE: Pricing = plainPricing({
  rateKey: 'DATA',
  plan: 'DEMO',
  cycle: '202612',
  tariff: { tiers: [], access: 0, extraDigits: 0, terms: null },
})

/** The parts of sessions, lines and segments, or of the start of one. */
const PARTS = ['identity', 'session', 'service', 'pricing', 'counts'] as const
type PartName = (typeof PARTS)[number]

/** Fields of one of these, and of the parts of it. */
export type Flat<T> = Omit<T, PartName> &
  PartOf<T, 'identity'> &
  PartOf<T, 'session'> &
  PartOf<T, 'service'> &
  PartOf<T, 'pricing'> &
  PartOf<T, 'counts'>
type PartOf<T, Name extends PartName> = T extends Record<Name, infer Part> ? Part : unknown

/** A copy with other values of some fields, each in its part. */
export function withFields<T extends object>(one: T, more: Partial<Flat<T>>): T {
  const names = PARTS.filter((name) => name in one)
  const parts = names.map((name) => ({ ...one[name as keyof T] }) as object)
  const whole = { ...one }
  for (const [name, value] of Object.entries(more)) {
    const part = name in one ? whole : (parts.find((fields) => name in fields) ?? whole)
    Object.assign(part, { [name]: value })
  }
  return { ...whole, ...Object.fromEntries(names.map((name, index) => [name, parts[index]])) }
}

/** An open line without usage so far, with overrides. */
export function lineOf(more: Partial<Flat<Line>>): Line {
  const line: Line = {
    stamp: 's',
    version: 0,
    session: { aid: 1, sid: 7, origin: 'http', sessionId: 's' },
    service: serviceIdentity({ ratingGroup: 10, usaget: 'data' }),
    pricing: FREE,
    counts: newCounts(0, false, false, null),
    state: 'open',
  }
  return withFields(line, more)
}
