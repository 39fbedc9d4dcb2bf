/**
 * Invoices and payments: their dates can be changed, and bills that no other bill refers to can be
 * deleted.
 */
import { reportOverdue } from '../../billing/books/overdue.ts'
import type { BooksWriter } from '../../billing/books/store-books.ts'
import { BillingError } from '../../billing/errors.ts'
import { postRemoval } from '../../billing/invoices/invoice-bill.ts'
import { plainActor } from '../../catalog/actor.ts'
import { type AuditEntry, appendAudit } from '../../catalog/audit/audit.ts'
import { type ClientSession, ObjectId, type WithId } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { BillDocument } from '../../catalog/records/money/bill.ts'
import { inTransaction } from '../../catalog/trial.ts'
import type { Fields } from '../../domain/fields.ts'
import { DISPLAY, EntityRuleError, TargetError } from '../../requests/errors.ts'
import type { RecordActions, RecordWriteRequest } from '../api.ts'
import type { EntityStores, WriteResult } from '../requests/entity-request.ts'

export function billActions(stores: EntityStores): RecordActions {
  return {
    canTry: true,
    write: (action, write) =>
      action === 'delete' ? deleteBill(stores, write) : updateBill(stores, write),
  }
}

async function updateBill(
  { catalog, clock, config }: EntityStores,
  { actor, query, update, isTrial = false }: RecordWriteRequest,
): Promise<WriteResult> {
  const filter = filterOf(query)
  if (Object.keys(update).length === 0) {
    throw new EntityRuleError(
      'update: give due_date or charge.not_before',
      'refused',
      DISPLAY.refused,
    )
  }
  const change = async (session: ClientSession) => {
    const old = await billOf(catalog, query, filter)
    const entity = await catalog.bills.findOneAndUpdate(
      filter,
      { $set: update },
      { returnDocument: 'after', session },
    )
    if (entity === null) throw gone(query)
    // The new due date may have passed.
    const { currencyCode } = config.rating
    await reportOverdue(catalog, session, [entity._id], { nowMs: clock.nowMs(), currencyCode })
    appendAudit(session, actor, clock.nowMs(), entryOf('update', old, entity))
    return { details: true, entity }
  }
  return inTransaction(catalog, 'update bills', change, isTrial)
}

async function deleteBill(
  { catalog, clock, config }: EntityStores,
  { actor, query, isTrial = false }: RecordWriteRequest,
): Promise<WriteResult> {
  const filter = filterOf(query)
  const change = async (session: ClientSession) => {
    const bill = await billOf(catalog, query, filter)
    const reason = (await confirmedBy(catalog, bill)) ?? linkedTo(bill)
    if (reason !== null) throw new EntityRuleError(`delete: ${reason}`, 'refused', DISPLAY.refused)
    await catalog.bills.deleteOne(filter, { session })
    const { currencyCode } = config.rating
    const writer = { catalog, session, actor, nowMs: clock.nowMs(), currencyCode }
    await reversePostings(writer, bill)
    appendAudit(session, actor, clock.nowMs(), entryOf('delete', bill, null))
    return { details: true, entity: null }
  }
  return inTransaction(catalog, 'delete bills', change, isTrial)
}

async function reversePostings(writer: BooksWriter, bill: BillDocument): Promise<void> {
  try {
    await postRemoval({ ...writer, actor: plainActor(writer.actor) }, bill)
  } catch (error) {
    if (!(error instanceof BillingError)) throw error
    throw new EntityRuleError(`delete: ${error.message}`, 'refused', DISPLAY.refused)
  }
}

function entryOf(type: string, old: WithId<BillDocument>, after: object | null): AuditEntry {
  return { collection: 'bills', type, key: old._id.toHexString(), old, new: after }
}

async function billOf(catalog: Catalog, query: Fields, filter: object) {
  const bill = await catalog.bills.findOne(filter)
  if (bill === null) throw gone(query)
  return bill
}

function filterOf({ _id: id, aid }: Fields): object {
  if (!(id instanceof ObjectId))
    throw new EntityRuleError(
      'query: _id is missing',
      { path: 'query._id', code: 'missing' },
      DISPLAY.request,
    )
  return { _id: id, ...(aid === undefined ? {} : { aid }) }
}

function gone({ _id: id }: Fields): TargetError {
  return new TargetError(`bills: there is no bill with _id ${String(id)}`)
}

/** Lists of related bills: those that pay this one, those that it pays, and pending payments. */
const LINKS = ['paid_by', 'pays', 'waiting_payments'] as const

function linkedTo(bill: BillDocument): string | null {
  for (const name of LINKS) {
    const links = bill[name]
    if (!Array.isArray(links) || links.length === 0) continue
    const [first] = links as readonly Fields[]
    const which = `${String(first?.['type'] ?? '')} ${String(first?.['id'] ?? '')}`.trim()
    return `${name} refers to ${links.length} other bills, first of all ${which}`
  }
  return null
}

async function confirmedBy(catalog: Catalog, bill: BillDocument): Promise<string | null> {
  const { type, aid, billrun_key: key } = bill
  if (type !== 'inv' || key === undefined) return null
  const confirmed = await catalog.billrun.findOne({ aid, billrun_key: key, billed: 1 })
  return confirmed === null ? null : `the invoice of cycle ${key} is confirmed`
}
