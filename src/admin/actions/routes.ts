/** `/api/{action}` over HTTP: every action of the table. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { DEFINITIONS } from '../../entities/definitions/collections.ts'
import { actorOf, type Caller } from '../../identity/caller.ts'
import { RequestError } from '../../requests/errors.ts'
import type { OrderedParameters, RawParameters } from '../../requests/raw-parameters.ts'
import { readParameters, registerBodies } from '../http/body.ts'
import { clientSignal } from '../http/client-signal.ts'
import { idempotencyKeyOf, OPERATION_ID_LENGTH_MAX } from '../http/idempotency-key.ts'
import { NO_FILES } from '../http/multipart.ts'
import {
  type Action,
  type ActionAnswer,
  type ActionFamily,
  type ActionStores,
  type AnswerFile,
  FILE,
  IDEMPOTENCY_KEY_LENGTH_MAX,
  type MoneyCall,
  type Permits,
  pathsOf,
} from './action.ts'
import { deprecationHeaders } from './deprecated/deprecations.ts'
import { envelopeOf } from './envelope.ts'
import { actionErrorHandler } from './errors.ts'
import { createMoneyCalls, type MoneyCalls } from './money-calls.ts'

/** `family`: that of the action, or the collection of an action of the entity API. */
export interface AdmittedAction extends Pick<Action, 'name' | 'access'> {
  readonly family?: string
}

/** Authorises a caller for an action, or throws; `action` is null for an unknown one. */
export type AdmitAction = (
  request: FastifyRequest,
  ordered: OrderedParameters,
  action: AdmittedAction | null,
) => Promise<Caller>

export interface ActionRoutes extends ActionStores {
  readonly actions: readonly Action[]
  readonly admit: AdmitAction
  /** Whether a caller may do another action. */
  readonly permits: (caller: Caller, ...action: Parameters<Permits>) => Promise<boolean>
}

export function addActionRoutes(server: FastifyInstance, deps: ActionRoutes): void {
  const moneyCalls = createMoneyCalls(deps.catalog)
  server.register(async (routes) => {
    registerBodies(routes)
    routes.setErrorHandler(actionErrorHandler(deps.log))
    for (const action of deps.actions) addAction(routes, action, deps, moneyCalls)
    for (const family of FAMILIES) addFamily(routes, family, deps, moneyCalls)
  })
}

const FAMILIES: readonly ActionFamily[] = ['api', 'billrun', 'admin']

/** The names of actions are not case-sensitive. */
function addFamily(
  routes: FastifyInstance,
  family: ActionFamily,
  deps: ActionRoutes,
  moneyCalls: MoneyCalls,
): void {
  const own = deps.actions.filter((action) => (action.family ?? 'api') === family)
  const byName = new Map(own.map((action) => [action.name, action]))
  const actionOf = ({ action }: { action: string }) => byName.get(action.toLowerCase())
  routes.route<{ Params: { action: string } }>({
    method: METHODS,
    url: `/${family}/:action`,
    config: {
      access: 'checkedByRoute',
      bodies: 'large',
      readsByGet: ({ params }) => actionOf(params as { action: string })?.writesByGet !== true,
    },
    async handler(request, reply) {
      const action = actionOf(request.params)
      if (action !== undefined) return answer(action, deps, moneyCalls, request, reply)
      const { ordered } = await readParameters(request, reply)
      await deps.admit(request, ordered, null)
      const path = request.url.replace(/\?.*$/s, '')
      throw new RequestError(404, `there is no route for ${request.method} ${path}`)
    },
  })
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

function addAction(
  routes: FastifyInstance,
  action: Action,
  deps: ActionRoutes,
  moneyCalls: MoneyCalls,
): void {
  const { body, isPassive, writesByGet } = action
  for (const url of pathsOf(action)) {
    routes.route({
      method: METHODS,
      url,
      ...(body !== undefined && { bodyLimit: body.bytesMax }),
      config: {
        access: 'checkedByRoute',
        bodies: 'large',
        // The other actions refuse GET, or only read.
        ...(writesByGet !== true && { readsByGet: true }),
        ...(isPassive && { isPassive }),
        ...(body !== undefined && { jsonLimits: body.json }),
      },
      handler: (request, reply) => answer(action, deps, moneyCalls, request, reply),
    })
  }
}

async function answer(
  action: Action,
  deps: ActionRoutes,
  moneyCalls: MoneyCalls,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { body } = action
  request.mayHaveWritten = false
  const uploads = body === undefined ? NO_FILES : { ...NO_FILES, fieldsBytesMax: body.bytesMax }
  const { values, ordered } = await readParameters(request, reply, uploads)
  reply.headers(deprecationHeaders(action, values))
  return answerCall(action, deps, moneyCalls, { request, reply, values, ordered })
}

/** Whether a call changes nothing that is charged or sold, whatever its method. */
export function readsOnly(action: Action, values: RawParameters): boolean {
  const { isReadByGet, writesByGet, isMoney, access, parameters } = action
  if (isReadByGet === true) return writesByGet !== true
  if (Object.hasOwn(parameters.properties, 'method')) return values.get('method') === 'query'
  return !isMoney && access.includes('read')
}

interface ReceivedCall {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly values: RawParameters
  readonly ordered: OrderedParameters
}

async function answerCall(
  action: Action,
  deps: ActionRoutes,
  moneyCalls: MoneyCalls,
  { request, reply, values, ordered }: ReceivedCall,
): Promise<unknown> {
  const caller = await admitted(action, deps, request, values, ordered)
  const actor = actorOf(caller)
  refuseMethod(action, request, reply)
  request.mayHaveWritten = !readsOnly(action, values)
  reply.header('cache-control', 'no-store')
  const { actions: _actions, admit: _admit, permits: mayCall, ...stores } = deps
  const baseUrl = `${request.protocol}://${request.host}`
  const permits: Permits = (needed) => mayCall(caller, needed)
  const callContext = {
    actor,
    nowMs: deps.clock.nowMs(),
    baseUrl,
    permits,
    signal: clientSignal(reply),
  }
  const call = { ...stores, ...callContext, operationId: null }
  if (!action.isMoney) {
    const operationId = idempotencyKeyOf(request, OPERATION_ID_LENGTH_MAX)
    const result = await action.call(values, { ...call, operationId, ...NO_MONEY })
    if (result[FILE] !== undefined) return sendFile(reply, result[FILE])
    return envelopeOf(action, values, result)
  }
  const key = idempotencyKeyOf(request, IDEMPOTENCY_KEY_LENGTH_MAX)
  const text = await moneyCalls(action, values, key, call)
  const file = await action.fileOf?.(values, JSON.parse(text) as ActionAnswer, call)
  if (file !== undefined && file !== null) return sendFile(reply, file)
  return reply.type('application/json; charset=utf-8').send(text)
}

/** The caller may do the action and what it does through the entity API. */
async function admitted(
  action: Action,
  { admit }: ActionRoutes,
  request: FastifyRequest,
  values: RawParameters,
  ordered: OrderedParameters,
): Promise<Caller> {
  const caller = await admit(request, ordered, action)
  for (const { collection: family, action: name } of action.entityActions?.(values) ?? []) {
    const access = DEFINITIONS.get(family)?.actions[name]?.roles ?? []
    await admit(request, ordered, { family, name, access })
  }
  return caller
}

/** Only PDF: older browsers do not show it in a sandbox. */
const FRAMED = {
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'self'",
  'x-frame-options': 'SAMEORIGIN',
}

/** A browser saves it; opened, it runs no script and has no access to this server. */
function sendFile(reply: FastifyReply, file: AnswerFile): FastifyReply {
  const { bytes, mediaType, fileName, disposition = 'attachment', isFramed = false } = file
  return reply
    .type(mediaType)
    .header('content-disposition', `${disposition}; filename="${fileName}"`)
    .headers(isFramed ? FRAMED : { 'content-security-policy': 'sandbox' })
    .header('x-content-type-options', 'nosniff')
    .send(bytes)
}

function refuseMethod(
  action: Action,
  { method }: Pick<FastifyRequest, 'method'>,
  reply: FastifyReply,
): void {
  const refusal = methodRefusal(action, method)
  if (refusal === null) return
  reply.header('allow', action.isReadByGet === true ? 'GET, POST' : 'POST')
  throw new RequestError(405, refusal)
}

/** Why an action is not served by the method; null if it is. The guard refuses writes by links. */
export function methodRefusal(
  { name, isReadByGet }: Pick<Action, 'name' | 'isReadByGet'>,
  method: string,
): string | null {
  const isRead = method === 'GET' || method === 'HEAD'
  return method === 'POST' || (isRead && isReadByGet === true)
    ? null
    : `${name} must be sent by POST`
}

const refuseCommit = async (): Promise<never> => {
  throw new RangeError('an action that moves no money cannot commit')
}
const NO_MONEY: Pick<MoneyCall, 'callId' | 'commit' | 'commitPart'> = {
  callId: '',
  commit: refuseCommit,
  commitPart: refuseCommit,
}
