/** The writes of a set: checked as they come, and applied in one transaction. */
import type { Actor } from '../../catalog/actor.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import { inSession } from '../../catalog/in-session.ts'
import {
  isTooLarge,
  type TariffChange,
  type TariffSetDocument,
  type TariffWrite,
} from '../../catalog/records/tariff-set-document.ts'
import { digestOfTexts } from '../../domain/digest.ts'
import { FieldError, type FieldIssue, issueUnder } from '../../domain/field-errors.ts'
import { type Fields, isObject, isUnset } from '../../domain/fields.ts'
import { ApiError } from '../../requests/errors.ts'
import { answerCall, type EntityApi, resolveAction } from '../api.ts'
import { DEFINITIONS } from '../definitions/collections.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { findDocuments, revisionsOf } from '../revisions.ts'
import { fromOf, toOf } from '../timeline/draft.ts'
import { readView } from '../views.ts'

export const TARIFF_COLLECTIONS = [
  'rates',
  'plans',
  'services',
  'prepaidincludes',
  'prepaidgroups',
  'taxes',
  'discounts',
  'charges',
] as const
export const WRITES_MAX = 500

/** Writes with an instant, and the field that has it: the activation of the set. */
const INSTANTS = {
  create: 'from',
  closeandnew: 'from',
  permanentchange: 'from',
  close: 'to',
} as const

type TariffAction = keyof typeof INSTANTS

/** The author of a step of a set, and the entity API that does its writes. */
export interface TariffWork {
  readonly api: EntityApi
  readonly actor: Actor
  /** Resolves to true if the actor may do a write of a set. */
  permits(write: TariffWrite): Promise<boolean>
}

/** `writes` as sent. Notes what is wrong with them. */
export function readWrites(writes: readonly unknown[], issues: FieldIssue[]): TariffWrite[] {
  return writes.map((write, index) => {
    const refuse = (name: string, reason: string, code: FieldIssue['code'] = 'invalid') =>
      issues.push({ path: [`writes.${index}`, name].filter(Boolean).join('.'), reason, code })
    if (!isObject(write)) refuse('', 'must be an object')
    const { collection, action, query = {}, update = {}, ...others } = isObject(write) ? write : {}
    for (const name of Object.keys(others)) refuse(name, 'is not known', 'unknown')
    const isKnown = TARIFF_COLLECTIONS.some((name) => name === collection)
    if (!isKnown) refuse('collection', `must be one of ${TARIFF_COLLECTIONS.join(', ')}`)
    const actions = isKnown ? DEFINITIONS.get(String(collection))?.actions : INSTANTS
    const known = Object.keys(INSTANTS).filter((name) => Object.hasOwn(actions ?? {}, name))
    if (!known.includes(String(action))) refuse('action', `must be one of ${known.join(', ')}`)
    for (const [name, value] of Object.entries({ query, update })) {
      if (!isObject(value)) refuse(name, 'must be an object')
    }
    const fields = { query: isObject(query) ? query : {}, update: isObject(update) ? update : {} }
    const instant = INSTANTS[action as TariffAction]
    if (instant !== undefined && !isUnset(fields.update[instant])) {
      refuse(`update.${instant}`, 'must be absent: it is the activation of the set', 'refused')
    }
    return { collection: String(collection), action: String(action), ...fields }
  })
}

export function writesOf({ writes }: Pick<TariffSetDocument, 'writes'>): readonly TariffWrite[] {
  return JSON.parse(writes)
}

export interface AppliedSet {
  issues: FieldIssue[]
  changes: TariffChange[]
  /** The entities after the writes, as the API shows those in force at the activation. */
  documents: Record<string, Fields[]>
}

/** Applies all writes, and notes what is wrong with any of them: then nothing may be committed. */
export async function applyWrites(
  { api, actor }: TariffWork,
  set: TariffSetDocument,
  session: ClientSession,
): Promise<AppliedSet> {
  const { catalog, config } = api.stores
  const own = inSession(catalog, session)
  const bound = { ...api, stores: { ...api.stores, catalog: own } }
  const applied: AppliedSet = { issues: [], changes: [], documents: {} }
  const entities = new Map<string, Entity>()
  for (const [index, write] of writesOf(set).entries()) {
    const { definition, action } = resolveAction(write.collection, write.action)
    const { keyField } = definition
    let key = write.update[keyField] ?? write.query[keyField]
    await orIssues(applied.issues, `writes.${index}`, async () => {
      const raw = new Map(Object.entries(requestOf(write, set.activation)))
      const call = { definition, action, raw, caller: actor, operationId: null }
      const { entity } = (await answerCall(bound, call)) as { entity: Fields | null }
      key = entity?.[keyField] ?? key
    })
    const id = `${definition.name} ${key}`
    if (key !== undefined && !entities.has(id)) entities.set(id, { definition, key, write: index })
  }
  for (const entity of entities.values()) {
    const { definition, key } = entity
    applied.issues.push(...(await conflictsOf(api, set, entity)))
    const before = await revisionsOf(catalog, definition, key)
    const after = await revisionsOf(own, definition, key)
    applied.changes.push(changeOf(entity, before, after))
    const atMs = set.activation.getTime()
    const valid = after.filter((one) => fromOf(one) <= atMs && atMs < toOf(one))
    const shape = { timeZone: config.rating.timeZone, dateFields: 'all', ...definition } as const
    const views = valid.map((one) => readView(one, shape))
    applied.documents[definition.name] = [...(applied.documents[definition.name] ?? []), ...views]
  }
  if (isTooLarge({ ...set, changes: applied.changes })) {
    applied.issues.push({ path: 'writes', reason: 'change too much for one set: make several' })
  }
  return applied
}

interface Entity {
  definition: CollectionDefinition
  key: unknown
  write: number
}

/** The parameters of the call: the set gives its instant. */
function requestOf({ action, query, update }: TariffWrite, activation: Date): Fields {
  const at = activation.toISOString()
  const isAddressed = action === 'create' || query['_id'] !== undefined
  return {
    query: { ...(!isAddressed && { effective_date: at }), ...query },
    update: { ...update, [INSTANTS[action as TariffAction]]: at },
  }
}

function changeOf(
  { definition, key, write }: Entity,
  before: readonly RawDocument[],
  after: readonly RawDocument[],
): TariffChange {
  const isIn = (all: readonly RawDocument[], { _id }: RawDocument) =>
    all.find((other) => other._id.equals(_id))
  return {
    collection: definition.store as TariffChange['collection'],
    key: key as TariffChange['key'],
    write,
    before: before.filter((one) => isIn(after, one)?.rev !== one.rev),
    added: after.flatMap((one) => (isIn(before, one) === undefined ? [one._id] : [])),
    digest: digestOfRevisions(after),
  }
}

/** Without `rev`: it is another one if a later set has changed the entity, and was cancelled. */
export function digestOfRevisions(revisions: readonly RawDocument[]): number {
  const texts = revisions.map(({ rev: _, ...fields }) => JSON.stringify(fields))
  return digestOfTexts(texts.sort())
}

/** Others have changed the entity since the set was prepared. */
async function conflictsOf(
  { stores: { catalog } }: EntityApi,
  { numbers }: Pick<TariffSetDocument, 'numbers'>,
  { definition, key, write }: Entity,
): Promise<FieldIssue[]> {
  const { keyField, name } = definition
  const since = numbers[definition.store as TariffChange['collection']]
  const filter = { ...definition.fixed, [keyField]: key, rev: { $gt: since } }
  const found = await findDocuments(catalog, definition, filter, 1)
  if (found.length === 0) return []
  const reason = `${name} ${key} has been changed by others since the set was prepared`
  return [{ path: `writes.${write}`, reason, code: 'conflict' }]
}

/** Notes the issues of a refusal below `path`; other errors are passed on. */
export async function orIssues(
  issues: FieldIssue[],
  path: string,
  act: () => Promise<void>,
): Promise<void> {
  try {
    await act()
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof FieldError)) throw error
    issues.push(...error.issues.map((issue) => issueUnder(path, issue)))
  }
}
