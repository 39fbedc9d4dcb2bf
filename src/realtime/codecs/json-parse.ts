import { isUtf8 } from 'node:buffer'
import type { JsonObject } from './json-fields.ts'

/** Why what was parsed from the text is refused; empty: it is not. */
export type Check = (object: JsonObject, text: string) => string

/**
 * The object in the body, or why there is none. A name that is given twice has its last value;
 * `__proto__` is a name as any other.
 */
export function parseObject(body: Buffer, check: Check | null = null): JsonObject | string {
  if (body.length === 0) return 'is empty'
  if (!isUtf8(body)) return 'is not UTF-8'
  const text = body.toString('utf8')
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

/** Whether it is neither a list nor null, nor anything simple. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
