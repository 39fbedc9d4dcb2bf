/**
 * Migrates the balances of the replaced system. Each document is one operation of the ledger, under
 * an id derived from that of the document: a repetition adds nothing.
 */
import { type Actor, plainActor } from '../../catalog/actor.ts'
import { readCatalogue } from '../../catalog/feed/read-catalogue.ts'
import { repeated } from '../../catalog/patience.ts'
import type { Fields } from '../../domain/fields.ts'
import type { EntityApi } from '../../entities/api.ts'
import { balancesOf } from '../../entities/follow-ups.ts'
import type { ImportWatch } from '../../entities/import/import-rows.ts'
import { isOutage, problemOf } from '../../entities/import/problems.ts'
import { type ImportResult, ResultSummary } from '../../entities/import/result.ts'
import { readSource, type SourceRow } from '../../entities/import/source.ts'
import type { SessionLocation } from '../../ledger/ledger.ts'
import {
  type CreditOperation,
  creditBucket,
  creditBuckets,
  operationStamp,
} from '../../ledger/operations.ts'
import { EntityRuleError, ExecutionError, fieldRule } from '../../requests/errors.ts'
import { wasExecuted } from './executed.ts'
import { toEntityError } from './loads.ts'
import {
  type MigratedPart,
  type MigrationStores,
  migratedParts,
  ownerIn,
} from './migrated-balance.ts'
import { type BalanceEntry, performAudited } from './operation-audit.ts'

export interface BalanceMigration {
  actor: Actor
  /** A file of JSON lines. */
  path: string
  isDryRun: boolean
}

/** Rows that are read at once; those of different accounts are executed together. */
const BATCH_MAX = 200

/**
 * Rejects with `ExecutionError` if the file cannot be read, or with errors of the stores; it can be
 * repeated then.
 */
export async function migrateBalances(
  { stores }: Pick<EntityApi, 'stores'>,
  request: BalanceMigration,
  watch: ImportWatch,
): Promise<ImportResult> {
  const source = { path: request.path, format: 'jsonl', delimiter: ',' } as const
  let total = 0
  for await (const _ of readSource(source)) total += 1
  if (total === 0) throw new ExecutionError('the file has no rows', 'refused')
  const catalogue = await readCatalogue(stores.catalog)
  const summary = new ResultSummary(total)
  for await (const rows of batchesOf(readSource(source))) {
    const migrate = () => migrateRows({ ...stores, catalogue }, request, rows)
    const problems = await repeated(migrate, stores.catalog.patience, isOutage)
    for (const { number } of rows) {
      const row = String(number)
      const text = problems.get(number)
      if (text === undefined) summary.succeed(row)
      else {
        summary.fail({ row, text })
        watch.onFailure?.({ row, text })
      }
    }
    const { succeeded, failed } = summary
    watch.onProgress?.({ total, done: succeeded + failed, failed })
  }
  return summary.result(null, [], request.isDryRun)
}

async function* batchesOf(rows: AsyncIterable<SourceRow>): AsyncGenerator<SourceRow[]> {
  let batch: SourceRow[] = []
  for await (const row of rows) {
    batch.push(row)
    if (batch.length < BATCH_MAX) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Why rows were not migrated, by number. Operations of one account follow each other. */
async function migrateRows(
  stores: MigrationStores & EntityApi['stores'],
  request: BalanceMigration,
  rows: readonly SourceRow[],
): Promise<ReadonlyMap<number, string>> {
  const problems = new Map<number, string>()
  const byAccount = new Map<unknown, SourceRow[]>()
  for (const row of rows) {
    const account = 'object' in row.content ? String(row.content.object['aid']) : ''
    byAccount.set(account, [...(byAccount.get(account) ?? []), row])
  }
  const accounts = [...byAccount.values()].map(async (ofAccount) => {
    for (const { number, content } of ofAccount) {
      try {
        if ('problem' in content) throw new EntityRuleError(content.problem, 'refused')
        await migrateRow(stores, request, 'object' in content ? content.object : {})
      } catch (error) {
        problems.set(number, problemOf(toEntityError(error), { stores }))
      }
    }
  })
  // An outage is reported when no operation is under way.
  const outcomes = await Promise.allSettled(accounts)
  const outage = outcomes.find((one) => one.status === 'rejected')
  if (outage !== undefined) throw outage.reason
  return problems
}

async function migrateRow(
  stores: MigrationStores,
  { actor, isDryRun }: BalanceMigration,
  row: Fields,
): Promise<void> {
  const operationId = `import-${idIn(row['_id'])}`
  if (await wasExecuted(stores, { ...ownerIn(row), operationId })) return
  const parts = await migratedParts(row, stores)
  const [first] = parts
  if (first === undefined || isDryRun) return
  const { aid, sid } = first
  const payload = {
    actor: plainActor(actor),
    type: 'import',
    operationIds: [operationId],
    aid,
    sid,
  }
  const followUp: BalanceEntry = { kind: 'balances', payload }
  const entry = sid === 0 ? followUp : { ...followUp, subject: balancesOf(sid) }
  await performAudited(stores.catalog, entry, () =>
    execute(stores, { operationId, aid, sid }, parts),
  )
}

function idIn(value: unknown): string {
  if (typeof value === 'string' && /^[\da-f]{24}$/i.test(value)) return value.toLowerCase()
  throw fieldRule('_id', 'must be an id of 24 hexadecimal digits')
}

/** All parts are committed, or none. */
async function execute(
  { ledger, config, clock }: MigrationStores,
  heading: SessionLocation & { operationId: string },
  parts: readonly MigratedPart[],
) {
  const settings = { attemptsMax: config.ledger.commitAttemptsMax }
  const nowMs = clock.nowMs()
  const [only] = parts
  if (only !== undefined && parts.length === 1) {
    const operation: CreditOperation = { ...only, operationId: heading.operationId }
    return { operations: [await creditBucket(ledger, operation, settings, nowMs)] }
  }
  const parentRef = operationStamp(heading.aid, heading.operationId)
  const group = {
    heading,
    parts: parts.map((part, index) => ({
      ...part,
      operationId: `${heading.operationId}/${index + 1}`,
      note: { parentRef },
    })),
  }
  const [, ...operations] = await creditBuckets(ledger, group, settings, nowMs)
  return { operations }
}
