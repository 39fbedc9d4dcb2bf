/** Truncates large documents of audit records. */
import { BSON } from 'mongodb'
import type { Fields } from '../../domain/fields.ts'

/** A record holds two documents and must stay below 256 KiB. */
const DOCUMENT_BYTES_MAX = 120 * 1024
/** Length of the list of omitted field names. */
const NAMES_LENGTH_MAX = 1000
/** Marks truncated values. */
export const TRUNCATED = '(cut)'

/**
 * Returns the document itself if it is small enough, otherwise a copy without its largest fields.
 * The names of the omitted fields are listed under `(cut)`.
 */
export function truncateDocument(document: Fields): Fields {
  if (sizeOf(document) <= DOCUMENT_BYTES_MAX) return document
  const fields = Object.entries(document).map(([name, value]) => {
    return { name, value, bytes: sizeOf({ [name]: value }) }
  })
  const included = new Set<string>()
  let remaining = DOCUMENT_BYTES_MAX
  for (const { name, bytes } of fields.toSorted((a, b) => a.bytes - b.bytes)) {
    remaining -= bytes
    if (remaining < 0) break
    included.add(name)
  }
  const members = fields.filter(({ name }) => included.has(name))
  const names = fields.filter(({ name }) => !included.has(name)).map(({ name }) => name)
  return {
    ...Object.fromEntries(members.map(({ name, value }) => [name, value])),
    [TRUNCATED]: truncateText(names.join(', '), NAMES_LENGTH_MAX),
  }
}

/** Truncated strings end with the mark. */
export function truncateText(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax)}… ${TRUNCATED}`
}

function sizeOf(document: Fields): number {
  return BSON.calculateObjectSize(document, { ignoreUndefined: true })
}
