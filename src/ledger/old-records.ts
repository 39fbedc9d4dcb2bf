/** Reads the lines of records of formats 1 (with names) and 2 (by position), both MessagePack. */
import { present } from '../domain/assert.ts'
import type { Line } from '../domain/line.ts'
import type { Payment } from '../domain/session.ts'
import { unpackPriced } from './old-segments.ts'
import type { Packed } from './old-tariffs.ts'

const STATES: readonly Line['state'][] = ['open', 'ended', 'closed', 'expired']

/** `format`: 1 or 2. */
export function unpackOldLine(format: number, packed: unknown): Line {
  return format === 1 ? fromNamed(packed as NamedLine) : unpackLine(packed as Packed)
}

function unpackLine(fields: Packed): Line {
  const [stamp, aid, sid, origin, sessionId, ratingGroup, usaget, calledNumber, state] = fields
  return {
    stamp: stamp as string,
    aid: aid as number,
    sid: sid as number,
    origin: origin as string,
    sessionId: sessionId as string,
    ratingGroup: ratingGroup as number,
    serviceIdentifier: '',
    usaget: usaget as string,
    calledNumber: calledNumber as string,
    state: present(STATES[state as number], 'state of a line'),
    ...unpackPriced(fields[9] as Packed),
  }
}

type NamedLine = Omit<Line, keyof typeof LATER_FIELDS> & Partial<typeof LATER_FIELDS>

/** What the first format did not know of lines. How their price came about is not on record. */
const LATER_FIELDS = {
  serviceIdentifier: '',
  ...{ grouped: 0, covered: 0, coveredMicros: 0, hasGroups: false },
  tariff: { tiers: [], access: 0, extraDigits: 0, terms: null } as Line['tariff'],
  carried: null as Line['carried'],
  ...{ access: false, priceOf: 'BASE', band: '' },
  ...{ others: [] as Line['others'], taxes: [] as Line['taxes'] },
  rounding: null as Line['rounding'],
  accountDebt: 0,
}

function fromNamed(line: NamedLine): Line {
  const payments = line.payments.map(
    (payment: Payment): Payment => ({ ...payment, counter: '', left: 0, total: 0 }),
  )
  return { ...LATER_FIELDS, ...line, payments }
}
