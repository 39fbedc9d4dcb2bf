/** `/api` with given actions on a separate server, where the caller is set by a header. */
import { randomInt } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll } from 'vitest'
import type { Action, ActionStores } from '../../../../src/admin/actions/action.ts'
import {
  type ActionRoutes,
  type AdmitAction,
  addActionRoutes,
} from '../../../../src/admin/actions/routes.ts'
import { createEntityApi } from '../../../../src/admin/entity-api.ts'
import { createPayments } from '../../../../src/admin/payments.ts'
import { addReportRoutes } from '../../../../src/admin/reports/routes.ts'
import { createServer } from '../../../../src/admin/server.ts'
import { createLiveCatalogue } from '../../../../src/billing/quote/live-catalogue.ts'
import { settingsOf } from '../../../../src/billing/quote/settings.ts'
import { createAccounts } from '../../../../src/billing/run/open-accounts.ts'
import type { ComputeAccount } from '../../../../src/billing/run/process-page.ts'
import { createAudit } from '../../../../src/catalog/audit/audit.ts'
import { type Catalog, openCatalog } from '../../../../src/catalog/connection.ts'
import { createCurrentSettings } from '../../../../src/catalog/settings/current-settings.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import { ADMIN, type Caller, mayDo } from '../../../../src/identity/caller.ts'
import { createCycle } from '../../../../src/jobs/cycle/cycle.ts'
import type { Ledger } from '../../../../src/ledger/ledger.ts'
import { createReports } from '../../../../src/reports/parts.ts'
import { NotAllowedError, NotLoggedInError } from '../../../../src/requests/errors.ts'
import { createLogger, type Logger } from '../../../../src/runtime/log.ts'
import { openRedis, waitForRedis } from '../../../../src/store/redis.ts'
import { computeSmall, smallWorkers } from '../../billing/cycle-fixture.ts'
import { inlineThreads } from '../../billing/invoices.ts'
import { openTestLedger } from '../../ledger.ts'
import { startTestMongo, type TestMongo } from '../../mongo.ts'
import { LEDGER_SETTINGS } from '../../recorder/accounts.ts'
import { startTestRedis } from '../../redis.ts'
import { requireDocumented } from '../openapi/answer-check.ts'

export type Fields = Record<string, unknown>

export interface ActionAnswer extends Fields {
  http: number
  text: string
  headers: Headers
}

export interface AskOptions {
  /** Roles of the caller; `-` for a caller without a login. */
  role?: string
  /** Id of the caller. */
  user?: string
  key?: string
  as?: 'form' | 'json' | 'multipart' | 'query'
  method?: string
}

export interface ActionServer {
  catalog(): Catalog
  /** Only with `hasLedger`. */
  ledger(): Ledger
  now(): number
  /** Sets the clock. */
  at(ms: number): void
  /** `name`: of an action of `/api`, or with its family as `billrun/cycle`. */
  ask(name: string, params: Fields, how?: AskOptions): Promise<ActionAnswer>
  /** Sends a body as JSON, unchanged. */
  send(name: string, body: string): Promise<ActionAnswer>
  mongo(): TestMongo
  /** Base address. */
  url(): string
  /** Another server on the same stores, as another process would be, or on another connection. */
  again(catalog?: Catalog): Promise<Pick<ActionServer, 'ask'> & { close(): Promise<void> }>
}

/** Roles and id of the caller in headers. */
const admit: AdmitAction = async ({ headers }, _sent, action) => {
  const role = String(headers['x-role'] ?? ADMIN)
  if (role === '-') throw new NotLoggedInError('not logged in')
  const name = String(headers['x-user'] ?? 'ada')
  const duties = { mustChangePassword: false, mustEnrolTotp: false }
  const who = { by: 'session', id: name, name, address: '192.0.2.1' } as const
  const caller: Caller = { ...who, roles: role.split(','), ...duties }
  if (action !== null && !mayDo(caller, action.access)) {
    throw new NotAllowedError(`needs ${action.access.join(', ')}`)
  }
  return caller
}

/** Rules of the operator that a caller is subject to: its name is the action, its role `none`. */
function rulesOf({ name }: Caller, action: string): readonly string[] | null {
  return name === action ? ['none'] : null
}

const permits: ActionRoutes['permits'] = async (caller, { collection, name, usual }) =>
  mayDo(caller, rulesOf(caller, `${collection}/${name}`) ?? usual)

export const NOW_MS = Date.UTC(2026, 5, 15, 12)

interface ServerOptions extends Partial<ActionStores> {
  readonly hasLedger?: boolean
  /** Computes invoices; a small calculation by default. */
  readonly compute?: ComputeAccount
}

export function useActionServer(
  actions: readonly Action[],
  env: Record<string, string> = {},
  { hasLedger = false, compute, ...more }: ServerOptions = {},
): ActionServer {
  let mongo: TestMongo
  let catalog: Catalog
  let nowMs = NOW_MS
  let own = NO_LEDGER
  const config = loadConfig({ env })
  const log = createLogger({ name: 'test', level: 'silent' })
  const servers: FastifyInstance[] = []
  const open = async (on = catalog) => {
    const server = createServer(config.admin, log)
    const clock = { nowMs: () => nowMs }
    const served = {
      ...actionStores({ catalog: on, ledger: own.ledger, clock, config, log }, compute),
      ...more,
    }
    addActionRoutes(server, { ...served, actions, admit, permits })
    addReportRoutes(server, { ...served.reports, clock }, log)
    servers.push(server)
    return server.listen({ host: '127.0.0.1', port: 0 })
  }
  let url = ''
  beforeAll(async () => {
    mongo = await startTestMongo()
    const { url: mongoUrl, database } = mongo
    catalog = await openCatalog({ url: mongoUrl, database, timeoutMs: 20_000, appName: 'test' })
    await catalog.ensureIndexes()
    if (hasLedger) own = await startLedger()
    url = await open()
  })
  afterAll(async () => {
    for (const server of servers) await server.close()
    await catalog.close()
    await mongo.close()
    await own.close()
  })
  return {
    catalog: () => catalog,
    ledger: () => own.ledger,
    now: () => nowMs,
    at(ms) {
      nowMs = ms
    },
    ask: (name, params, how) => askAt(url, name, params, how),
    async send(name, body) {
      const headers = { 'content-type': 'application/json' }
      return answerOf(await fetch(`${url}/api/${name}`, { method: 'POST', headers, body }))
    },
    mongo: () => mongo,
    url: () => url,
    async again(on) {
      const other = await open(on)
      const server = servers.at(-1)
      return {
        ask: (name, params, how) => askAt(other, name, params, how),
        async close() {
          await server?.close()
        },
      }
    },
  }
}

function actionStores(
  stores: Pick<ActionStores, 'catalog' | 'ledger' | 'clock' | 'config'> & { log: Logger },
  compute: ComputeAccount = computeSmall,
): ActionStores {
  const { catalog, clock, config } = stores
  const { openAccounts, lookup } = createAccounts(catalog, config, clock)
  const current = createCurrentSettings(catalog, clock, config.catalog.pollMs)
  const entityApi = createEntityApi({ ...stores, lookup })
  const payments = createPayments({ ...stores, lookup, settings: current, entityApi })
  const deps = { ...stores, openAccounts }
  const cycle = createCycle({
    ...stores,
    openAccounts,
    startWorkers: () => smallWorkers(stores, compute),
    startDocuments: () => inlineThreads(deps, compute),
    compute,
  })
  const { fields } = entityApi
  const reports = createReports({ catalog, reader: catalog, config, fields })
  const settings = settingsOf(config.rating)
  const liveCatalogue = createLiveCatalogue({ ...stores, settings })
  const parts = { payments, entityApi, cycle, lookup, reports, liveCatalogue }
  return { ...stores, audit: createAudit(catalog), ...parts }
}

interface OwnLedger {
  readonly ledger: Ledger
  close(): Promise<void>
}

const NO_LEDGER: OwnLedger = { ledger: {} as Ledger, close: async () => undefined }

async function startLedger(): Promise<OwnLedger> {
  const server = await startTestRedis()
  const options = { url: server.url, commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 }
  const redis = openRedis(options, createLogger({ name: 'test', level: 'silent' }))
  await waitForRedis(redis, 20_000)
  return {
    ledger: await openTestLedger(redis, LEDGER_SETTINGS, randomInt(1, 2 ** 47)),
    async close() {
      await redis.close()
      await server.close()
    },
  }
}

export async function askAt(
  url: string,
  name: string,
  params: Fields,
  { role = ADMIN, user = 'ada', key, as = 'form', method = 'POST' }: AskOptions = {},
): Promise<ActionAnswer> {
  const headers: Record<string, string> = { 'x-role': role, 'x-user': user }
  if (key !== undefined) headers['idempotency-key'] = key
  const request: RequestInit = { method, headers }
  const sent = name.includes('/') ? `/${name}` : `/api/${name}`
  let path = `${url}${sent}`
  if (as === 'json') {
    headers['content-type'] = 'application/json'
    request.body = JSON.stringify(params)
  } else if (as === 'multipart') {
    const form = new FormData()
    for (const [field, text] of textsOf(params)) form.append(field, text)
    request.body = form
  } else if (as === 'query') {
    path += `?${new URLSearchParams(textsOf(params))}`
  } else {
    request.body = new URLSearchParams(textsOf(params))
  }
  const answer = await answerOf(await fetch(path, request))
  refuseUndescribed(method, sent.toLowerCase(), answer)
  return answer
}

/** Each answer of an action conforms to its description. */
function refuseUndescribed(method: string, sent: string, answer: ActionAnswer): void {
  const { http: status, text, headers } = answer
  const isFile = headers.has('content-disposition')
  if (isFile || (method !== 'GET' && method !== 'POST')) return
  const contentType = headers.get('content-type') ?? ''
  requireDocumented({ method, sent, status, contentType, body: JSON.parse(text) })
}

async function answerOf(response: Response): Promise<ActionAnswer> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') === true
  const body: Fields = isJson ? JSON.parse(text) : {}
  return { ...body, http: response.status, text, headers: response.headers }
}

/** Texts are sent unchanged, other values as JSON. */
function textsOf(params: Fields): [string, string][] {
  return Object.entries(params).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
}
