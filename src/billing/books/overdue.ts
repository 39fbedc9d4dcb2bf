/** Debts whose due date has passed, and their events. */
import type { ClientSession, ObjectId } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import { sumOf } from '../amount.ts'
import { UNPAID } from '../statements/balances.ts'
import { type Bill, billOf, isActive, isDebt, isUnconfirmed, keyOf, refOf } from './bill.ts'
import { billRow } from './bill-row.ts'
import { loadMoneyRules, type MoneyEvent, writeMoneyEvents } from './money-events.ts'

/** A debt of which something is not paid; what an unconfirmed payment reserves is not. */
export function isOwed(bill: Bill): boolean {
  return isDebt(bill) && isActive(bill) && !isUnconfirmed(bill) && owedOf(bill).greaterThan(0)
}

function owedOf({ due, links }: Bill): Exact {
  return due.minus(sumOf(links.filter(({ isPending }) => !isPending).map(({ amount }) => amount)))
}

export function isPastDue(bill: Bill, nowMs: number): boolean {
  const { due_date: due } = bill.fields
  return due !== undefined && due.getTime() < nowMs && isOwed(bill)
}

/** Once per bill and due date. */
export function overdueEvent(bill: Bill, currencyCode: number): MoneyEvent {
  const { aid, due_date: due } = bill.fields
  return {
    type: 'overdue',
    identity: [keyOf(refOf(bill)), due?.getTime() ?? 0],
    aid,
    row: { ...billRow(bill, currencyCode), left_to_pay: owedOf(bill).toNumber() },
  }
}

/** Selects bills with a due date from `from` on, before `to`, of which something may be owed. */
export function dueWithin(from: Date, to: Date): object {
  return { ...UNPAID, due_date: { $gte: from, $lt: to } }
}

/** The first due date from `from` on, epoch ms; null without one. */
export async function nextDueDate(catalog: Catalog, from: Date): Promise<number | null> {
  const [next] = await catalog.bills
    .find({ ...UNPAID, due_date: { $gte: from } } as object, { projection: { due_date: 1 } })
    .sort({ due_date: 1 })
    .limit(1)
    .toArray()
  return next?.due_date === undefined ? null : next.due_date.getTime()
}

interface OverdueContext {
  readonly nowMs: number
  readonly currencyCode: number
}

/** Adds the events of those bills that are overdue to the transaction; returns how many are. */
export async function reportOverdue(
  catalog: Catalog,
  session: ClientSession,
  ids: readonly ObjectId[],
  { nowMs, currencyCode }: OverdueContext,
): Promise<number> {
  await loadMoneyRules(catalog, session)
  const found = await catalog.bills.find({ _id: { $in: [...ids] } }, { session }).toArray()
  const overdue = found.map(billOf).filter((bill) => isPastDue(bill, nowMs))
  const events = overdue.map((bill) => overdueEvent(bill, currencyCode))
  writeMoneyEvents(session, events, nowMs)
  return events.length
}
