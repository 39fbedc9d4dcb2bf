import { isUtf8 } from 'node:buffer'
import { isObject, type JsonObject } from './fields.ts'

/** Replaces bytes that are not UTF-8; a valid text may contain it, too. */
const REPLACEMENT = '\ufffd'

/** Why the parsed object is refused; empty if it is accepted. */
export type Check = (object: JsonObject, text: string) => string

/**
 * The object in the body, or why the body is refused. A repeated name has its last value, and no
 * name is special: JSON.parse creates own members only.
 */
export function parseObject(body: Buffer, check: Check | null = null): JsonObject | string {
  if (body.length === 0) return 'is empty'
  const text = body.toString('utf8')
  if (text.includes(REPLACEMENT) && !isUtf8(body)) return 'is not UTF-8'
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'is not JSON'
  }
  if (!isObject(value)) return 'is not a JSON object'
  const why = check === null ? '' : check(value, text)
  return why === '' ? value : why
}
