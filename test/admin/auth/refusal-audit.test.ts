import { describe, expect, it } from 'vitest'
import {
  addUser,
  logIn,
  PASSWORD,
  setSecurity,
  USER,
  useAuth,
} from '../../support/admin/auth/login-server.ts'

const auth = useAuth()
const LOCKOUT = { attempts: 3, seconds: 30, seconds_max: 100 }

/** A server whose requests come from an address that the test sets. */
async function from(address: string) {
  await addUser(auth.catalog())
  await setSecurity(auth.catalog(), { lockout: LOCKOUT })
  const at = { address }
  return { at, world: auth.server({ addressOf: () => at.address }) }
}

describe('the audit of refusals', () => {
  const failed = () => auth.catalog().audit.find({ type: 'login_failed' }).toArray()

  it('has one record per user, address and hour, with a count, and so does the log', async () => {
    const { world, at } = await from('10.0.0.1')
    for (let tries = 0; tries < 8; tries += 1) await logIn(world, USER, 'wrong one')
    at.address = '10.0.0.2'
    await logIn(world, USER, 'wrong one')
    expect(await failed()).toMatchObject([
      {
        key: `login_${USER}`,
        ip: '10.0.0.1',
        user: { name: USER },
        new: { reason: 'wrong' },
        count: 8,
        reasons: { wrong: 3, locked: 5 },
        last: new Date(world.now()),
      },
      { ip: '10.0.0.2', count: 1, reasons: { wrong: 1 } },
    ])
    expect(world.logged().match(/login refused/g)).toHaveLength(2)
    world.pass(3_600_000)
    await logIn(world, USER, 'wrong one')
    expect(await failed()).toHaveLength(3)
    expect(world.logged()).toContain('"reasons":{"wrong":3,"locked":5},"count":8')
  })

  it('has one record of all unknown names, without the names', async () => {
    const { world } = await from('10.0.0.1')
    const names = Array.from({ length: 5 }, (_, index) => `${PASSWORD} ${index}`)
    await Promise.all(names.map((name) => logIn(world, name, 'wrong one')))
    const records = await failed()
    expect(records).toMatchObject([{ key: 'login_(unknown)', user: { name: '' }, count: 5 }])
    expect(JSON.stringify(records) + world.logged()).not.toContain(PASSWORD)
  })

  it('counts concurrent refusals', async () => {
    const { world } = await from('10.0.0.1')
    await Promise.all(Array.from({ length: 40 }, () => logIn(world, USER, 'wrong one')))
    const [record] = await failed()
    expect(record?.count).toBe(40)
  })
})
