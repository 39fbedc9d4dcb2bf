/** `/api/settings` on a separate server, where the caller is set by a header. */
import type { FastifyInstance } from 'fastify'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { createServer } from '../../../../src/admin/server.ts'
import { VALUES } from '../../../../src/admin/settings/answers.ts'
import { createCategories } from '../../../../src/admin/settings/categories.ts'
import type { Category } from '../../../../src/admin/settings/category.ts'
import { type Admit, addSettingsRoutes } from '../../../../src/admin/settings/routes.ts'
import { createAudit } from '../../../../src/catalog/audit/audit.ts'
import { type Catalog, openCatalog } from '../../../../src/catalog/connection.ts'
import { ref } from '../../../../src/catalog/entities/json-schema.ts'
import type { AuditDocument } from '../../../../src/catalog/records/audit-document.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import { type Caller, mayDo } from '../../../../src/identity/caller.ts'
import { NotAllowedError, NotLoggedInError } from '../../../../src/requests/errors.ts'
import { createLogger } from '../../../../src/runtime/log.ts'
import { startTestMongo } from '../../mongo.ts'
import { useOpened } from '../../opened.ts'
import { postJson } from '../../post-json.ts'
import { createAnswerCheck, DOCUMENT, requireDocumented } from '../openapi/answer-check.ts'

const documented = createAnswerCheck(DOCUMENT)

export const NOW_MS = Date.UTC(2026, 5, 15)
export type Fields = Record<string, unknown>

export interface SettingsAnswer {
  http: number
  headers: Headers
  status: number
  details: unknown
  rev: number
  effective: unknown
  input: Fields
  /** Message of an error of any shape. */
  message: string
}

export interface SettingsServer {
  catalog(): Catalog
  url(): string
  /** Sends a form by POST, or JSON; in a form data are JSON. */
  ask(params: Fields, more?: { role?: string; json?: boolean }): Promise<SettingsAnswer>
  get(category: string, more?: Fields): Promise<SettingsAnswer>
  /** A change that must succeed. */
  ok(params: Fields): Promise<SettingsAnswer>
  /** A call that must be refused and must not write anything; returns the message. */
  refused(params: Fields): Promise<string>
  audited(): Promise<AuditDocument[]>
}

/** Roles in a header: `-` is a caller without a login. */
const admit: Admit = async ({ headers }, _sent, needed) => {
  const role = String(headers['x-role'] ?? 'admin')
  if (role === '-') throw new NotLoggedInError('not logged in')
  const caller: Caller = {
    by: 'session',
    id: 'u1',
    name: 'ada',
    address: '192.0.2.1',
    roles: role.split(','),
    mustChangePassword: false,
    mustEnrolTotp: false,
  }
  if (!mayDo(caller, needed)) throw new NotAllowedError(`needs ${needed.join(', ')}`)
  return caller
}

export function useSettingsServer(
  more: readonly Category[] = [],
  env: Record<string, string> = {},
): SettingsServer {
  let catalog: Catalog
  let server: FastifyInstance
  let url = ''
  const mongo = useOpened(startTestMongo)
  beforeAll(async () => {
    const { url: mongoUrl, database } = mongo()
    catalog = await openCatalog({ url: mongoUrl, database, timeoutMs: 20_000, appName: 'test' })
    const opened = await openSettingsServer(catalog, more, env)
    server = opened.server
    url = opened.url
  })
  afterEach(async () => {
    for (const each of [catalog.config, catalog.confighistory, catalog.audit, catalog.taxes]) {
      await each.deleteMany({})
    }
  })
  afterAll(async () => {
    await server.close()
    await catalog.close()
  })
  const ask: SettingsServer['ask'] = (params, how = {}) => askAt(url, params, how)
  const stored = async () =>
    JSON.stringify(
      await Promise.all([
        catalog.config.find().toArray(),
        catalog.confighistory.find().toArray(),
        catalog.audit.find().toArray(),
      ]),
    )
  return {
    ask,
    catalog: () => catalog,
    url: () => url,
    get: (category, params = {}) => ask({ category, ...params }),
    async ok(params) {
      const answer = await ask(params)
      expect([answer.http, answer.status, answer.message]).toEqual([200, 1, undefined])
      return answer
    },
    async refused(params) {
      const before = await stored()
      const { http, status, message } = await ask(params)
      expect([http, status]).toEqual([200, 0])
      expect(await stored()).toBe(before)
      return message
    },
    audited: () => catalog.audit.find().sort({ urt: 1, _id: 1 }).toArray(),
  }
}

export async function openSettingsServer(
  catalog: Catalog,
  more: readonly Category[] = [],
  env: Record<string, string> = {},
) {
  const log = createLogger({ name: 'test', level: 'silent' })
  const config = loadConfig({ env })
  const server = createServer(config.admin, log)
  const categories = createCategories(config, more)
  const audit = createAudit(catalog)
  const clock = { nowMs: () => NOW_MS }
  addSettingsRoutes(server, { catalog, audit, clock, categories, admit, log })
  const url = `${await server.listen({ host: '127.0.0.1', port: 0 })}/api/settings`
  return { server, url }
}

export async function askAt(
  url: string,
  params: Fields,
  { role = 'admin', json = false }: { role?: string; json?: boolean } = {},
): Promise<SettingsAnswer> {
  const headers = { 'x-role': role }
  const response = await (json
    ? postJson(url, params, headers)
    : fetch(url, { method: 'POST', headers, body: formOf(params) }))
  const answer = await answerOf(response)
  requireDescribed(params, answer)
  return answer
}

/** The value of a whole category is as the document describes it. */
function requireDescribed(
  { action = 'get', category, path }: Fields,
  { status, details, effective }: SettingsAnswer,
): void {
  const name = String(category)
  if (status !== 1 || action !== 'get' || !VALUES.has(name) || path !== undefined) return
  const schema = ref(`setting.${name}`)
  const values = [details, effective].filter((value) => value !== undefined && value !== null)
  for (const value of values) expect(documented.mismatches(schema, value)).toEqual([])
}

export async function answerOf(response: Response): Promise<SettingsAnswer> {
  const body = (await response.json()) as SettingsAnswer & {
    data?: { message: string }
    desc: string
  }
  const contentType = response.headers.get('content-type') ?? ''
  const sent = new URL(response.url).pathname
  requireDocumented({ method: 'POST', sent, status: response.status, contentType, body })
  const message = body.message ?? body.data?.message
  return { ...body, message, http: response.status, headers: response.headers }
}

/** Texts are sent unchanged, except data, which are JSON. */
function formOf(params: Fields): URLSearchParams {
  const pairs = Object.entries(params).map(([name, value]): [string, string] => [
    name,
    name !== 'data' && typeof value === 'string' ? value : JSON.stringify(value),
  ])
  return new URLSearchParams(pairs)
}
