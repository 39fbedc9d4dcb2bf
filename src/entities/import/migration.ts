/**
 * Migration: each row is a revision that the replaced system has stored. Its id, its number and its
 * dates are kept; the revisions of an entity may be in any order, and in several files.
 */
import { ObjectId } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { RevisionWrite } from '../../catalog/revisions/store-revisions.ts'
import { type Fields, isUnset } from '../../domain/fields.ts'
import { EntityRuleError, fieldRule } from '../../requests/errors.ts'
import { DATES, dateOf } from '../../requests/instant.ts'
import { isNumbered } from '../definitions/definition.ts'
import { documentsOf, NOT_DELETED } from '../revisions.ts'
import { dateText } from '../timeline/dates.ts'
import { Draft, fromOf, toOf } from '../timeline/draft.ts'
import type { ImportJob, NewRow } from './job.ts'
import type { ImportSettings } from './settings.ts'
import type { ValidUnit } from './unit.ts'

/** Collections that can be migrated, in an order in which each finds what it refers to. */
export const MIGRATED: readonly string[] = [
  'taxes',
  'prepaidincludes',
  'prepaidgroups',
  'rates',
  'services',
  'plans',
  'discounts',
  'charges',
  'accounts',
  'subscribers',
]

export function migrationSettings(isDryRun: boolean): ImportSettings {
  return {
    type: 'manual_mapping',
    format: 'jsonl',
    operation: 'create',
    delimiter: ',',
    map: new Map(),
    ranges: new Set(),
    lists: new Set(),
    defaults: {},
    predefined: {},
    linker: null,
    updater: null,
    listActions: new Map(),
    isDryRun,
    isMigration: true,
  }
}

export interface MigratedRow {
  /** The fields of a create. */
  update: Fields
  /** The fields that a create would generate. */
  kept: Fields & { _id: ObjectId }
}

/** Derived dates that a create refuses or ignores. */
const KEPT_DATES = ['creation_time', 'activation_date', 'plan_activation']
const DERIVED: ReadonlySet<string> = new Set([
  ...['_id', 'type', 'revision_info', 'former_plan'],
  ...[...KEPT_DATES, 'deactivation_date', 'plan_deactivation'],
])

/** Leaves more numbers above it than will ever be assigned. */
const NUMBER_MAX = 1e15

/** Throws `EntityRuleError` with the field. */
export function migratedRow({ definition, stores }: ImportJob, { update }: ValidUnit): MigratedRow {
  const { fixed, keyField } = definition
  const { type } = fixed as { type?: string }
  if (type !== undefined && update['type'] !== type) {
    throw fieldRule('type', `must be ${type}, is ${String(update['type'])}`)
  }
  const time = { timeZone: stores.config.rating.timeZone, nowMs: stores.clock.nowMs() }
  const dateAt = (field: string) => {
    const date = dateOf(update[field], time)
    if (date === null) throw fieldRule(field, `must be ${DATES}`)
    return date
  }
  const dateNames = ['from', 'to', ...KEPT_DATES.filter((field) => !isUnset(update[field]))]
  const kept = {
    ...Object.fromEntries(dateNames.map((field) => [field, dateAt(field)])),
    ...(isUnset(update['former_plan']) ? {} : { former_plan: String(update['former_plan']) }),
    ...(isNumbered(definition) ? { [keyField]: numberIn(update[keyField], keyField) } : {}),
    _id: idIn(update['_id']),
  }
  const entries = Object.entries(update).filter(([field]) => !DERIVED.has(field))
  return { update: Object.fromEntries(entries), kept }
}

function idIn(value: unknown): ObjectId {
  if (typeof value === 'string' && /^[\da-f]{24}$/i.test(value)) {
    return ObjectId.createFromHexString(value.toLowerCase())
  }
  throw fieldRule('_id', 'must be an id of 24 hexadecimal digits')
}

function numberIn(value: unknown, field: string): number {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  if (Number.isInteger(number) && (number as number) > 0 && (number as number) <= NUMBER_MAX) {
    return number as number
  }
  throw fieldRule(field, `must be an integer from 1 to ${NUMBER_MAX}`)
}

/**
 * Returns null if the revision is stored as in the row. Throws `EntityRuleError` if it has changed
 * since it was imported.
 */
export function checkStoredRevision(
  { definition: { keyField }, stores }: Pick<ImportJob, 'definition' | 'stores'>,
  document: RawDocument,
  stored: RawDocument,
): void {
  const before = 'it was imported before, and'
  if (stored['deleted'] === true)
    throw new EntityRuleError(`${before} was deleted since`, 'refused')
  const zone = stores.config.rating.timeZone
  const isSame = stored[keyField] === document[keyField]
  if (isSame && fromOf(stored) === fromOf(document) && toOf(stored) === toOf(document)) return
  const dates = `from ${dateText(fromOf(stored), zone)} to ${dateText(toOf(stored), zone)}`
  const what = `${keyField} ${String(stored[keyField])} ${dates}`
  throw new EntityRuleError(`${before} is ${what} here: change it by the entity API`, 'refused')
}

export interface MigratedSteps {
  steps: RevisionWrite[]
  /** Stored revisions of the entities. */
  before: RawDocument[]
}

/** The writes that add revisions to accounts or subscribers, whose derived dates follow. */
export async function stepsWithDerivedDates(
  { definition, stores }: ImportJob,
  rows: readonly NewRow[],
): Promise<MigratedSteps> {
  const { keyField, fixed, name } = definition
  const keys = [...new Set(rows.map(({ document }) => document[keyField]))]
  const filter = { ...fixed, [keyField]: { $in: keys }, ...NOT_DELETED }
  const stored = await documentsOf(stores.catalog, definition)
    .find(filter as object)
    .toArray()
  const rules = stores.rules[name]
  const result: MigratedSteps = { steps: [], before: [] }
  const storedOf = groupedBy(stored as RawDocument[], keyField)
  const addedTo = groupedBy(
    rows.map(({ document }) => document),
    keyField,
  )
  for (const [key, added] of addedTo) {
    const before = storedOf.get(key) ?? []
    const draft = new Draft(before)
    for (const document of added) draft.insert(document)
    rules?.derive?.(draft, draft.revisions())
    const steps = draft.steps(stores.config.rating.timeZone)
    result.steps.push(...steps)
    if (steps.some(({ mode }) => mode === 'replace')) result.before.push(...before)
  }
  return result
}

function groupedBy(documents: readonly RawDocument[], field: string): Map<unknown, RawDocument[]> {
  const groups = new Map<unknown, RawDocument[]>()
  for (const document of documents) {
    const key = document[field]
    groups.set(key, [...(groups.get(key) ?? []), document])
  }
  return groups
}
