/** The role that each action needs, as clients know it; `admin` is always sufficient. */
import { describe, expect, it } from 'vitest'
import { pathsOf } from '../../../src/admin/actions/action.ts'
import { ACTIONS } from '../../../src/admin/actions/table.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'

/** Separated by commas if one of several is sufficient. */
const LEVELS: Readonly<Record<string, string>> = {
  credit: 'write',
  bulkcredit: 'admin',
  pay: 'write',
  bill: 'read',
  adjustpayments: 'write',
  reject: 'write',
  accountinvoices: 'read',
  cards: 'write',
  charge: 'admin',
  charges: 'admin',
  chargestatus: 'read',
  onetimeinvoice: 'write',
  generateexpected: 'read',
  recreateinvoices: 'write',
  clearcache: 'write',
  querybillrun: 'read',
  reports: 'read,write,reports',
  report: 'write,reports',
  'billrun/completecycle': 'admin',
  'billrun/pausecycle': 'admin',
  'billrun/retryparked': 'admin',
  'billrun/skipparked': 'admin',
  'billrun/specificcycle': 'admin',
  'billrun/confirmcycle': 'admin',
  'billrun/resetcycle': 'admin',
  'billrun/cycles': 'read',
  'billrun/cycle': 'read',
  'billrun/preview': 'read',
  'billrun/chargestatus': 'read',
  operations: 'read',
  search: 'read',
  usedby: 'read',
  sessions: 'read',
  releasesessions: 'write',
  quote: 'read',
  filetypes: 'read',
  filetypecheck: 'read',
  rerate: 'admin',
  rerates: 'read',
  resetlines: 'write',
  lines: 'write',
  linesfiles: 'read',
  linesrejected: 'read',
  linesresubmit: 'write',
  linesdrop: 'write',
  tariffs: 'read',
  tariffsprepare: 'write',
  tariffscheck: 'write',
  tariffsschedule: 'write',
  tariffscancel: 'write',
  tariffsrollback: 'write',
  balance: 'read',
  datausage: 'read',
  activity: 'read',
  find: 'read',
  'admin/save': 'write',
  rates: 'read',
  plans: 'read',
  remove: 'write',
  // The operation decides (below).
  subscribers: 'read,write',
  balances: 'read,write',
  subscribersautorenew: 'read,write',
  statistics: 'write',
}
const ROLES = ['-', 'reports', 'read', 'write', 'read,write', 'admin']
const LACKING = 17575
const LOGGED_OUT = 17574

const api = useActionServer(ACTIONS, {}, { hasLedger: true })

it('has a level for each action', () => {
  const names = ACTIONS.map((action) => String(pathsOf(action)[0]).slice(1).replace('api/', ''))
  expect(names.sort()).toEqual(Object.keys(LEVELS).sort())
})

it.each(ROLES)('calls are allowed or refused by the role %s', async (role) => {
  const found: Record<string, string> = {}
  const expected: Record<string, string> = {}
  for (const [name, level] of Object.entries(LEVELS)) {
    const { code } = await api.ask(name, {}, { role })
    found[name] = code === LOGGED_OUT ? 'nobody' : code === LACKING ? 'refused' : 'in'
    const roles = role.split(',')
    const isIn = roles.includes('admin') || level.split(',').some((each) => roles.includes(each))
    expected[name] = role === '-' ? 'nobody' : isIn ? 'in' : 'refused'
  }
  expect(found).toEqual(expected)
})

describe('a call that the entity API executes', () => {
  const query = JSON.stringify({ sid: 7 })
  it.each([
    ['subscribers', { method: 'query', query }, ['read'], ['write', 'reports']],
    ['subscribers', { method: 'update', query }, ['write'], ['read', 'reports']],
    ['subscribers', { method: 'delete', query }, ['write'], ['read', 'reports']],
    ['balances', { method: 'query', sid: 7 }, ['read'], ['write', 'reports']],
    ['balances', { method: 'update', sid: 7 }, ['write'], ['read', 'reports']],
    ['subscribersautorenew', { method: 'query', query }, ['read'], ['write', 'reports']],
    ['subscribersautorenew', { method: 'update', query }, ['write'], ['read', 'reports']],
    ['subscribersautorenew', { method: 'bydelta', sid: 7 }, ['write'], ['read', 'reports']],
    ['find', { collection: 'plans' }, ['read'], ['write', 'reports']],
    ['admin/save', { coll: 'rates', type: 'new' }, ['write'], ['read', 'reports']],
  ])('%s %j needs what that API needs', async (name, params, permitted, refused) => {
    for (const role of permitted) {
      expect((await api.ask(name, params, { role }))['code']).not.toBe(LACKING)
    }
    for (const role of refused) {
      expect((await api.ask(name, params, { role }))['code'], role).toBe(LACKING)
    }
  })
})
