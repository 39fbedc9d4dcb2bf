/** What a commit tells the recorder, and results of operations, as packed values (MessagePack). */
import { Packr } from 'msgpackr'
import { present } from '../domain/assert.ts'
import type { Line, OperationLine } from '../domain/line.ts'
import type { Payment } from '../domain/session.ts'
import { CorruptValueError } from './owner-packing.ts'
import { packPriced, unpackPriced } from './segment-packing.ts'
import type { Packed } from './tariff-packing.ts'

const RECORD_FORMAT = 2
/** In the first format lines had names. */
const NAMED_FORMAT = 1
const packr = new Packr({ useRecords: false, moreTypes: false, int64AsType: 'number' })
const STATES: readonly Line['state'][] = ['open', 'ended', 'closed', 'expired']

/** What one commit tells the recorder beside the states of the owners. */
export interface StreamRecord {
  lines: Line[]
  operations: OperationLine[]
}

export function packRecord(record: StreamRecord): Buffer {
  return packr.pack([RECORD_FORMAT, record.lines.map(packLine), record.operations])
}

/** Throws `CorruptValueError` if the value is not a packed record. */
export function unpackRecord(packed: Buffer): StreamRecord {
  const [format, lines, operations] = unpackVersioned(packed, 'record')
  if (!Array.isArray(lines) || !Array.isArray(operations)) {
    throw new CorruptValueError('a record has no lines')
  }
  const isNamed = format === NAMED_FORMAT
  try {
    return {
      lines: lines.map((line) => (isNamed ? fromNamed(line as NamedLine) : unpackLine(line))),
      operations: operations as OperationLine[],
    }
  } catch (error) {
    throw new CorruptValueError('a line of a record is damaged', { cause: error })
  }
}

function packLine(line: Line): Packed {
  const { stamp, aid, sid, origin, sessionId, ratingGroup, usaget, calledNumber, state } = line
  const identity = [stamp, aid, sid, origin, sessionId, ratingGroup, usaget, calledNumber]
  return [...identity, STATES.indexOf(state), packPriced(line, 0)]
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
    usaget: usaget as string,
    calledNumber: calledNumber as string,
    state: present(STATES[state as number], 'state of a line'),
    ...unpackPriced(fields[9] as Packed),
  }
}

type NamedLine = Omit<Line, keyof typeof LATER_FIELDS> & Partial<typeof LATER_FIELDS>

/** What the first format did not know of lines. How their price came about is not on record. */
const LATER_FIELDS = {
  ...{ grouped: 0, covered: 0, coveredMicros: 0, hasGroups: false },
  tariff: { tiers: [], access: 0, extraDigits: 0, terms: null } as Line['tariff'],
  ...{ access: false, priceOf: 'BASE', band: '' },
  ...{ others: [] as Line['others'], taxes: [] as Line['taxes'] },
  rounding: null as Line['rounding'],
}

function fromNamed(line: NamedLine): Line {
  const payments = line.payments.map(
    (payment: Payment): Payment => ({ ...payment, counter: '', left: 0, total: 0 }),
  )
  return { ...LATER_FIELDS, ...line, payments }
}

/** The stored result of an operation, for its repetition. */
export function packResult(result: OperationLine): Buffer {
  return packr.pack([RECORD_FORMAT, result])
}

/** Throws `CorruptValueError` if the value is not a packed result. */
export function unpackResult(packed: Buffer): OperationLine {
  const [, result] = unpackVersioned(packed, 'result')
  if (typeof result !== 'object' || result === null) throw new CorruptValueError('no result')
  return result as OperationLine
}

function unpackVersioned(packed: Buffer, what: string): unknown[] {
  let fields: unknown
  try {
    fields = packr.unpack(packed)
  } catch (error) {
    throw new CorruptValueError(`a ${what} is damaged`, { cause: error })
  }
  if (!Array.isArray(fields) || (fields[0] !== NAMED_FORMAT && fields[0] !== RECORD_FORMAT)) {
    throw new CorruptValueError(`a ${what} has an unknown format`)
  }
  return fields
}
