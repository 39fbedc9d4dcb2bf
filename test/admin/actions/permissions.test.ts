/** The role that each action needs, as clients know it; `admin` is always sufficient. */
import { expect, it } from 'vitest'
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
  querybillrun: 'read',
  reports: 'read,write,reports',
  report: 'write,reports',
  'billrun/completecycle': 'admin',
  'billrun/specificcycle': 'admin',
  'billrun/confirmcycle': 'admin',
  'billrun/resetcycle': 'admin',
  'billrun/cycles': 'read',
  'billrun/cycle': 'read',
  'billrun/chargestatus': 'read',
}
const ROLES = ['-', 'reports', 'read', 'write', 'read,write', 'admin']
const LACKING = 17575
const LOGGED_OUT = 17574

const api = useActionServer(ACTIONS)

it('has a level for each action', () => {
  const names = ACTIONS.map((action) => String(pathsOf(action)[0]).slice(1).replace('api/', ''))
  expect(names.sort()).toEqual(Object.keys(LEVELS).sort())
})

it.each(ROLES)('is enforced for %s', async (role) => {
  const found: Record<string, string> = {}
  const wanted: Record<string, string> = {}
  for (const [name, level] of Object.entries(LEVELS)) {
    const { code } = await api.ask(name, {}, { role })
    found[name] = code === LOGGED_OUT ? 'nobody' : code === LACKING ? 'refused' : 'in'
    const roles = role.split(',')
    const isIn = roles.includes('admin') || level.split(',').some((each) => roles.includes(each))
    wanted[name] = role === '-' ? 'nobody' : isIn ? 'in' : 'refused'
  }
  expect(found).toEqual(wanted)
})
