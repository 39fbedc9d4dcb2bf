import { isUtf8 } from 'node:buffer'
import { isObject, type JsonObject } from './fields.ts'

/** What stands for bytes that are not UTF-8; a text may have it of its own, too. */
const REPLACEMENT = '\ufffd'

/** Why what was parsed from the text is refused; empty: it is not. */
export type Check = (object: JsonObject, text: string) => string

/**
 * The object in the body, or why there is none. A name that is given twice has its last value, and
 * none is special: JSON.parse makes all of them own members.
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
