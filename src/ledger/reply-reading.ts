/** Reads raw script replies; a shape that the script cannot return is a broken invariant. */
import { assert } from '../domain/assert.ts'

export type Bytes = Buffer

export function readReplies(raw: unknown, count: number): (number | unknown[])[] {
  assert(Array.isArray(raw) && raw.length === count, `expected ${count} replies`)
  return raw as (number | unknown[])[]
}

export function readMembers(raw: unknown): string[] {
  assert(Array.isArray(raw), 'expected a list of members')
  return raw.map(String)
}

export function readCount(raw: unknown): number {
  assert(Number.isSafeInteger(raw), 'expected an integer')
  return raw as number
}

export function readOptional(raw: unknown): Bytes | null {
  assert(raw === null || Buffer.isBuffer(raw), 'expected a value or nothing')
  return raw
}
