/** Handles one request of the entity API, from its parameters to its response. */
import type { Actor } from '../catalog/actor.ts'
import type { JobDocument } from '../catalog/records/job-document.ts'
import type { Fields } from '../domain/fields.ts'
import {
  DISPLAY,
  EntityRuleError,
  NotAllowedError,
  VersionConflictError,
} from '../requests/errors.ts'
import { OBJECTS } from '../requests/json-text.ts'
import { ignoredWarnings } from '../requests/problems.ts'
import { parameterWarnings, type RawParameters } from '../requests/raw-parameters.ts'
import { change } from './actions/change.ts'
import { create } from './actions/create.ts'
import { get } from './actions/get.ts'
import { wantsRevisionInfo, withRevisionInfo } from './actions/revision-info.ts'
import { StaleVersionError } from './actions/target.ts'
import { uniqueget } from './actions/uniqueget.ts'
import { DEFINITIONS } from './definitions/collections.ts'
import { type ActionName, type CollectionDefinition, isRecord } from './definitions/definition.ts'
import type { ErasureRequest, Subject } from './erasure.ts'
import type { CurrentFields } from './fields/current.ts'
import { recordRead } from './read-records.ts'
import type {
  EntityStores,
  ReadRequest,
  ReadResult,
  WriteRequest,
  WriteResult,
} from './requests/entity-request.ts'
import {
  fieldNames,
  type RequestContext,
  readRequestOf,
  writeRequestOf,
} from './requests/requests.ts'
import { textDatesOf } from './requests/text-dates.ts'
import { entityTag, type IfMatch, versionOf } from './requests/versions.ts'
import { minimumDatesMs } from './rules/minimum-date.ts'
import { isTrialIn, WriteIssues } from './trial.ts'
import { readEnvelope, readView, writeEnvelope, writeView } from './views.ts'

/** Actions of a collection of records, which have no revisions. */
export interface RecordActions {
  read?(request: ReadRequest): Promise<ReadResult>
  write?(action: ActionName, write: RecordWriteRequest): Promise<WriteResult>
  /** Whether writes can be tried (`isTrial`). */
  readonly canTry?: boolean
}

export interface RecordWriteRequest {
  actor: Actor
  query: Fields
  update: Fields
  /** Arbitrary data of the caller. */
  additional: unknown
  operationId: string | null
  /** Everything happens but the commit. */
  isTrial?: boolean
}

export interface EntityApi {
  stores: EntityStores
  fields: CurrentFields
  recordActions: Readonly<Record<string, RecordActions>>
  /** Begins an erasure, or returns the one in progress. Rejects with `EntityRuleError`. */
  erase(request: ErasureRequest): Promise<JobDocument>
  /** On the connection of batch work, for imports, exports and jobs. */
  batch: Pick<EntityApi, 'stores' | 'fields'>
}

export interface EntityCall {
  definition: CollectionDefinition
  action: ActionName
  raw: RawParameters
  /** The caller; recorded as the author of writes. */
  caller: Actor
  /** Value of `Idempotency-Key`; null if it was not sent. */
  operationId: string | null
  /** Aborted when the client disconnects, which ends reads. */
  signal?: AbortSignal | undefined
  /** Value of `If-Match`. */
  ifMatch?: IfMatch | null
  /** For changes of stored entities: see `WriteRequest.claim`. */
  claim?: WriteRequest['claim']
  /** Receives the version of the revision in the response, if there is one. */
  showVersion?(version: string): void
}

/** Throws `NotAllowedError` for unknown collections and actions. */
export function resolveAction(
  collection: string,
  action: string,
): Pick<EntityCall, 'definition' | 'action'> {
  const definition = DEFINITIONS.get(collection)
  if (definition === undefined) {
    throw new NotAllowedError(`No permission: there is no collection ${collection.slice(0, 64)}`)
  }
  const name = action.toLowerCase() as ActionName
  if (!Object.hasOwn(definition.actions, name)) {
    const has = `${collection} has no action ${action.slice(0, 64)}`
    throw new NotAllowedError(`No permission: ${has}`)
  }
  return { definition, action: name }
}

export function isRead(action: ActionName): boolean {
  return action === 'get' || action === 'uniqueget' || action === 'export'
}

/** Responds to `get`, `uniqueget` and writes. Throws `ApiError` or errors of the stores. */
export async function answerCall(api: EntityApi, call: EntityCall): Promise<object> {
  const context = await contextOf(api, call)
  return isRead(call.action) ? answerRead(api, call, context) : answerWrite(api, call, context)
}

/** The context in which the parameters of a call are parsed. */
export async function contextOf(
  { stores, fields }: Pick<EntityApi, 'stores' | 'fields'>,
  { definition, action }: Pick<EntityCall, 'definition' | 'action'>,
): Promise<RequestContext> {
  return {
    definition,
    action,
    fields: await fields.of(definition),
    entities: stores.config.entities,
    timeZone: stores.config.rating.timeZone,
    nowMs: stores.clock.nowMs(),
  }
}

async function answerRead(
  { stores, recordActions }: EntityApi,
  call: EntityCall,
  context: RequestContext,
): Promise<object> {
  const { definition, action, raw, caller, signal } = call
  const { nowMs } = context
  const request = { ...readRequestOf(raw, context), signal }
  const read = recordActions[definition.name]?.read ?? entityReader(stores, action, nowMs)
  const wantsInfo = wantsRevisionInfo(request)
  const { rows, hasMore } = await read(request)
  const done = { definition, action, filter: request.filter, rows }
  await recordRead(stores, caller, done)
  const [only] = rows
  if (only !== undefined && rows.length === 1) showVersionOf(call, only)
  return readEnvelope(
    await viewsOf(stores, context, rows, wantsInfo),
    hasMore,
    unknownParameters(call),
  )
}

const PARAMETERS = [...OBJECTS, 'states', 'page', 'size']
const WRITE_PARAMETERS = [...PARAMETERS, 'force', 'validate']

function unknownParameters({ raw, definition, action }: EntityCall): readonly string[] {
  const known = isRead(action) ? PARAMETERS : WRITE_PARAMETERS
  return parameterWarnings(raw, known, `${definition.name}/${action}`)
}

/** Nothing is shown of records, and of a part of a revision. */
function showVersionOf({ definition, showVersion }: EntityCall, revision: Fields): void {
  const version = isRecord(definition) ? null : versionOf(revision)
  if (version !== null) showVersion?.(version)
}

/** The rows as responses to reads show them. */
async function viewsOf(
  { catalog, config }: EntityStores,
  { definition, fields, nowMs, timeZone }: RequestContext,
  rows: readonly Fields[],
  wantsInfo: boolean,
): Promise<Record<string, unknown>[]> {
  const rowsWithInfo = wantsInfo
    ? await withRevisionInfo(catalog, definition, rows, {
        nowMs,
        minimumMs: await minimumDatesMs(catalog, definition, rows, config),
      })
    : rows
  const shape = { timeZone, dateFields: textDatesOf(definition, fields), hidden: definition.hidden }
  return rowsWithInfo.map((row) => readView(row, shape))
}

/** For records, `uniqueget` is the same as `get`. */
function entityReader({ catalog }: EntityStores, action: ActionName, nowMs: number) {
  return (request: ReadRequest) =>
    action === 'uniqueget' && !isRecord(request.definition)
      ? uniqueget(catalog, request, nowMs)
      : get(catalog, request)
}

async function answerWrite(
  api: EntityApi,
  call: EntityCall,
  context: RequestContext,
): Promise<object> {
  const { definition, action, raw } = call
  const { write: ownWrite, canTry = false } = api.recordActions[definition.name] ?? {}
  const isTrial = isTrialIn(raw)
  if (isTrial && (action === 'erase' || (ownWrite !== undefined && !canTry))) {
    const text = `validate: ${definition.name}/${action} can only be done, not tried`
    throw new EntityRuleError(text, { path: 'validate' }, DISPLAY.request)
  }
  const issues = new WriteIssues(isTrial)
  try {
    return await checkedWrite(api, call, context, issues)
  } catch (error) {
    return issues.end(error)
  }
}

/** A write of another version than demanded is answered with the present one. */
async function checkedWrite(
  api: EntityApi,
  call: EntityCall,
  context: RequestContext,
  issues: WriteIssues,
): Promise<object> {
  try {
    return await writeAnswer(api, call, context, issues)
  } catch (error) {
    if (!(error instanceof StaleVersionError)) throw error
    throw await versionConflict(api.stores, context, error.present)
  }
}

async function versionConflict(
  stores: EntityStores,
  context: RequestContext,
  present: Fields | null,
): Promise<VersionConflictError> {
  const { name } = context.definition
  if (present === null) {
    return new VersionConflictError(`${name}: the revision has been deleted meanwhile`, null, {})
  }
  const [entity = null] = await viewsOf(stores, context, [present], true)
  const version = versionOf(present) ?? ''
  const text = `${name}: the revision has been changed meanwhile; its version is ${version}`
  return new VersionConflictError(text, entity, { etag: entityTag(version) })
}

async function writeAnswer(
  { stores, recordActions, erase }: EntityApi,
  call: EntityCall,
  context: RequestContext,
  issues: WriteIssues,
): Promise<object> {
  const { definition, action, raw, caller: actor, operationId, ifMatch, claim } = call
  const { request, ignored } = writeRequestOf(raw, context, actor, issues)
  const { from, to, target, changes } = request
  const ownWrite = recordActions[definition.name]?.write
  const { isTrial } = issues
  if (action === 'erase' || ownWrite !== undefined) issues.throwIfAny()
  if (action === 'erase') return answerErasure(erase, definition, request)
  const additional = additionalOf(raw)
  const update = { ...changes.set, ...(from && { from }), ...(to && { to }) }
  const record = { actor, query: target, update, additional, operationId }
  const result =
    ownWrite !== undefined
      ? await ownWrite(action, { ...record, isTrial })
      : action === 'create'
        ? await create(stores, request)
        : await change(stores, action, { ...request, ifMatch, claim })
  if (!isTrial && result.entity !== null) showVersionOf(call, { ...result.entity })
  const entity = entityView(result.entity, definition.hidden)
  const more = Object.entries(result.more ?? {}).map(([name, value]) => [name, memberView(value)])
  const known = fieldNames(definition, context.fields)
  const warnings = [
    ...unknownParameters(call),
    ...ignoredWarnings(ignored, known, `a field of ${definition.name}`),
    ...(result.warnings ?? []),
    ...(await writtenWarnings(stores, definition, action, result)),
  ]
  return writeEnvelope(result.details, entity, {
    ...(isTrial && { valid: true }),
    ...Object.fromEntries(more),
    ...(warnings.length > 0 && { warnings }),
  })
}

/** One warning of a kind per response, regardless of the number of revisions written. */
async function writtenWarnings(
  { catalog, clock, rules }: EntityStores,
  { name }: CollectionDefinition,
  action: ActionName,
  { entity }: WriteResult,
): Promise<readonly string[]> {
  if (entity === null || Array.isArray(entity)) return []
  const context = { catalog, action, nowMs: clock.nowMs() }
  return (await rules[name]?.writtenWarnings?.(entity as Fields, context)) ?? []
}

async function answerErasure(
  erase: EntityApi['erase'],
  { name, keyField }: CollectionDefinition,
  { target, changes, actor }: WriteRequest,
): Promise<object> {
  // No other collection has this action.
  const subject = { collection: name as Subject['collection'], key: Number(target[keyField]) }
  const force = changes.set['force'] === true
  const job = await erase({ subject, force, actor })
  return writeEnvelope(true, writeView({ ...job }, DEFINITIONS.get('jobs')?.hidden))
}

function entityView(entity: WriteResult['entity'], hidden: readonly string[]): unknown {
  if (entity === null) return null
  if (Array.isArray(entity)) return entity.map((one: Fields) => writeView(one, hidden))
  return writeView(entity as Fields, hidden)
}

function memberView(value: unknown): unknown {
  const isDocument = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isDocument ? writeView(value as Fields) : value
}

function additionalOf(raw: RawParameters): unknown {
  const value = raw.get('additional')
  return typeof value === 'string' && value !== '' ? JSON.parse(value) : (value ?? {})
}
