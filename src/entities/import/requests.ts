/** The write request of a unit of an import. */
import { type Fields, isUnset } from '../../domain/fields.ts'
import { normalNumber } from '../../domain/numbering.ts'
import { DISPLAY, fieldRule } from '../../requests/errors.ts'
import type { WriteRequest } from '../requests/entity-request.ts'
import { type RequestContext, writeRequestOf } from '../requests/requests.ts'
import type { ImportJob } from './job.ts'
import type { ValidUnit } from './unit.ts'

/** `aid`: the account that the linker has found. Throws `ApiError`. */
export function createRequest(job: ImportJob, unit: ValidUnit, aid: number | null): WriteRequest {
  const { effective_date: effective, ...rest } = unit.update
  const update: Record<string, unknown> = rest
  for (const [field, action] of job.settings.listActions) {
    if (action === 'remove') delete update[field]
  }
  const rates = unit.prices.map(([usaget, rate]) => [usaget, { BASE: { rate } }])
  const parameters = {
    ...(effective !== undefined && { from: effective }),
    ...update,
    ...(rates.length > 0 && { rates: Object.fromEntries(rates) }),
    ...(aid !== null && { aid }),
  }
  return requestOf(job, new Map([['update', parameters]]))
}

/** The request for a revision of another system, with the fields of a create. Throws `ApiError`. */
export function migrationRequest(job: ImportJob, update: Fields): WriteRequest {
  return { ...requestOf(job, new Map([['update', update]])), isMigrated: true }
}

/** Throws `ApiError`. */
export function changeRequest(job: ImportJob, unit: ValidUnit): WriteRequest {
  const { definition, settings } = job
  const { effective_date: effective, ...rest } = unit.update
  const from = rest['from'] ?? effective
  const [field, value] = updaterOf(job, unit)
  const { [definition.keyField]: _, ...update } = rest
  const { set, options } = listChanges(update, settings.listActions)
  const query = { [field]: value, effective_date: effective ?? from }
  const parameters = new Map(Object.entries({ query, update: { ...set, from }, options }))
  const request = requestOf(job, parameters)
  if (unit.prices.length === 0) return request
  // Only the steps are replaced; access prices and other parts of the price are kept.
  const prices = unit.prices.map(([usaget, rate]) => [`rates.${usaget}.BASE.rate`, rate])
  const changes = { ...request.changes.set, ...Object.fromEntries(prices) }
  return { ...request, changes: { ...request.changes, set: changes } }
}

function requestOf(job: ImportJob, parameters: ReadonlyMap<string, unknown>): WriteRequest {
  const { request, ignored } = writeRequestOf(parameters, contextOf(job), job.actor)
  for (const name of ignored) job.ignored.add(name)
  return request
}

/** Without an updater, the row contains the key. */
function updaterOf(
  { definition, fields, settings }: ImportJob,
  unit: ValidUnit,
): [string, unknown] {
  const { updater } = settings
  if (updater !== null) {
    const named = fields.find(({ field_name: name }) => name === updater.field)
    const value = normalNumber(named?.numbering ?? 'any', unit.updaterValue)
    if (value !== '') return [updater.field, value]
    throw fieldRule(`${updater.field}:`, 'the row does not identify an entity')
  }
  const key = unit.update[definition.keyField]
  if (isUnset(key) || key === '') {
    throw fieldRule(definition.keyField, 'is missing', 'missing', DISPLAY.request)
  }
  return [definition.keyField, key]
}

/** Values to append are removed first, so that repeating the change has no effect. */
function listChanges(
  update: Fields,
  actions: ImportJob['settings']['listActions'],
): { set: Fields; options: Fields } {
  const set = { ...update }
  const pull: Fields[] = []
  const push: Fields[] = []
  for (const [field, action] of actions) {
    const value = set[field]
    if (action === 'replace' || value === undefined) continue
    delete set[field]
    const change = { field_name: field, field_values: Array.isArray(value) ? value : [value] }
    pull.push(change)
    if (action === 'append') push.push(change)
  }
  return { set, options: { pull_fields: pull, push_fields: push } }
}

export function contextOf({ definition, fields, settings, stores }: ImportJob): RequestContext {
  const { config, clock } = stores
  return {
    definition,
    action: settings.operation,
    fields,
    entities: config.entities,
    timeZone: config.rating.timeZone,
    nowMs: clock.nowMs(),
  }
}
