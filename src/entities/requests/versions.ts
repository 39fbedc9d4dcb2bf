/**
 * Versions of revisions, as `ETag` and in `If-Match` (RFC 9110, 8.8.3 and 13.1.1): a write of a
 * revision that has changed since it was read is refused.
 */
import type { Fields } from '../../domain/fields.ts'
import { RequestError } from '../../requests/errors.ts'

/** `*` matches any version; otherwise one of these must be current. */
export type IfMatch = '*' | ReadonlySet<string>

/** An entity tag is 28 to 40 characters long. */
const TAG = '"[0-9a-f]{24}\\.[0-9]{1,15}"'
export const IF_MATCH_LENGTH_MAX = 1024
export const IF_MATCH_PATTERN = `^(?:[*]|${TAG}(?:[ \t]*,[ \t]*${TAG})*)$`

const EXPECTED =
  'If-Match must be *, or versions in double quotes as in "65f0c0ffee0123456789ffff.12"'

/** Null if the header was not sent. Throws `RequestError`. */
export function ifMatchOf(text: string | undefined): IfMatch | null {
  if (text === undefined) return null
  const sent = text.trim()
  if (sent.length > IF_MATCH_LENGTH_MAX || !new RegExp(IF_MATCH_PATTERN).test(sent)) {
    throw new RequestError(400, EXPECTED)
  }
  return sent === '*' ? sent : new Set(sent.match(/[^", \t]+/g))
}

/**
 * Version of a stored revision: its id and the number of its last write. Null if the document is
 * only a part of a revision.
 */
export function versionOf({ _id: id, rev }: Fields): string | null {
  return id === undefined || typeof rev !== 'number' ? null : `${id}.${rev}`
}

export function entityTag(version: string): string {
  return `"${version}"`
}
