import { type Counts, newCounts } from '../../../src/domain/counts.ts'
import type { Line } from '../../../src/domain/line.ts'
import { type Pricing, plainPricing } from '../../../src/domain/segment-parts.ts'

/** Price terms in which nothing costs anything. */
export const FREE: Pricing = plainPricing({
  rateKey: 'DATA',
  plan: 'DEMO',
  cycle: '202612',
  tariff: { tiers: [], access: 0, extraDigits: 0, terms: null },
})

/** Fields of a line, a segment or its start, and of the parts of it. */
export type Flat<T> = Omit<T, 'pricing' | 'counts'> &
  Pricing &
  (T extends { counts: Counts } ? Counts : unknown)

/** A copy with other values of some fields, each in its part. */
export function withFields<T extends { pricing: Pricing; counts?: Counts }>(
  one: T,
  more: Partial<Flat<T>>,
): T {
  const parts = [{ ...one }, { ...one.pricing }, { ...one.counts }] as const
  for (const [name, value] of Object.entries(more)) {
    const part = parts.find((fields) => name in fields) ?? parts[0]
    Object.assign(part, { [name]: value })
  }
  const [whole, pricing, counts] = parts
  return { ...whole, pricing, ...(one.counts && { counts }) }
}

/** An open line without usage so far, with overrides. */
export function lineOf(more: Partial<Flat<Line>>): Line {
  const line: Line = {
    stamp: 's',
    version: 0,
    aid: 1,
    sid: 7,
    origin: 'http',
    sessionId: 's',
    ratingGroup: 10,
    serviceIdentifier: '',
    usaget: 'data',
    calledNumber: '',
    pricing: FREE,
    counts: newCounts(0, false, false, null),
    state: 'open',
  }
  return withFields(line, more)
}
