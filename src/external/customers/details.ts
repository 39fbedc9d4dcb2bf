/**
 * Details of subscribers and accounts at an instant (docs/EXTERNAL.md): many queries in one
 * call, each with an id by which its revisions are recognized.
 */
import { randomUUID } from 'node:crypto'
import { FieldError, isObject } from '../../domain/fields.ts'
import { CustomerSystemError } from './errors.ts'
import type { CallSettings, CustomerHttp } from './http.ts'
import type { CustomerQuery, DetailsRequest, QueryParam } from './queries.ts'
import type { CustomerRevision, SubscriberRevision } from './revisions.ts'

export interface DetailsQuestion {
  readonly key: string
  readonly value: string | number
  /** Epoch ms; queries have the precision of seconds. */
  readonly atMs: number
  /** Revisions in the answer at most; 1 for a single holder. */
  readonly limit: number
}

export interface DetailsCall<Revision extends CustomerRevision> {
  readonly http: CustomerHttp
  readonly settings: CallSettings
  /** Reads one revision; throws `FieldError`. */
  readonly read: (value: unknown, path: string) => Revision
}

/** A larger answer is refused: its revisions, with more than enough for each. */
const BYTES_PER_REVISION_MAX = 16 * 1024
const [BYTES_MIN, BYTES_MAX] = [1024 * 1024, 64 * 1024 * 1024]

/**
 * The revisions of each question by start; none if there is no such holder. An invalid, duplicate
 * or overlapping revision is an error at the position of its question. Rejects with
 * `CustomerSystemError` if the call fails or its answer cannot be related to the questions.
 */
export async function askDetails<Revision extends CustomerRevision>(
  { http, settings, read }: DetailsCall<Revision>,
  questions: readonly DetailsQuestion[],
): Promise<(readonly Revision[] | Error)[]> {
  const prefix = randomUUID()
  const query = questions.map((question, index) => queryOf(question, `${prefix}-${index}`))
  const request: DetailsRequest = { query }
  const revisions = questions.reduce((sum, { limit }) => sum + limit, 0)
  const bytes = Math.max(BYTES_MIN, revisions * BYTES_PER_REVISION_MAX)
  const bytesMax = Math.min(bytes, BYTES_MAX)
  const answer = await http.post(settings, { json: request }, bytesMax)
  const byId = grouped(answer, query)
  return questions.map((question, index) => {
    try {
      const given = byId.get(query[index]?.id ?? '') ?? []
      const found = given.map(({ value, path }) => read(value, path))
      return checked(found, question)
    } catch (error) {
      if (error instanceof FieldError || error instanceof CustomerSystemError) return error
      throw error
    }
  })
}

function queryOf({ key, value, atMs, limit }: DetailsQuestion, id: string): CustomerQuery {
  const params: QueryParam[] = [{ key, operator: 'equal', value }]
  const time = `${new Date(atMs).toISOString().slice(0, 19)}+00:00`
  return { id, time, params, limit }
}

interface ReceivedRevision {
  readonly value: unknown
  /** Place in the answer, for errors. */
  readonly path: string
}

function grouped(
  answer: unknown,
  query: readonly CustomerQuery[],
): Map<string, ReceivedRevision[]> {
  if (!Array.isArray(answer)) {
    throw new CustomerSystemError('invalid answer', 'its answer must be a list of revisions')
  }
  const byId = new Map<string, ReceivedRevision[]>(query.map(({ id }) => [id, []]))
  for (const [index, value] of answer.entries()) {
    const id = isObject(value) ? value['id'] : undefined
    const same = typeof id === 'string' ? byId.get(id) : undefined
    // A query that lacks its revision because of a wrong id would look like an unknown subscriber.
    if (same === undefined) {
      const reason = `revision ${index} of its answer has not the id of a query in the request`
      throw new CustomerSystemError('wrong query', reason)
    }
    same.push({ value, path: `revision ${index}` })
  }
  return byId
}

function checked<Revision extends CustomerRevision>(
  revisions: readonly Revision[],
  { key, value, limit }: DetailsQuestion,
): readonly Revision[] {
  const sorted = revisions.toSorted((one, other) => one.from.getTime() - other.from.getTime())
  const latest = new Map<number, Revision>()
  for (const revision of sorted) {
    const { fields, from, to } = revision
    const isOther = (key === 'sid' || key === 'aid') && Number(fields[key]) !== Number(value)
    if (isOther) throw new CustomerSystemError('wrong query', `a revision has another ${key}`)
    const holder = limit === 1 ? 0 : holderOf(revision)
    const before = latest.get(holder)
    if (before !== undefined && holderOf(before) !== holderOf(revision)) {
      throw new CustomerSystemError('duplicate', 'several holders have one identifier')
    }
    if (before !== undefined && from < before.to) {
      const isSame =
        from.getTime() === before.from.getTime() && to.getTime() === before.to.getTime()
      const kind = isSame ? 'duplicate' : 'overlap'
      const what = isSame ? 'a revision occurs twice' : 'revisions of one holder overlap'
      throw new CustomerSystemError(kind, what)
    }
    latest.set(holder, revision)
  }
  return sorted
}

function holderOf(revision: CustomerRevision | SubscriberRevision): number {
  return 'sid' in revision ? revision.sid : revision.aid
}
