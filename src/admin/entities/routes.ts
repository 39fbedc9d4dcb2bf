/** `/billapi/{collection}/{action}` over HTTP. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../../runtime/log.ts'
import { openActor } from '../auth/caller.ts'
import { errorHandler } from './answer.ts'
import { answerCall, calledAction, type EntityApi, isRead } from './api.ts'
import { RequestError, RuleError } from './errors.ts'
import { sendExport } from './export/answer.ts'
import { answerImport } from './import/answer.ts'
import { readParameters, registerBodies } from './request/body.ts'

interface Called {
  Params: { collection: string; action: string }
}

const OPERATION_ID_LENGTH_MAX = 128

export function addEntityApi(
  server: FastifyInstance,
  api: EntityApi,
  log: Pick<Logger, 'error'>,
): void {
  server.register(async (routes) => {
    registerBodies(routes)
    routes.setErrorHandler(errorHandler(log))
    const handle = (request: FastifyRequest<Called>, reply: FastifyReply) =>
      answer(api, request, reply)
    for (const url of ['/billapi/:collection/:action', '/billapi/:collection/:action/:id']) {
      routes.route<Called>({ method: ['GET', 'POST'], url, handler: handle })
      routes.route({ method: OTHER_METHODS, url, handler: refuseMethod })
    }
  })
}

const OTHER_METHODS = ['PUT', 'PATCH', 'DELETE']

async function refuseMethod({ method }: FastifyRequest, reply: FastifyReply): Promise<never> {
  reply.header('allow', 'GET, POST')
  throw new RequestError(405, `${method} is not a method of this API: GET reads, POST does all`)
}

async function answer(
  api: EntityApi,
  request: FastifyRequest<Called>,
  reply: FastifyReply,
): Promise<object> {
  const caller = openActor(request.ip)
  const called = { ...calledAction(request.params.collection, request.params.action), caller }
  if (request.method === 'GET' && !isRead(called.action)) {
    reply.header('allow', 'POST')
    throw new RequestError(405, `${called.action} must be sent by POST`)
  }
  const operationId = operationIdOf(request)
  const isImport = called.action === 'import'
  const uploads = { filesMax: 1, fileBytesMax: api.stores.config.entities.importBytesMax }
  const parameters = await readParameters(request, reply, isImport ? uploads : undefined)
  try {
    if (isImport) return await answerImport(api, called, parameters)
    if (called.action === 'export') return await sendExport(api, called, parameters.values, reply)
    return await answerCall(api, { ...called, raw: parameters.values, operationId })
  } finally {
    await parameters.dispose()
  }
}

function operationIdOf({ headers }: FastifyRequest<Called>): string | null {
  const given = headers['idempotency-key']
  if (given === undefined) return null
  const text = String(given)
  if (/^[\x21-\x7e]+$/.test(text) && text.length <= OPERATION_ID_LENGTH_MAX) return text
  throw new RuleError(
    `Idempotency-Key must have 1 to ${OPERATION_ID_LENGTH_MAX} visible characters of ASCII`,
  )
}
