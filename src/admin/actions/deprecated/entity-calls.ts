/** Calls of the entity API by deprecated actions, with the rules, audit and ids of that API. */
import { ObjectId } from '../../../catalog/collections.ts'
import type { ActionName } from '../../../catalog/entities/api.ts'
import { type Fields, isObject } from '../../../domain/fields.ts'
import { answerCall, resolveAction } from '../../../entities/api.ts'
import { DEFINITIONS } from '../../../entities/definitions/collections.ts'
import { findDocuments, findRevision, NOT_DELETED } from '../../../entities/revisions.ts'
import { dateText, readView } from '../../../entities/views.ts'
import { ActionError } from '../../../requests/errors.ts'
import { secUsecInstant } from '../../../requests/instant.ts'
import type { ActionCall } from '../action.ts'

/** Answer of a write of the entity API. */
export interface EntityAnswer {
  readonly details: unknown
  readonly entity: unknown
  readonly warnings?: readonly string[]
}

/**
 * Executes a write of the entity API as the caller. `operationId`: for several writes of one call,
 * which otherwise would have one id. Rejects as the entity API does.
 */
export async function callEntity(
  call: ActionCall,
  collection: string,
  action: ActionName,
  parameters: Readonly<Record<string, unknown>>,
  operationId: string | null = call.operationId,
): Promise<EntityAnswer> {
  const raw = new Map(Object.entries(parameters))
  const called = { ...resolveAction(collection, action), raw, caller: call.actor, operationId }
  return (await answerCall(call.entityApi, called)) as EntityAnswer
}

type Collection = 'subscribers' | 'plans' | 'rates'

/** The revision of an entity in force, by fields that identify it, or null. */
export async function currentRevision(
  { catalog, nowMs }: ActionCall,
  collection: Collection,
  fields: Fields,
): Promise<Fields | null> {
  const at = new Date(nowMs)
  const filter = { ...fields, from: { $lte: at }, to: { $gt: at }, ...NOT_DELETED }
  const [found = null] = await findDocuments(catalog, definitionOf(collection), filter, 1)
  return found
}

/** A revision by its id, or null. */
export function revisionById(
  { catalog }: ActionCall,
  collection: Collection,
  id: string,
): Promise<Fields | null> {
  return findRevision(catalog, definitionOf(collection), new ObjectId(id))
}

function definitionOf(collection: Collection) {
  const found = DEFINITIONS.get(collection)
  if (found === undefined) throw new RangeError(`there is no collection ${collection}`)
  return found
}

const HEX_ID = /^[0-9a-fA-F]{24}$/

/** The text of an id as clients send it: hex, `{"$id": hex}` or `{"$oid": hex}`; null otherwise. */
export function idTextOf(value: unknown): string | null {
  if (typeof value === 'string') return HEX_ID.test(value) ? value.toLowerCase() : null
  if (typeof value !== 'object' || value === null) return null
  const { $id, $oid = $id } = value as Fields
  return typeof $oid === 'string' ? idTextOf($oid) : null
}

/** A document with all dates as texts. */
export function documentView(
  document: Fields,
  { config }: ActionCall,
  hidden: readonly string[] = [],
): Record<string, unknown> {
  return readView(document, { timeZone: config.rating.timeZone, dateFields: 'all', hidden })
}

/** An answer of the entity API to a write, with its dates (`{sec, usec}`) as texts. */
export function withTextDates(value: unknown, call: ActionCall): unknown {
  const atMs = secUsecInstant(value)
  if (atMs !== null) return dateText(atMs, call.config.rating.timeZone)
  if (Array.isArray(value)) return value.map((each) => withTextDates(each, call))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, withTextDates(each, call)]),
  )
}

/** The operation that `method` selects. */
export function methodOf<M extends string>(value: string | undefined, known: readonly M[]): M {
  if (value === undefined || value === '')
    throw new ActionError('No method supplied', { path: 'method', code: 'missing' }, 1)
  const found = known.find((each) => each === value)
  if (found === undefined) throw new ActionError('Unsupported method', { path: 'method' }, 1)
  return found
}
