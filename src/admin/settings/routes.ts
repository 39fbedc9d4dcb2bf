/** `/api/settings`: the stored configuration over HTTP. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { anyValue, flag, text } from '../../catalog/entities/json-schema.ts'
import { WriteIssues } from '../../entities/trial.ts'
import { ADMIN, actorOf, type Caller } from '../../identity/caller.ts'
import { fieldRule } from '../../requests/errors.ts'
import type { OrderedParameters } from '../../requests/raw-parameters.ts'
import type { Logger } from '../../runtime/log.ts'
import { errorHandler } from '../http/answer.ts'
import { succeeded } from '../http/answer-schema.ts'
import { readParameters, registerBodies } from '../http/body.ts'
import { addEndpoints, BODY, CODED, get, post, refuseOtherMethods } from '../http/endpoint.ts'
import { type ReadSetting, SETTINGS_ANSWER, type SettingsAnswer } from './answers.ts'
import type { Categories } from './category.ts'
import type { SettingsDeps } from './change.ts'
import {
  type ChangeBy,
  createSettings,
  nameOf,
  type SettingAddress,
  type Settings,
} from './settings.ts'
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

/** The parts that the endpoints use. */
interface SettingsParts extends Pick<SettingsRoutes, 'admit' | 'categories'> {
  readonly settings: Settings
}

const ADDRESS = {
  category: text('Category, such as `security`, followed by the path unless that is in `path`.'),
  path: text('Names and indexes separated by dots.'),
  rev: text('Version to read or restore, or on which the change is based.'),
}

const INPUT = { category: 'taxation.default', path: '' }
const REFUSED = [
  'ruleError',
  'fieldsError',
  'permissionError',
  'loginError',
  'targetError',
] as const
export const READ_SETTINGS = get('/api/settings', {
  access: ['read'],
  isAsked: true,
  about: 'Read settings; security settings require admin',
  config: { bodies: 'large' },
  request: {
    parameters: { action: text('`get` (default), `list` or `history`.'), ...ADDRESS },
    example: { action: 'get', category: 'taxation.default' },
  },
  answer: {
    description: 'A setting.',
    schema: SETTINGS_ANSWER,
    example: { ...succeeded('REDUCED', { input: { action: 'get', ...INPUT } }), rev: 42 },
    refused: REFUSED,
    others: { ...CODED, '405': 'badMethod' },
  },
  run: answer,
})

export const CHANGE_SETTINGS = post('/api/settings', {
  access: [ADMIN],
  isAsked: true,
  about: 'Change settings',
  config: { bodies: 'large' },
  request: {
    parameters: {
      action: text('`set`, `unset` or `restore`, or an action of GET.'),
      ...ADDRESS,
      data: anyValue('The value; JSON text in a form.'),
      validate: flag('True: the change is only tried, nothing is stored.'),
    },
    example: { action: 'set', category: 'taxation.default', data: 'REDUCED' },
  },
  answer: {
    description: 'The stored setting after the change.',
    schema: SETTINGS_ANSWER,
    example: { ...succeeded('REDUCED', { input: { action: 'set', ...INPUT } }), rev: 42 },
    refused: REFUSED,
    others: { ...CODED, ...BODY },
  },
  run: answer,
})

export const SETTINGS_ENDPOINTS = [READ_SETTINGS, CHANGE_SETTINGS]

export function addSettingsRoutes(server: FastifyInstance, deps: SettingsRoutes): void {
  const { admit, categories } = deps
  const settings = createSettings(deps)
  server.register(async (routes) => {
    registerBodies(routes)
    routes.setErrorHandler(errorHandler(deps.log))
    addEndpoints(routes, SETTINGS_ENDPOINTS, { settings, admit, categories })
    refuseOtherMethods(routes, CHANGE_SETTINGS, 'for all actions')
  })
}

async function answer(
  { settings, admit, categories }: SettingsParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<SettingsAnswer> {
  const { values, ordered } = await readParameters(request, reply)
  const settingsRequest = settingsRequestOf(values, isJson(request))
  if (request.method !== 'POST' && isWrite(settingsRequest.action)) reply.header('allow', 'POST')
  refuseByGet(request.method, settingsRequest)
  // Authorisation precedes anything that discloses which settings exist.
  const caller = await admit(request, ordered, neededFor(settingsRequest, categories))
  reply.header('cache-control', 'no-store')
  return act(settings, settingsRequest, caller).catch((error: unknown) => {
    return new WriteIssues(settingsRequest.isTrial).end(error)
  })
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
): Promise<SettingsAnswer> {
  const by = { actor: actorOf(caller), isTrial }
  const { category, path } = address
  if (action === 'list') {
    return succeeded(settings.list(), { input: { action, category, path } })
  }
  if (action === 'history') {
    return succeeded(await settings.history(address), { input: { action, category, path } })
  }
  const value = async () => {
    switch (action) {
      case 'get':
        return settings.get(address)
      case 'set':
        return settings.set(address, data, by)
      case 'unset':
        return settings.unset(address, data, by)
      case 'restore':
        return restored(settings, address, by)
    }
  }
  const { details, ...more } = await value()
  return { ...succeeded(details, { input: { action, category, path } }), ...more }
}

function restored(settings: Settings, address: SettingAddress, by: ChangeBy): Promise<ReadSetting> {
  const { rev } = address
  if (rev !== null) return settings.restore({ ...address, rev: null }, rev, by)
  throw fieldRule('rev', 'is missing: it names the version to restore', 'missing')
}

function isJson({ headers }: FastifyRequest): boolean {
  return /^application\/json\b/i.test(headers['content-type'] ?? '')
}
