/**
 * Imports prepaid balances of the existing system: each row of a file becomes one credit, under an
 * operation id derived from the id of the document, so that a repetition adds nothing.
 */
import type { Actor } from '../../catalog/actor.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { type Fields, isEmpty, isObject } from '../../domain/fields.ts'
import { operationStamp } from '../../ledger/operations.ts'
import type { EntityApi } from '../entities/api.ts'
import { ApiError, EntityRuleError, ExecutionError } from '../entities/errors.ts'
import type { ImportWatch } from '../entities/import/import-rows.ts'
import { type ImportResult, ResultSummary } from '../entities/import/result.ts'
import { readSource } from '../entities/import/source.ts'
import { integerOf } from '../entities/requests/cast-value.ts'
import { DATES, dateOf, type TimeContext } from '../entities/requests/instant.ts'
import { creditOf, includeOf, ownerFor, resolveTarget } from './loads.ts'

export interface BalanceImport {
  actor: Actor
  /** A file of JSON lines. */
  path: string
  isDryRun: boolean
}

interface ImportedBalance {
  id: string
  /** The owner and the prepaid include, as in a request. */
  query: Fields
  /** Credit is negative. */
  value: unknown
}

/** Rejects with `ExecutionError` if nothing can be imported, or with errors of the stores. */
export async function importBalances(
  api: EntityApi,
  request: BalanceImport,
  watch: ImportWatch,
): Promise<ImportResult> {
  const { path, isDryRun } = request
  const source = { path, format: 'jsonl', delimiter: ',' } as const
  let total = 0
  for await (const _ of readSource(source)) total += 1
  if (total === 0) throw new ExecutionError('the file has no rows')
  const importId = isDryRun ? null : 'balances'
  const summary = new ResultSummary(total)
  for await (const { number, content } of readSource(source)) {
    const row = String(number)
    try {
      if ('problem' in content) throw new EntityRuleError(content.problem)
      await importRow(api, request, 'object' in content ? content.object : {})
      summary.succeed(row)
    } catch (error) {
      if (!(error instanceof ApiError) || error.httpStatus >= 500) throw error
      summary.fail({ row, text: error.message })
      watch.onFailure?.({ row, text: error.message })
    }
    const { succeeded, failed } = summary
    watch.onProgress?.({ total, done: succeeded + failed, failed })
  }
  return summary.result(importId, [])
}

async function importRow(
  { stores, recordActions }: EntityApi,
  { actor, isDryRun }: BalanceImport,
  row: Fields,
): Promise<void> {
  const { catalog, clock, config } = stores
  const nowMs = clock.nowMs()
  const { id, query, value } = balanceOf(row, { timeZone: config.rating.timeZone, nowMs })
  const include = await includeOf(catalog, { externalId: query['pp_includes_external_id'] }, nowMs)
  const owner = ownerFor(include, await resolveTarget(catalog, query, nowMs))
  creditOf(value, include.kind, 'balance')
  const operationId = `import-${id}`
  if (isDryRun || (await isRecorded(catalog, operationStamp(owner.aid, operationId)))) return
  const write = { query, update: { value, operation: 'new' }, additional: {}, actor, operationId }
  const done = await recordActions['balances']?.write?.('update', write)
  if (done?.details !== true) throw new EntityRuleError('the plan allows less in this balance')
}

/** The ledger keeps operations for a time only; their lines stay. */
async function isRecorded(catalog: Catalog, stamp: string): Promise<boolean> {
  const found = await catalog.run('find a line', () =>
    catalog.lines.findOne({ stamp }, { projection: { _id: 1 } }),
  )
  return found !== null
}

/** Throws `EntityRuleError` with the reason why a row cannot be imported. */
function balanceOf(row: Fields, time: TimeContext): ImportedBalance {
  const id = idIn(row['_id'])
  const externalId = integerOf(row['pp_includes_external_id'])
  if (row['connection_type'] === 'postpaid' || externalId === null) {
    throw new EntityRuleError('it counts usage: only prepaid balances are imported')
  }
  const [aid, sid] = [integerOf(row['aid']), integerOf(row['sid'])]
  if (aid === null || sid === null) throw new EntityRuleError('aid and sid must be integers')
  const owner = sid === 0 ? { aid } : { aid, sid }
  const [from, to] = [dateIn(row, 'from', time), dateIn(row, 'to', time)]
  if (from.getTime() > time.nowMs) throw new EntityRuleError('it is not valid yet')
  if (to.getTime() <= time.nowMs) throw new EntityRuleError('it has expired')
  const query = { ...owner, pp_includes_external_id: externalId, expiration_date: to }
  return { id, query, value: amountIn(row) }
}

function idIn(sent: unknown): string {
  const id = isObject(sent) ? sent['$id'] : sent
  if (typeof id === 'string' && /^[\da-f]{24}$/i.test(id)) return id.toLowerCase()
  throw new EntityRuleError('_id must be an id of 24 hexadecimal digits')
}

function dateIn(row: Fields, name: 'from' | 'to', time: TimeContext): Date {
  const date = dateOf(row[name], time)
  if (date === null) throw new EntityRuleError(`${name} must be ${DATES}`)
  return date
}

/** `balance.cost`, or `cost` or `usagev` of its only usage type. */
function amountIn({ balance }: Fields): unknown {
  if (!isObject(balance)) throw new EntityRuleError('balance must be an object')
  const totals = isObject(balance['totals']) ? Object.values(balance['totals']) : []
  const amounts = [balance, ...totals].flatMap((part) =>
    isObject(part) ? [part['cost'], part['usagev']].filter((each) => !isEmpty(each)) : [],
  )
  const [amount] = amounts
  if (amount === undefined || amounts.length > 1) {
    throw new EntityRuleError('balance must have one amount')
  }
  if (Number(amount) > 0) throw new EntityRuleError('it is overdrawn: more was used than credited')
  return amount
}
