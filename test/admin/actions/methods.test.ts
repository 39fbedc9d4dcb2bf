/** Each row of the interface that names a method and a path is described and served by it. */
import { expect, it } from 'vitest'
import { pathsOf } from '../../../src/admin/actions/action.ts'
import {
  type ActionRoutes,
  addActionRoutes,
  methodRefusal,
  readsOnly,
} from '../../../src/admin/actions/routes.ts'
import { ACTIONS } from '../../../src/admin/actions/table.ts'
import { type AdmitCall, addEntityApi } from '../../../src/admin/http/entity-routes.ts'
import { CatalogUnavailableError } from '../../../src/catalog/errors.ts'
import type { EntityApi } from '../../../src/entities/api.ts'
import { DEFINITIONS } from '../../../src/entities/definitions/collections.ts'
import { StoreDownError } from '../../../src/store/redis.ts'
import { bareServer } from '../../support/admin/bare.ts'
import { DOCUMENT } from '../../support/admin/openapi/answer-check.ts'

const ROWS = [
  ['GET', '/api'],
  ['POST', '/auth/login'],
  ['POST', '/auth/logout'],
  ['GET', '/auth/options'],
  ['POST', '/oauth2/token'],
  ['GET', '/api/reports'],
  ['POST', '/api/report'],
  ['POST', '/api/credit'],
  ['POST', '/api/bulkcredit'],
  ['POST', '/api/pay'],
  ['POST', '/api/bill'],
  ['POST', '/api/cards'],
  ['POST', '/api/adjustpayments'],
  ['POST', '/api/onetimeinvoice'],
  ['POST', '/api/accountinvoices'],
  ['GET', '/api/balance'],
  ['GET', '/api/datausage'],
  ['POST', '/api/activity'],
  ['POST', '/api/find'],
  ['POST', '/admin/save'],
  ['GET', '/api/rates'],
  ['GET', '/api/plans'],
  ['GET', '/api/remove'],
  ['GET', '/api/querybillrun'],
  ['POST', '/api/recreateinvoices'],
  ['POST', '/api/subscribers'],
  ['POST', '/api/subscribersautorenew'],
  ['POST', '/api/balances'],
  ['POST', '/api/statistics'],
] as const

const ACTION_AT = new Map(ACTIONS.flatMap((each) => pathsOf(each).map((path) => [path, each])))

it.each(ROWS)('%s %s is described', (method, path) => {
  const { get, post } = DOCUMENT.paths[path] ?? {}
  expect(method === 'GET' ? get : post).toBeDefined()
})

const SERVED = ROWS.flatMap(([method, path]) => {
  const action = ACTION_AT.get(path)
  return action === undefined ? [] : [{ method, path, action }]
})

it.each(SERVED)('$method $path is served', ({ method, action }) => {
  expect(methodRefusal(action, method)).toBeNull()
  expect(methodRefusal(action, 'POST')).toBeNull()
  expect(methodRefusal(action, 'DELETE')).toBe(`${action.name} must be sent by POST`)
})

it('a call that only reads is known, whatever its method', () => {
  const readers = (values: Record<string, string>) =>
    ACTIONS.filter((each) => readsOnly(each, new Map(Object.entries(values)))).map(
      ({ name }) => name,
    )
  const queries = ['subscribers', 'subscribersautorenew', 'balances', 'cards', 'statistics']
  const reads = ['bill', 'accountinvoices', 'activity', 'find', 'rates', 'plans', 'querybillrun']
  const writes = ['remove', 'credit', 'pay', 'save', 'recreateinvoices', 'onetimeinvoice']
  expect(readers({})).toEqual(expect.arrayContaining(reads))
  expect(readers({ method: 'query' })).toEqual(expect.arrayContaining([...reads, ...queries]))
  for (const name of [...queries, ...writes]) {
    expect(readers({})).not.toContain(name)
    expect(readers({ method: 'update' })).not.toContain(name)
  }
})

/** MongoDB is away, and so is whatever needs it. */
const away = new Proxy(
  {},
  {
    get() {
      throw new CatalogUnavailableError('MongoDB: no answer')
    },
  },
)

/** All actions and entities; the caller is known, unless Redis is away. */
function outage(isRedisAway: boolean) {
  const log = { error: () => undefined }
  const admit = async () => {
    if (isRedisAway) throw new StoreDownError('Redis: no answer')
    return { by: 'open', id: '', name: '', address: '', roles: ['admin'] }
  }
  return bareServer(
    (server) => {
      const call = async () => {
        throw new CatalogUnavailableError('MongoDB: no answer')
      }
      const actions = ACTIONS.map((each) => ({ ...each, call }))
      const deps = { actions, admit, log, catalog: away, clock: { nowMs: () => 0 } }
      addActionRoutes(server, deps as unknown as ActionRoutes)
      const stores = { config: { entities: { importBytesMax: 1 } } }
      const parts = { stores, fields: away }
      const api = { ...parts, batch: parts, recordActions: away } as unknown as EntityApi
      addEntityApi(server, api, admit as unknown as AdmitCall, log)
    },
    { connectionsPerAddressMax: CALLS.length, connectionsMax: CALLS.length },
  )
}

const ENTITY_READS = ['get', 'uniqueget', 'export']
const ENTITY_CALLS = [...DEFINITIONS.values()].flatMap(({ name, actions }) =>
  Object.keys(actions)
    .filter((action) => action !== 'import')
    .map((action) => ({
      path: `/billapi/${name}/${action}`,
      body: {},
      isRead: ENTITY_READS.includes(action),
    })),
)
const ACTION_CALLS = ACTIONS.map((action) => {
  const body = action.example.parameters
  const values = new Map(Object.entries(body))
  return { path: String(pathsOf(action)[0]), body, isRead: readsOnly(action, values) }
})
const CALLS = [...ACTION_CALLS, ...ENTITY_CALLS]

async function answersIn({ url }: { url: string }) {
  const found = CALLS.map(async ({ path, body, isRead }) => {
    const headers = { 'content-type': 'application/json' }
    const sent = { method: 'POST', headers, body: JSON.stringify(body) }
    const text = await (await fetch(url + path, sent)).text()
    const [outcome = text] = /is unavailable: [a-z ]+/.exec(text) ?? []
    return { path, isRead, outcome }
  })
  return Promise.all(found)
}

it('only an error of a call that can write says that a write may have been done', async () => {
  for (const { path, isRead, outcome } of await answersIn(await outage(false))) {
    const expected = isRead ? 'the request can be repeated' : 'a write may have been done'
    expect(outcome, path).toBe(`is unavailable: ${expected}`)
  }
})

it('nothing has been done while the caller is not known', async () => {
  for (const { path, outcome } of await answersIn(await outage(true))) {
    expect(outcome, path).toBe('is unavailable: the request can be repeated')
  }
})
