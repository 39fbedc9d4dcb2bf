/** Assigns numbers to new accounts and subscribers, once for all rows of a batch. */
import { takeNumbers } from '../../catalog/revisions/sequence.ts'
import { fieldRule } from '../../requests/errors.ts'
import { isNumbered } from '../definitions/definition.ts'
import { documentsOf, NOT_DELETED } from '../revisions.ts'
import type { ImportJob, NewRow } from './job.ts'

/** Used in dry runs: a number that no entity has. */
const NO_NUMBER = Number.MAX_SAFE_INTEGER

/** A number from the sequence may already be in use because it was assigned by hand. */
const TRIED_MAX = 8

/** Adds `aid` or `sid` to the rows. */
export async function assignNumbers(job: ImportJob, rows: readonly NewRow[]): Promise<NewRow[]> {
  const { keyField } = job.definition
  if (rows.length === 0 || !isNumbered(job.definition)) return [...rows]
  const numbers =
    job.pendingValues === null ? await allocateNumbers(job, rows.length) : rows.map(() => NO_NUMBER)
  return rows.map((row, index) => {
    return { ...row, document: { ...row.document, [keyField]: numbers[index] } }
  })
}

async function allocateNumbers(
  { stores, definition }: ImportJob,
  count: number,
): Promise<number[]> {
  const { catalog } = stores
  const { keyField, fixed, name } = definition
  const free: number[] = []
  for (let tried = 0; tried < TRIED_MAX && free.length < count; tried += 1) {
    const missing = count - free.length
    const first = await takeNumbers(catalog, missing)
    const numbers = Array.from({ length: missing }, (_, index) => first + index)
    const filter = { ...fixed, [keyField]: { $in: numbers }, ...NOT_DELETED }
    const found = await documentsOf(catalog, definition)
      .find(filter as object, { projection: { [keyField]: 1 } })
      .toArray()
    const used = new Set(found.map((one) => (one as Record<string, unknown>)[keyField]))
    free.push(...numbers.filter((number) => !used.has(number)))
  }
  if (free.length === count) return free
  throw fieldRule(`${name}:`, 'the sequence returns numbers that are in use: it must be corrected')
}
