/** Explains and mends accounts whose audit failed. */
import { createHash } from 'node:crypto'
import type { MendAudit } from '../../admin/follow-ups.ts'
import type { MoneyFormat } from '../../billing/currency.ts'
import { operationLineOf } from '../../catalog/records/usage/recorded-values.ts'
import type { OperationLine } from '../../domain/line.ts'
import { type AccountMend, mendAccount } from '../../ledger/mend.ts'
import { operationStamp } from '../../ledger/operations.ts'
import { performAudited } from '../../prepaid/balances/operation-audit.ts'
import { operator } from '../operator.ts'
import type { AuditStores } from './account.ts'
import type { FoundAccount } from './accounts.ts'
import { type AccountEvidence, gatherEvidence } from './evidence.ts'
import { type DifferenceCause, explain } from './explain.ts'
import { type AccountPlan, type BucketPlan, type OwnerPlan, planMend } from './mend-plan.ts'

export interface MendSettings {
  money: MoneyFormat
  /** How long the ledger keeps an operation id, ms. */
  operationKeepMs: number
  nowMs: number
}

export type MendResult = 'mended' | 'nothing' | 'contended' | 'unreadable'

const ATTEMPTS_MAX = 10

/** Null if the account cannot be read now. Throws what the stores throw. */
export async function explainAccount(
  stores: AuditStores,
  account: FoundAccount,
  settings: MendSettings,
): Promise<DifferenceCause | null> {
  const evidence = await evidenceOf(stores, account, settings)
  return evidence === null ? null : explain(evidence, planMend(evidence), settings.money)
}

/**
 * Settles the differences of an account as far as possible, in one atomic ledger operation. Calls
 * `onPlan` before it executes. Throws what the stores throw: the caller repeats the operation to
 * learn its outcome.
 */
export async function mend(
  stores: AuditStores,
  account: FoundAccount,
  settings: MendSettings,
  onPlan: (explanation: DifferenceCause) => void,
): Promise<MendResult> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const evidence = await evidenceOf(stores, account, settings)
    if (evidence === null) return 'unreadable'
    const plan = planMend(evidence)
    if (attempt === 0) onPlan(explain(evidence, plan, settings.money))
    if (plan.owners.length === 0) return 'nothing'
    const work = mendOf(evidence, plan, settings)
    const { aid, operationId, lines } = work
    const payload: MendAudit = { actor: operator(), type: 'mend', aid, operationId, lines }
    const entry = { kind: 'mend', payload }
    const { isDone } = await performAudited(stores.catalog, entry, async () => {
      const done = await mendAccount(stores.ledger, work, settings.operationKeepMs)
      return done === 'conflict'
        ? { isDone: false, operations: [] }
        : { isDone: true, operations: lines }
    })
    if (isDone) return 'mended'
  }
  return 'contended'
}

function evidenceOf(
  stores: AuditStores,
  account: FoundAccount,
  { nowMs, operationKeepMs }: MendSettings,
): Promise<AccountEvidence | null> {
  return gatherEvidence(stores, account, nowMs - operationKeepMs)
}

/**
 * The id is derived from the evidence, so that a repetition after an outage has no second effect.
 */
function mendOf(
  evidence: AccountEvidence,
  plan: AccountPlan,
  { money, nowMs, operationKeepMs }: MendSettings,
): AccountMend {
  const { aid, lost } = evidence
  const states = plan.owners.map(({ owner, after }) => [owner, after])
  const digest = createHash('sha256').update(JSON.stringify(states)).digest('hex').slice(0, 16)
  const operationId = `mend-${digest}`
  const { causes } = explain(evidence, plan, money)
  const additional = { mend: operationId, causes: causes.slice(0, 100) }
  return {
    aid,
    operationId,
    owners: plan.owners.map(({ owner, after, sessions }) => ({
      before: owner.version,
      state: after,
      sessions,
    })),
    lines: plan.owners.flatMap((owner) => linesOf(owner, operationId, additional, nowMs)),
    usage: [],
    lostOperations: lost.flatMap((document) => {
      const line = operationLineOf(document)
      return line === null ? [] : { line, ttlMs: operationKeepMs - (nowMs - line.atMs) }
    }),
  }
}

/** One line per bucket, and one for the debt or if there is no other line. */
function linesOf(
  { after, buckets, debt }: OwnerPlan,
  operationId: string,
  additional: Readonly<Record<string, unknown>>,
  nowMs: number,
): OperationLine[] {
  const { aid, sid, version } = after
  const common = (bucketId: number) => {
    const id = `${operationId}/${sid}/${bucketId}`
    return {
      stamp: operationStamp(aid, id),
      aid,
      sid,
      operationId: id,
      operation: 'mend',
      bucketId,
      version,
      atMs: nowMs,
      repaid: 0,
      additional,
    }
  }
  const lines = buckets.map((bucket) => ({ ...common(bucket.before.id), ...bucketFields(bucket) }))
  const hasDebt = debt.owed !== 0 || debt.repaid !== 0
  if (lines.length > 0 && !hasDebt) return lines
  const nothing = { prepaidIncludeId: 0, kind: 'money', usaget: '', amount: 0 } as const
  const terms = { before: 0, after: 0, priority: 0, fromMs: nowMs, toMs: nowMs }
  return [...lines, { ...common(0), ...nothing, ...terms, mended: debt }]
}

function bucketFields({ before, after, mended }: BucketPlan) {
  const { prepaidIncludeId, usaget, priority, fromMs, toMs, counter, limit } = after
  return {
    prepaidIncludeId,
    usaget,
    priority,
    fromMs,
    toMs,
    mended,
    kind: after.kind === 'units' ? ('units' as const) : ('money' as const),
    amount: after.free - before.free,
    before: before.free,
    after: after.free,
    ...(counter === '' ? {} : { counter, limit, counted: 0 }),
  }
}
