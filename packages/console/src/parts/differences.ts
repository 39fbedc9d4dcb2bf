/** Which fields differ between two documents. */
import type { Fields } from '../api/records.ts'

export interface Difference {
  /** Dotted path. */
  readonly field: string
  /** JSON text, or plain text; null if the field is absent. */
  readonly before: string | null
  readonly after: string | null
}

/** Ids and times of a revision, and what the API derives from its neighbours. */
const OF_REVISION: ReadonlySet<string> = new Set([
  ...['_id', 'revision_info', 'from', 'to', 'creation_time', 'former_plan'],
  ...['activation_date', 'deactivation_date', 'plan_activation', 'plan_deactivation'],
])

export function differences(before: unknown, after: unknown): readonly Difference[] {
  const [old, now] = [flat(before), flat(after)]
  const fields = [...new Set([...old.keys(), ...now.keys()])].sort()
  return fields.flatMap((field) => {
    const one = { field, before: old.get(field) ?? null, after: now.get(field) ?? null }
    return one.before === one.after ? [] : [one]
  })
}

/** Drops fields that always differ between revisions. */
export function revisionDifferences(before: Fields, after: Fields): readonly Difference[] {
  return differences(before, after).filter(({ field }) => {
    return !OF_REVISION.has(field.split('.')[0] ?? '')
  })
}

function flat(document: unknown): Map<string, string> {
  const found = new Map<string, string>()
  if (typeof document === 'object' && document !== null) addFields(found, document, '')
  return found
}

function addFields(found: Map<string, string>, value: object, path: string): void {
  for (const [name, member] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`
    if (typeof member === 'object' && member !== null && !isLeaf(member)) {
      addFields(found, member, at)
    } else if (member !== undefined) found.set(at, leafText(member))
  }
}

/** Ids, dates and empty values are shown whole. */
function isLeaf(value: object): boolean {
  return '$id' in value || 'sec' in value || Object.keys(value).length === 0
}

/** Text of a value that is shown whole. */
export function leafText(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return String(value)
  if ('$id' in value) return String(value.$id)
  if ('sec' in value) return new Date(Number(value.sec) * 1000).toISOString()
  return JSON.stringify(value)
}

/** Text of a field; empty if it is absent. */
export function textIn(document: Readonly<Record<string, unknown>>, field: string): string {
  const value = document[field]
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
