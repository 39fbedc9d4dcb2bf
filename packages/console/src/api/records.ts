/**
 * Lists of the entity API, read by key: without a total, and as fast on the last page as on the
 * first.
 */
import type { DetailsOf } from './call-types.ts'
import { answerOf } from './client.ts'

export type Fields = Readonly<Record<string, unknown>>

export interface Identified {
  readonly _id: { readonly $id: string }
}

/** A document of a collection; a projection may leave out any member. */
export type RecordOf<C extends string> =
  DetailsOf<`billapi/${C}/get`> extends readonly (infer R)[] ? R : never

/** Members of an object; an object without any is answered as an empty list. */
export function membersOf<T extends object>(object: T | undefined): Partial<Exclude<T, null[]>> {
  return Array.isArray(object) ? {} : ((object ?? {}) as Exclude<T, null[]>)
}

export interface Page<T> {
  readonly rows: readonly T[]
  /** `after` of the next page; null for the last page. */
  readonly next: string | null
}

export const PAGE_SIZE = 100

interface RecordQuery {
  readonly query?: Fields
  /** Id after which the page begins; null for the first page. */
  readonly after?: string | null
  readonly more?: Fields
}

/** Newest first: ids ascend with time. Throws `Refusal`. */
export async function readNewest<T extends Identified>(
  collection: string,
  { query = {}, after = null, more = {} }: RecordQuery,
  signal?: AbortSignal,
): Promise<Page<T>> {
  const from = after === null ? query : { ...query, _id: { $lt: after } }
  const body = { query: from, sort: { _id: -1 }, size: PAGE_SIZE, ...more }
  return pageOf(await readAnswer<T>(collection, body, signal), ({ _id }) => _id.$id)
}

/** One page of any query. Throws `Refusal`. */
export async function readRecords<T>(
  collection: string,
  body: Fields,
  signal?: AbortSignal,
): Promise<readonly T[]> {
  return (await readAnswer<T>(collection, body, signal)).details
}

export interface Answer<T> {
  readonly details: readonly T[]
  readonly next_page: boolean
}

/** Throws `Refusal`. */
export function readAnswer<T>(collection: string, body: Fields, signal?: AbortSignal) {
  return answerAt<T>(`${collection}/get`, body, signal)
}

/** One revision of each document. Throws `Refusal`. */
export function readUnique<T>(collection: string, body: Fields, signal?: AbortSignal) {
  return answerAt<T>(`${collection}/uniqueget`, body, signal)
}

async function answerAt<T>(name: string, body: Fields, signal?: AbortSignal): Promise<Answer<T>> {
  const path = `billapi/${name}` as 'billapi/lines/get'
  const answer = await answerOf(path, body, signal === undefined ? {} : { signal })
  // The rows are of the type that the caller knows of the collection.
  return answer as unknown as Answer<T>
}

export function pageOf<T>(
  { details, next_page }: Answer<T>,
  positionOf: (row: T) => string,
): Page<T> {
  const last = details.at(-1)
  return { rows: details, next: next_page && last !== undefined ? positionOf(last) : null }
}
