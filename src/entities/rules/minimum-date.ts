/** Earliest dates at which entities may change or begin: invoiced periods are immutable. */
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Config } from '../../config/schema.ts'
import { cycleEndMs } from '../../domain/cycle.ts'
import type { Fields } from '../../domain/fields.ts'
import type { ActionName, CollectionDefinition } from '../definitions/definition.ts'
import { fromOf } from '../timeline/draft.ts'

type MinimumConfig = Pick<Config, 'rating' | 'entities'>

/** Keys of invoices outside of cycles are longer; they contain no time. */
const CYCLE_KEY = /^\d{6}$/

/** The key of the newest billing cycle with a confirmed invoice; null without one. */
export async function lastConfirmedKey(catalog: Catalog): Promise<string | null> {
  const [newest] = await catalog.billrun
    .find({ billed: 1, billrun_key: CYCLE_KEY }, { projection: { billrun_key: 1 } })
    .sort({ billed: -1, billrun_key: -1 })
    .limit(1)
    .toArray()
  return newest === undefined ? null : String(newest.billrun_key)
}

/**
 * The minimum date of documents of a collection, epoch ms: of accounts and subscribers the end of
 * the newest confirmed invoice of the account, of others that of the newest cycle with a confirmed
 * invoice. 0 without one, and for collections that confirmed invoices do not restrict.
 */
export async function minimumDatesMs(
  catalog: Catalog,
  definition: CollectionDefinition,
  documents: readonly Fields[],
  config: MinimumConfig,
): Promise<(document: Fields) => number> {
  if (!definition.hasMinimumDate || config.entities.closedCycleChanges) return () => 0
  if (!isOfAccount(definition)) {
    const minimumMs = await lastConfirmedMs(catalog, config)
    return () => minimumMs
  }
  const aids = [...new Set(documents.map(({ aid }) => aid))]
  const untilMs = await confirmedUntilMs(catalog, aids.filter(isNumber), config)
  return ({ aid }) => untilMs.get(aid) ?? 0
}

export interface RequestedChange {
  readonly action: ActionName
  /** Revisions of the entity, in any order. */
  readonly revisions: readonly RawDocument[]
  readonly target: RawDocument
  /** Fields that are set. */
  readonly set: Fields
}

/** Actions that change the revision before the addressed one too. */
const OF_NEIGHBOUR: readonly ActionName[] = ['move', 'delete']

/**
 * The minimum date of a change. A subscriber may have revisions in several accounts: the latest
 * one of the accounts concerned.
 */
export async function minimumDateMs(
  catalog: Catalog,
  definition: CollectionDefinition,
  { action, revisions, target, set }: RequestedChange,
  config: MinimumConfig,
): Promise<number> {
  const before = revisions
    .filter((one) => fromOf(one) < fromOf(target))
    .sort((one, other) => fromOf(one) - fromOf(other))
    .slice(OF_NEIGHBOUR.includes(action) ? -1 : revisions.length)
  const after = revisions.filter((one) => fromOf(one) >= fromOf(target))
  const all: Fields[] = [...before, ...after, { aid: Number(set['aid'] ?? target['aid']) }]
  const minimumOf = await minimumDatesMs(catalog, definition, all, config)
  return Math.max(...all.map(minimumOf))
}

function isOfAccount({ docs }: CollectionDefinition): boolean {
  return Object.hasOwn(docs, 'aid')
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}

async function lastConfirmedMs(catalog: Catalog, { rating }: MinimumConfig): Promise<number> {
  const key = await lastConfirmedKey(catalog)
  return key === null ? 0 : (cycleEndMs(key, rating.timeZone, rating.cycleDay) ?? 0)
}

/** End of the newest confirmed invoice of accounts, epoch ms; those without one are absent. */
export async function confirmedUntilMs(
  catalog: Catalog,
  aids: readonly number[],
  { rating, entities }: MinimumConfig,
): Promise<ReadonlyMap<unknown, number>> {
  const untilMs = new Map<unknown, number>()
  if (entities.closedCycleChanges || aids.length === 0) return untilMs
  const found = await catalog.billrun
    .find(
      { aid: { $in: [...aids] }, billed: 1, billrun_key: CYCLE_KEY },
      { projection: { aid: 1, billrun_key: 1, end_date: 1 } },
    )
    .toArray()
  for (const { aid, end_date: end, billrun_key: key } of found) {
    const endMs =
      end instanceof Date
        ? end.getTime()
        : (cycleEndMs(String(key), rating.timeZone, rating.cycleDay) ?? 0)
    untilMs.set(aid, Math.max(untilMs.get(aid) ?? 0, endMs))
  }
  return untilMs
}
