/** The fields of lines that a file has: names of the table of lines, and paths in them. */
import { refName, type Schema } from '../catalog/entities/json-schema.ts'
import { LINE, RECORD_COMPOUNDS } from '../catalog/records/record-schemas.ts'
import { valueIn } from '../entities/export/cells.ts'
import { JobFailedError } from '../jobs/jobs.ts'
import type { ExportedLine } from './cut.ts'

/** Throws `JobFailedError` with the first path that no line can have. */
export function checkFields(paths: readonly string[]): void {
  const unknown = paths.find((path) => {
    const [first = '', ...rest] = path.split('.')
    return !Object.hasOwn(LINE, first) || !hasPath(LINE[first] as Schema, rest)
  })
  if (unknown === undefined) return
  throw new JobFailedError(`export.fields: ${unknown} is not a field of lines`)
}

function hasPath(schema: Schema, [step, ...rest]: readonly string[]): boolean {
  if (step === undefined) return true
  const name = refName(schema)
  if (name !== null) {
    // The operator names the fields of other components.
    const compound = RECORD_COMPOUNDS[name]
    return compound === undefined ? name === 'customFields' : hasPath(compound, [step, ...rest])
  }
  const { properties = {}, items } = schema as {
    properties?: Record<string, Schema>
    items?: Schema
  }
  if (items !== undefined) return /^\d{1,4}$/.test(step) && hasPath(items, rest)
  return Object.hasOwn(properties, step) && hasPath(properties[step] as Schema, rest)
}

export function topLevelOf(paths: readonly string[]): string[] {
  return [...new Set(paths.map((path) => path.split('.', 1)[0] as string))]
}

/** Times are in UTC; lists and objects are JSON. */
export function cellsOf(line: ExportedLine, paths: readonly string[]): string[] {
  return paths.map((path) => {
    const value = valueIn(line, path) ?? ''
    if (value instanceof Date) return value.toISOString()
    return typeof value === 'object' ? JSON.stringify(value) : String(value)
  })
}

/** The fields that the line has, by their paths. */
export function jsonOf(line: ExportedLine, paths: readonly string[]): string {
  return JSON.stringify(Object.fromEntries(paths.map((path) => [path, valueIn(line, path)])))
}
