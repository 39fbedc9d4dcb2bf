/** `/billapi/{collection}/{action}` over HTTP. */

import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../../catalog/actor.ts'
import { isAway } from '../../catalog/patience.ts'
import { repeatingReads } from '../../catalog/repeating-reads.ts'
import { signedText } from '../../catalog/signature/signed-text.ts'
import {
  answerCall,
  contextOf,
  type EntityApi,
  type EntityCall,
  isRead,
  resolveAction,
} from '../../entities/api.ts'
import { isVersioned } from '../../entities/definitions/definition.ts'
import { exportHeaders, exportRequestOf } from '../../entities/export/export-request.ts'
import { exportRows } from '../../entities/export/export-rows.ts'
import { recordRead } from '../../entities/read-records.ts'
import { entityTag, ifMatchOf } from '../../entities/requests/versions.ts'
import { actorOf, type Caller } from '../../identity/caller.ts'
import { NotLoggedInError, RequestError } from '../../requests/errors.ts'
import type { OrderedParameters, RawParameters } from '../../requests/raw-parameters.ts'
import type { Logger } from '../../runtime/log.ts'
import { errorHandler } from './answer.ts'
import { queryParameters, readParameters, registerBodies } from './body.ts'
import { clientSignal } from './client-signal.ts'
import { idempotencyKeyOf, OPERATION_ID_LENGTH_MAX } from './idempotency-key.ts'
import { answerImport } from './import-answer.ts'

interface Called {
  Params: { collection: string; action: string }
}

/** Authorises a caller, or throws; `called` is null before the action is known. */
export type AdmitCall = (
  request: FastifyRequest,
  parameters: OrderedParameters,
  called: Pick<EntityCall, 'definition' | 'action'> | null,
) => Promise<Caller>

export function addEntityApi(
  server: FastifyInstance,
  api: EntityApi,
  admit: AdmitCall,
  log: Pick<Logger, 'error'>,
): void {
  server.register(async (routes) => {
    registerBodies(routes)
    routes.setErrorHandler(errorHandler(log))
    const handle = (request: FastifyRequest<Called>, reply: FastifyReply) =>
      answer(api, admit, request, reply)
    for (const url of ['/billapi/:collection/:action', '/billapi/:collection/:action/:id']) {
      const config = { access: 'checkedByRoute', bodies: 'large', readsByGet: true } as const
      routes.route<Called>({ method: ['GET', 'POST'], url, config, handler: handle })
      routes.route({
        method: OTHER_METHODS,
        url,
        handler: refuseMethod,
        config: { access: 'public' },
      })
    }
  })
}

const OTHER_METHODS = ['PUT', 'PATCH', 'DELETE']

async function refuseMethod({ method }: FastifyRequest, reply: FastifyReply): Promise<never> {
  reply.header('allow', 'GET, POST')
  throw new RequestError(405, `${method} is not supported: use GET to read, or POST`)
}

async function answer(
  api: EntityApi,
  admit: AdmitCall,
  request: FastifyRequest<Called>,
  reply: FastifyReply,
): Promise<object> {
  const { collection, action } = request.params
  request.mayHaveWritten = false
  const isImport = action.toLowerCase() === 'import'
  // Uploaded files are stored while the body is read, so the caller is authorised first.
  if (isImport) {
    await admit(request, queryParameters(request.url), resolveAction(collection, action))
  }
  const uploads = { filesMax: 1, fileBytesMax: api.stores.config.entities.importBytesMax }
  const parameters = await readParameters(request, reply, isImport ? uploads : undefined)
  try {
    await admit(request, parameters.ordered, null)
    const resolved = resolveAction(collection, action)
    const called = {
      ...resolved,
      caller: actorOf(await admit(request, parameters.ordered, resolved)),
    }
    if (isImport) refuseUnsignedBody(request, called.caller, parameters.ordered)
    // HEAD is served for every GET route.
    if (request.method !== 'POST' && !isRead(called.action)) {
      reply.header('allow', 'POST')
      throw new RequestError(405, `${called.action} must be sent by POST`)
    }
    const ifMatch = isRead(called.action) ? null : ifMatchOf(request.headers['if-match'])
    const operationId = idempotencyKeyOf(request, OPERATION_ID_LENGTH_MAX)
    if (ifMatch !== null && !isVersioned(called.definition, called.action)) {
      throw new RequestError(400, `If-Match: ${collection}/${action} does not change a revision`)
    }
    request.mayHaveWritten = !isRead(called.action)
    if (isImport) return await answerImport(api, called, parameters)
    const signal = clientSignal(reply)
    if (called.action === 'export') {
      return await sendExport(api, called, parameters.values, reply, signal)
    }
    const showVersion = (version: string) => void reply.header('etag', entityTag(version))
    const more = { raw: parameters.values, operationId, signal, ifMatch, showVersion }
    return await answerCall(api, { ...called, ...more })
  } finally {
    await parameters.dispose()
  }
}

/** The signature of an import is verified before its body is read, so it covers the URL only. */
function refuseUnsignedBody(
  { url }: FastifyRequest,
  { by }: Actor,
  parameters: OrderedParameters,
): void {
  if (by !== 'signature' || signedText(parameters) === signedText(queryParameters(url))) return
  throw new NotLoggedInError('No user is logged in: the signature does not cover the body')
}

/** Throws `ApiError` or errors of the store until the first byte is sent. */
async function sendExport(
  { batch }: Pick<EntityApi, 'batch'>,
  called: Pick<EntityCall, 'definition' | 'action' | 'caller'>,
  raw: RawParameters,
  reply: FastifyReply,
  signal: AbortSignal,
): Promise<FastifyReply> {
  const request = { ...exportRequestOf(raw, await contextOf(batch, called)), signal }
  const done = { ...called, filter: request.filter, rows: null }
  await recordRead(batch.stores, called.caller, done)
  const { catalog } = batch.stores
  const patience = { ...catalog.patience, signal }
  const pages = exportRows(repeatingReads(catalog, patience, isAway), request)
  // Errors of the store must be known before the first byte is sent.
  const first = await pages.next()
  const rest = async function* () {
    try {
      if (first.done !== true) yield first.value
      yield* pages
    } finally {
      await pages.return(undefined)
    }
  }
  reply.headers(exportHeaders(raw, request))
  return reply.send(Readable.from(rest(), { objectMode: false }))
}
