/** `/api/settings`: the stored configuration over HTTP. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { WriteTrial } from '../../entities/trial.ts'
import { ADMIN, actorOf, type Caller } from '../../identity/caller.ts'
import { EntityRuleError, RequestError } from '../../requests/errors.ts'
import type { OrderedParameters } from '../../requests/raw-parameters.ts'
import type { Logger } from '../../runtime/log.ts'
import { errorHandler } from '../http/answer.ts'
import { readParameters, registerBodies } from '../http/body.ts'
import type { Categories } from './category.ts'
import type { SettingsDeps } from './change.ts'
import { createSettings, nameOf, type Settings } from './settings.ts'
import {
  isWrite,
  refuseByGet,
  type SettingsRequest,
  settingsRequestOf,
} from './settings-request.ts'

/** Returns the caller if it has one of the roles; rejects otherwise. */
export type Admit = (
  request: FastifyRequest,
  ordered: OrderedParameters,
  needed: readonly string[],
) => Promise<Caller>

export interface SettingsRoutes extends SettingsDeps {
  readonly admit: Admit
  readonly log: Pick<Logger, 'error'>
}

const URL = '/api/settings'

export function addSettingsRoutes(server: FastifyInstance, deps: SettingsRoutes): void {
  const settings = createSettings(deps)
  server.register(async (routes) => {
    registerBodies(routes)
    routes.setErrorHandler(errorHandler(deps.log))
    const access = { config: { access: 'asked', bodies: 'large', readsByGet: true } } as const
    routes.route({
      method: ['GET', 'POST'],
      url: URL,
      ...access,
      handler: (request, reply) => answer(settings, deps, request, reply),
    })
    routes.route({
      method: ['PUT', 'PATCH', 'DELETE'],
      url: URL,
      ...access,
      handler: async ({ method }, reply) => {
        reply.header('allow', 'GET, POST')
        throw new RequestError(
          405,
          `${method} is not allowed: use GET to read and POST for all actions`,
        )
      },
    })
  })
}

async function answer(
  settings: Settings,
  { admit, categories }: SettingsRoutes,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<object> {
  const { values, ordered } = await readParameters(request, reply)
  const settingsRequest = settingsRequestOf(values, isJson(request))
  if (request.method !== 'POST' && isWrite(settingsRequest.action)) reply.header('allow', 'POST')
  refuseByGet(request.method, settingsRequest)
  // Authorisation precedes anything that discloses which settings exist.
  const caller = await admit(request, ordered, neededFor(settingsRequest, categories))
  const { action, address } = settingsRequest
  const { category, path } = address
  reply.header('cache-control', 'no-store')
  const result = await act(settings, settingsRequest, caller).catch((error: unknown) => {
    if (settingsRequest.isTrial) return new WriteTrial().end(error)
    throw error
  })
  return { status: 1, desc: 'success', input: { action, category, path }, ...result }
}

/** Unknown categories require the usual role, so that the answer does not disclose which exist. */
function neededFor({ action, address }: SettingsRequest, { stored }: Categories): string[] {
  if (isWrite(action) || action === 'history') return [ADMIN]
  const { readRole = 'read' } = stored.get(nameOf(address)) ?? {}
  return [readRole]
}

async function act(
  settings: Settings,
  { action, address, data, isTrial }: SettingsRequest,
  caller: Caller,
): Promise<object> {
  const by = { actor: actorOf(caller), isTrial }
  switch (action) {
    case 'list':
      return { details: settings.list() }
    case 'history':
      return { details: await settings.history(address) }
    case 'get':
      return settings.get(address)
    case 'set':
      return settings.set(address, data, by)
    case 'unset':
      return settings.unset(address, data, by)
    case 'restore': {
      const { rev } = address
      if (rev === null) throw new EntityRuleError('rev is missing: it names the version to restore')
      return settings.restore({ ...address, rev: null }, rev, by)
    }
  }
}

function isJson({ headers }: FastifyRequest): boolean {
  return /^application\/json\b/i.test(headers['content-type'] ?? '')
}
