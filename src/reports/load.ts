/** The definition of a report that is run: a saved one, or one that is sent. */
import { ObjectId } from '../catalog/collections.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { ReportDocument } from '../catalog/entities/report.ts'
import { type Fields, isObject, isUnset } from '../domain/fields.ts'
import type { CurrentFields } from '../entities/fields/current.ts'
import { NOT_DELETED } from '../entities/revisions.ts'
import { EntityRuleError } from '../requests/errors.ts'
import { type ConfiguredFields, parseReport, type Report } from './definition.ts'
import { entityNamed, REPORT_ENTITIES } from './report-entities.ts'

/** Throws `EntityRuleError`; rejects like `CurrentFields.of`. */
export async function loadedReport(definition: Fields, fields: CurrentFields): Promise<Report> {
  return parseReport(definition, await configuredFields(fields))
}

async function configuredFields(fields: CurrentFields): Promise<ConfiguredFields> {
  const names = REPORT_ENTITIES.map((name) => [name, entityNamed(name).definition] as const)
  const found = await Promise.all(
    names.map(async ([name, definition]) => [name, await fields.of(definition)] as const),
  )
  const byName = new Map(found)
  return ({ name }) => byName.get(name) ?? []
}

/** Selects a saved report. */
export interface SavedReport {
  readonly key?: unknown
  readonly id?: unknown
}

/** Throws `EntityRuleError` if there is no such report. */
export async function savedReport(
  catalog: Catalog,
  { key, id }: SavedReport,
  nowMs: number,
): Promise<ReportDocument> {
  const found = await findReport(catalog, filterOf({ key, id }), nowMs)
  if (found !== null) return found
  throw new EntityRuleError(`Report ${displayName(isUnset(key) ? id : key)} not exist`, 'target')
}

function filterOf({ key, id }: SavedReport): Fields | null {
  if (!isUnset(key)) return typeof key === 'string' && key.length <= KEY_LENGTH_MAX ? { key } : null
  const hex = isObject(id) ? (id['$id'] ?? id['$oid']) : id
  return typeof hex === 'string' && /^[\da-f]{24}$/i.test(hex) ? { _id: new ObjectId(hex) } : null
}

const KEY_LENGTH_MAX = 1_000

async function findReport(
  catalog: Catalog,
  filter: Fields | null,
  nowMs: number,
): Promise<ReportDocument | null> {
  if (filter === null) return null
  const now = new Date(nowMs)
  const isValid = { from: { $lte: now }, to: { $gt: now }, ...NOT_DELETED }
  return catalog.reports.findOne({ ...filter, ...isValid })
}

function displayName(value: unknown): string {
  const hex = isObject(value) ? (value['$id'] ?? value['$oid']) : value
  return String(hex).slice(0, 64)
}
