/** Audit entries of balance operations. */
import type { Actor } from '../../catalog/actor.ts'
import { appendDocuments, appendRecords, unwrittenRecords } from '../../catalog/audit/append.ts'
import { type AuditEntry, auditDocument } from '../../catalog/audit/audit.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { AuditDocument } from '../../catalog/records/audit-document.ts'
import { balanceLineDocument } from '../../catalog/records/usage/documents.ts'
import { enqueueOutbox, type OutboxEntry, settleOutbox } from '../../catalog/transactions/outbox.ts'
import type { OperationLine } from '../../domain/line.ts'
import { accountsOf } from './former-accounts.ts'
import type { BalanceDeps } from './loads.ts'

/**
 * Payload of the outbox entry that is stored before operations on balances are executed. After a
 * crash the audit entries are written from the ledger's results.
 */
export interface OperationAudit {
  readonly actor: Actor
  /** Action of the API: `update` or `delete`. */
  readonly type: string
  /** Operation ids; each may have parts. */
  readonly operationIds: readonly string[]
  /** Owner of the balances; null or 0 if not named. */
  readonly aid: number | null
  readonly sid: number | null
}

/** It has a subject if the balances belong to a subscriber. */
export type BalanceEntry = OutboxEntry & { kind: 'balances'; payload: OperationAudit }

/**
 * Executes operations on balances and audits them, also if the process ends in between: the outbox
 * entry that is stored before finds out what was done. Its payload has the actor and the type of
 * the records. Rejects with errors of `act` and of the stores.
 */
export async function performAudited<T extends { operations: readonly OperationLine[] }>(
  catalog: Catalog,
  entry: OutboxEntry & { payload: Pick<OperationAudit, 'actor' | 'type'> },
  act: () => Promise<T>,
): Promise<T> {
  const { type } = entry.payload
  const stored = await catalog.transaction(`begin ${type} balances`, async (session) =>
    enqueueOutbox(session, { ...entry, isHeld: true }),
  )
  return catalog.dispatcher.perform(stored, async () => {
    const done = await act()
    const records = operationRecords(entry.payload, done.operations)
    await catalog.transaction(`record ${type} balances`, async (session) => {
      appendDocuments(session, await unwrittenRecords(catalog, records))
      await settleOutbox(catalog, session, stored)
    })
    return done
  })
}

/**
 * Writes one entry per changed balance. The ledger returns the original result for a repeated
 * operation, which is recorded once. Rejects with `CatalogUnavailableError`.
 */
export async function recordOperations(
  catalog: Catalog,
  { actor, type }: Pick<OperationAudit, 'actor' | 'type'>,
  lines: readonly OperationLine[],
): Promise<void> {
  await appendRecords(catalog, operationRecords({ actor, type }, lines))
}

/** One record per changed balance; the same ones for a repeated operation. */
export function operationRecords(
  { actor, type }: Pick<OperationAudit, 'actor' | 'type'>,
  lines: readonly OperationLine[],
): AuditDocument[] {
  return lines
    .filter(({ bucketId }) => bucketId !== 0)
    .map((line) => {
      const seed = `balances/${line.stamp}/${line.atMs}`
      return auditDocument(actor, line.atMs, entryOf(type, line), seed)
    })
}

function entryOf(type: string, line: OperationLine): AuditEntry {
  const document = balanceLineDocument(line, '')
  const { aid, sid, balance_ref: id, bucket_id, pp_includes_external_id } = document
  const balance = { _id: id, aid, sid, bucket_id, pp_includes_external_id }
  const { operation, charging_type, source_ref, additional, from, to } = document
  const done = { operation, charging_type, source_ref, additional, from, to }
  const isGone = line.operation === 'close'
  return {
    collection: 'balances',
    type,
    key: `${aid}_${sid}`,
    old: { ...balance, balance: document.balance_before },
    new: isGone ? null : { ...balance, balance: document.balance_after, ...done },
    operationId: line.operationId,
  }
}

/** Records the operations that the ledger has executed. Throws errors of the stores. */
export async function recordFromLedger(deps: BalanceDeps, audit: OperationAudit): Promise<void> {
  const { operationIds, aid, sid } = audit
  const accounts = new Set(sid === null || sid === 0 ? [] : await accountsOf(deps.catalog, sid))
  if (aid !== null && aid !== 0) accounts.add(aid)
  const lines: OperationLine[] = []
  for (const account of accounts) {
    for (const id of operationIds) lines.push(...(await doneUnder(deps, account, id)))
  }
  await recordOperations(deps.catalog, audit, lines)
}

/** The operation itself, or its parts if it is a heading. */
async function doneUnder(
  { ledger }: BalanceDeps,
  aid: number,
  operationId: string,
): Promise<OperationLine[]> {
  const head = await ledger.findOperation(aid, operationId)
  if (head === null) return []
  if (head.bucketId !== 0) return [head]
  const parts: OperationLine[] = []
  for (;;) {
    const part = await ledger.findOperation(aid, `${operationId}/${parts.length + 1}`)
    if (part === null) return parts
    parts.push(part)
  }
}
