/** A client of the entity API over HTTP, and the entities that system tests create with it. */
import { postJson } from '../../post-json.ts'
import type { Fields } from '../exchange.ts'

export interface Answer {
  /** 1, or 0 if refused. */
  readonly status: number
  readonly message?: string
  readonly details: unknown
  readonly entity: Fields
  readonly line?: Fields
}

export interface Call {
  query?: Fields
  update?: Fields
  options?: Fields
  /** Idempotency-Key. */
  key?: string
}

export interface EntityClient {
  /** The answer, accepted or refused. Rejects without an answer. */
  call(action: string, call: Call): Promise<Answer>
  /** Like `call`, but rejects if the request was refused. */
  done(action: string, call: Call): Promise<Answer>
  /** Rows of a `get`. */
  rows(collection: string, query: Fields): Promise<Fields[]>
}

/** `action` is `collection/action`. */
export function entityClient(adminUrl: string): EntityClient {
  const call = async (action: string, { key, ...parameters }: Call): Promise<Answer> => {
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
    const response = await postJson(`${adminUrl}/billapi/${action}`, parameters, headers)
    const answer = (await response.json()) as Answer
    if (response.status !== 200) throw new Error(`${response.status}: ${JSON.stringify(answer)}`)
    return answer
  }
  const done = async (action: string, parameters: Call): Promise<Answer> => {
    const answer = await call(action, parameters)
    if (answer.status !== 1) throw new Error(`${action}: ${JSON.stringify(answer)}`)
    return answer
  }
  return {
    call,
    done,
    async rows(collection, query) {
      return (await done(`${collection}/get`, { query })).details as Fields[]
    },
  }
}

/** The `_id` of an entity in an answer. */
export function idOf(entity: Fields): string {
  return String((entity['_id'] as { $id: unknown }).$id)
}

export function pricePer(units: number, price: number): Fields {
  return { BASE: { rate: [{ from: 0, to: 'UNLIMITED', interval: units, price }] } }
}

export const PREPAID_PLAN = {
  price: [{ from: 0, to: 'UNLIMITED', price: 0 }],
  recurrence: { frequency: 1, start: 1 },
  upfront: false,
  connection_type: 'prepaid',
}

export const PERSON = { firstname: 'Ada', lastname: 'Example', address: '1 Road' }

export async function createAccount({ done }: EntityClient): Promise<number> {
  const place = { email: 'ada@example.com', country: 'Nowhere', zip_code: '1' }
  const { entity } = await done('accounts/create', { update: { ...PERSON, ...place } })
  return Number(entity['aid'])
}

export async function createSubscriber(
  { done }: EntityClient,
  aid: number,
  fields: Fields,
): Promise<Fields & { sid: number }> {
  const { entity } = await done('subscribers/create', { update: { ...PERSON, aid, ...fields } })
  return { ...entity, sid: Number(entity['sid']) }
}

/** The document whose revision is valid now; a write with it names that revision. */
export function nowOf(key: Fields): Fields {
  return { ...key, effective_date: new Date().toISOString() }
}
