/** Lines of a run that differ from stored ones. */
import type { Catalog } from '../../catalog/connection.ts'
import type { CycleLineDocument } from '../../catalog/records/money/cycle-line.ts'
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import type { Fields } from '../../domain/fields.ts'
import { keyAfter } from '../cycle/cycle-key.ts'
import type { changedLines } from '../cycle/reconcile.ts'

/** A line that differs; amounts before tax, as decimal text. */
export interface ChangedLine {
  /** Subscriber, kind, name, cycle and kind of charge, separated by `/`. */
  readonly line: string
  readonly from: string
  readonly to: string
  /** Null for a line that is not stored. */
  readonly stored: string | null
  readonly wanted: string | null
  readonly difference: string
}

/**
 * A stored line as one of `shift` cycles later. Lines of other systems lack fields: the amount and
 * the days of the cycle are taken instead.
 */
export function comparableLine(line: Fields, shift = 0): CycleLineDocument {
  const urt = line['urt'] as Date
  const { charged_billrun: key = line['billrun'], charge_amount: amount = line['aprice'] } = line
  const { start = urt, end = urt, discount_start = urt, discount_end = urt } = line
  const dates = { start, end, discount_start, discount_end }
  return {
    charge_op: 'charge',
    ...line,
    ...dates,
    charged_billrun: keyAfter(String(key), shift),
    charge_amount: String(amount ?? 0),
  } as unknown as CycleLineDocument
}

export function changeOf({
  due,
  prior,
  amount,
}: ReturnType<typeof changedLines>[number]): ChangedLine {
  const { key: line = '', span = { startMs: 0, endMs: 0 } } = due ?? prior ?? {}
  return {
    line,
    from: new Date(span.startMs).toISOString(),
    to: new Date(span.endMs).toISOString(),
    stored: prior?.amount.toString() ?? null,
    wanted: due?.amount.toString() ?? null,
    difference: new Exact(amount).toString(),
  }
}

export async function readStoredLines(
  catalog: Catalog,
  billrun: string,
  aids: readonly number[],
): Promise<Fields[]> {
  const filter = { aid: { $in: [...aids] }, billrun, source: 'billrun' }
  const found = await catalog.reads.lines.find(filter as never).toArray()
  return found as unknown as Fields[]
}
