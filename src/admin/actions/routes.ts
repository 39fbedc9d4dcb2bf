/** `/api/{action}` over HTTP: every action of the table. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { actorOf, type Caller } from '../auth/caller.ts'
import { RequestError } from '../entities/errors.ts'
import { readParameters, registerBodies } from '../entities/requests/body.ts'
import { clientSignal } from '../entities/requests/client-signal.ts'
import { idempotencyKeyOf } from '../entities/requests/idempotency-key.ts'
import { NO_FILES } from '../entities/requests/multipart.ts'
import type { SentParameters } from '../entities/requests/raw-parameters.ts'
import {
  type Action,
  type ActionFamily,
  type ActionStores,
  type AnswerFile,
  FILE,
  IDEMPOTENCY_KEY_LENGTH_MAX,
  type MoneyCall,
  type Permits,
  pathsOf,
} from './action.ts'
import { echoedParameters, envelopeOf } from './envelope.ts'
import { actionErrorHandler } from './errors.ts'
import { createMoneyCalls, type MoneyCalls } from './money-calls.ts'

/** Authorises a caller for an action, or throws; `action` is null for an unknown one. */
export type AdmitAction = (
  request: FastifyRequest,
  sent: SentParameters,
  action: Pick<Action, 'name' | 'access' | 'family'> | null,
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

const FAMILIES: readonly ActionFamily[] = ['api', 'billrun']

/** The names of actions are not case-sensitive. */
function addFamily(
  routes: FastifyInstance,
  family: ActionFamily,
  deps: ActionRoutes,
  moneyCalls: MoneyCalls,
): void {
  const own = deps.actions.filter((action) => (action.family ?? 'api') === family)
  const byName = new Map(own.map((action) => [action.name, action]))
  routes.route<{ Params: { action: string } }>({
    method: METHODS,
    url: `/${family}/:action`,
    config: { access: 'asked', bodies: 'large' },
    async handler(request, reply) {
      const action = byName.get(request.params.action.toLowerCase())
      if (action !== undefined) return answer(action, deps, moneyCalls, request, reply)
      const { sent } = await readParameters(request, reply)
      await deps.admit(request, sent, null)
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
  const { body } = action
  for (const url of pathsOf(action)) {
    routes.route({
      method: METHODS,
      url,
      ...(body !== undefined && { bodyLimit: body.bytesMax }),
      config: {
        access: 'asked',
        bodies: 'large',
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
  const uploads = body === undefined ? NO_FILES : { ...NO_FILES, fieldsBytesMax: body.bytesMax }
  const { values, sent } = await readParameters(request, reply, uploads)
  const caller = await deps.admit(request, sent, action)
  const actor = actorOf(caller)
  refuseMethod(action, request, reply)
  reply.header('cache-control', 'no-store')
  const { catalog, ledger, audit, clock, config, log, payments, cycle, reports } = deps
  const stores = { catalog, ledger, audit, clock, config, log, payments, cycle, reports }
  const baseUrl = `${request.protocol}://${request.host}`
  const permits: Permits = (wanted) => deps.permits(caller, wanted)
  const signal = clientSignal(reply)
  const call = { ...stores, actor, nowMs: clock.nowMs(), baseUrl, permits, signal }
  if (!action.isMoney) {
    const result = await action.call(values, { ...call, ...NO_MONEY })
    if (result[FILE] !== undefined) return sendFile(reply, result[FILE])
    return envelopeOf(echoedParameters(action, values), result)
  }
  const key = idempotencyKeyOf(request, IDEMPOTENCY_KEY_LENGTH_MAX)
  reply.type('application/json; charset=utf-8')
  return moneyCalls(action, values, key, call)
}

/** A browser saves it; opened, it runs no script and has no access to this server. */
function sendFile(reply: FastifyReply, file: AnswerFile): FastifyReply {
  const { bytes, mediaType, fileName, disposition = 'attachment' } = file
  return reply
    .type(mediaType)
    .header('content-disposition', `${disposition}; filename="${fileName}"`)
    .header('content-security-policy', 'sandbox')
    .header('x-content-type-options', 'nosniff')
    .send(bytes)
}

/** HEAD is served for every GET route. */
function refuseMethod(
  { name, isReadByGet }: Action,
  { method }: FastifyRequest,
  reply: FastifyReply,
): void {
  const isRead = method === 'GET' || method === 'HEAD'
  if (method === 'POST' || (isRead && isReadByGet === true)) return
  reply.header('allow', isReadByGet === true ? 'GET, POST' : 'POST')
  throw new RequestError(405, `${name} must be sent by POST`)
}

const refuseCommit = async (): Promise<never> => {
  throw new RangeError('an action that moves no money cannot commit')
}
const NO_MONEY: Pick<MoneyCall, 'callId' | 'commit' | 'commitPart'> = {
  callId: '',
  commit: refuseCommit,
  commitPart: refuseCommit,
}
