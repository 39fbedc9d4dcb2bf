/** Each row of the interface that names a method and a path is described and served by it. */
import { expect, it } from 'vitest'
import { pathsOf } from '../../../src/admin/actions/action.ts'
import { methodRefusal, readsOnly } from '../../../src/admin/actions/routes.ts'
import { ACTIONS } from '../../../src/admin/actions/table.ts'
import { DOCUMENT } from '../../support/admin/entities/openapi/answer-check.ts'

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
