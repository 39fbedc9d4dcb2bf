/**
 * Rows that change stored entities: permanentchange, and prices of a rate in plans and services.
 */
import type { RawDocument } from '../../catalog/compile/document.ts'
import { change } from '../actions/change.ts'
import { customChanges, decisionOf, ruleContextOf } from '../actions/decision.ts'
import { findTarget } from '../actions/target.ts'
import { DEFINITIONS } from '../definitions/collections.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import type { WriteRequest } from '../requests/entity-request.ts'
import { revisionsOf } from '../revisions.ts'
import { createRuleCache } from '../rules/cache.ts'
import { minimumDateMs } from '../rules/minimum-date.ts'
import { Draft } from '../timeline/draft.ts'
import * as edits from '../timeline/edits.ts'
import { type ImportJob, withCache } from './job.ts'
import { problemOf } from './problems.ts'
import { changeRequest, createRequest } from './requests.ts'
import { taxCheck } from './taxes.ts'
import type { ImportedPrice, RowResults, ValidUnit } from './unit.ts'

/**
 * Applies one permanentchange; returns null, or why it failed. It is idempotent, so an import that
 * was interrupted may repeat it.
 */
export async function changeUnit(job: ImportJob, unit: ValidUnit): Promise<string | null> {
  try {
    const checkTax = await taxCheck(job, [unit])
    checkTax(unit)
    await changeOrCheck(job, changeRequest(job, unit))
    return null
  } catch (error) {
    return problemOf(error, job)
  }
}

/**
 * Writes the prices of a rate into plans and services; their rows get their own results. `isThere`:
 * false if the rate is not stored yet, as in a dry run.
 */
export async function writeOverrides(
  job: ImportJob,
  unit: ValidUnit,
  isThere: boolean,
): Promise<RowResults> {
  const results: RowResults = new Map()
  for (const override of unit.overrides) {
    const problem = await overrideProblem(job, unit, override, isThere)
    for (const label of override.labels) results.set(label, problem ?? true)
  }
  return results
}

async function overrideProblem(
  job: ImportJob,
  unit: ValidUnit,
  override: ImportedPrice,
  isThere: boolean,
): Promise<string | null> {
  try {
    const request = overrideRequest(job, unit, override)
    if (isThere) await changeOrCheck(job, request)
    else await findValidRevision(job, request)
    return null
  } catch (error) {
    return `${OFFERS[override.collection]} ${override.name}: ${problemOf(error, job)}`
  }
}

const OFFERS = { plans: 'plan', services: 'service' } as const

/** The prices start with the rate: the date is parsed the same way as that of the rate. */
function overrideRequest(
  job: ImportJob,
  unit: ValidUnit,
  { collection, name, usagets }: ImportedPrice,
): WriteRequest {
  const isChange = job.settings.operation === 'permanentchange'
  const rate = isChange ? changeRequest(job, unit) : datedRequest(job, unit)
  const key = isChange ? rate.target['key'] : unit.update['key']
  const from = rate.from ?? new Date(job.stores.clock.nowMs())
  const prices = usagets.map(([usaget, steps]) => [`rates.${keyText(key)}.${usaget}.rate`, steps])
  return {
    definition: DEFINITIONS.get(collection) as CollectionDefinition,
    actor: job.actor,
    target: { name, effective_date: from },
    changes: { set: Object.fromEntries(prices), push: [], pull: [] },
    raw: {},
    from,
    to: null,
    fields: [],
  }
}

/** Only the date is used, so rows that only have prices of plans need no other fields. */
function datedRequest(job: ImportJob, unit: ValidUnit): WriteRequest {
  const { from, effective_date: effective, key } = unit.update
  const update = { key, from: from ?? effective, rates: {}, pricing_method: 'tiered' }
  return createRequest(job, { ...unit, update, prices: [] }, null)
}

/** A query by key was cast to a list of one. */
function keyText(key: unknown): string {
  if (typeof key === 'object' && key !== null && '$in' in key) return String([key.$in].flat()[0])
  return String(key)
}

function changeOrCheck(job: ImportJob, request: WriteRequest): Promise<unknown> {
  const stores = withCache(job.stores, createRuleCache())
  if (job.pendingValues === null) return change(stores, 'permanentchange', request)
  return checkChange({ ...job, stores }, request)
}

/** Performs all steps of `change` except the write. Throws `ApiError`. */
async function checkChange(job: ImportJob, request: WriteRequest): Promise<void> {
  const { stores } = job
  const { definition } = request
  const { revisions, held } = await findValidRevision(job, request)
  const action = 'permanentchange' as const
  const nowMs = stores.clock.nowMs()
  const fromMs = request.from?.getTime() ?? nowMs
  const context = ruleContextOf(stores, action, fromMs, job.actor)
  const custom = customChanges(request, context, held)
  const { [definition.keyField]: _, ...set } = { ...custom, ...request.changes.set }
  const changes = { ...request.changes, set: { ...set, ...definition.fixed } }
  const prepared = await stores.rules[definition.name]?.prepare?.(changes, held, context)
  const changed = { action, revisions, target: held, set: request.changes.set }
  const minimumMs = await minimumDateMs(stores.catalog, definition, changed, stores.config)
  const draft = new Draft(revisions)
  const edit = { nowMs, minimumMs, zone: context.zone }
  edits.permanentChange(draft, held, { fromMs, changes: prepared ?? changes }, edit)
  await decisionOf(stores, request, draft, context, null)
}

async function findValidRevision(
  { stores }: ImportJob,
  { definition, target: query, fields }: WriteRequest,
): Promise<{ revisions: RawDocument[]; held: RawDocument }> {
  const zone = stores.config.rating.timeZone
  const options = { definition, isById: false, fields, zone }
  const target = await findTarget(stores.catalog, query, options)
  const revisions = await revisionsOf(stores.catalog, definition, target.key)
  return { revisions, held: target.in(revisions) }
}
