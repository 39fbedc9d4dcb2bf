/** Permissions for moving the clock, and logins that a move must keep. */
import { beforeAll, describe, expect, it } from 'vitest'
import { ObjectId } from '../../../src/catalog/collections.ts'
import { PASSWORDS } from '../../../src/identity/passwords.ts'
import { START_MS, useClockServer } from '../../support/admin/clock-server.ts'

const DAY_MS = 86_400_000
const PASSWORD = 'correct horse battery staple'
const world = useClockServer({
  TOLLGATE_ADMIN_OPEN_TO: 'nobody',
  // The event loop does the work of the tests, too.
  TOLLGATE_ADMIN_ANONYMOUS_PERCENT: '100',
  // Nothing is due in ten years.
  TOLLGATE_AUDIT_KEEP_DAYS: '0',
})

async function addUser(username: string, roles: readonly string[]): Promise<void> {
  await world.stores().catalog.users.insertOne({
    _id: new ObjectId(),
    rev: 1,
    username,
    password: await PASSWORDS.hash(PASSWORD),
    roles: [...roles],
    // As the entity API creates it: by the clock of the installation.
    from: new Date(world.clock.nowMs() - 1_000),
    to: new Date('2170-01-01'),
    creation_time: new Date(START_MS),
  } as never)
}

async function cookieOf(username: string): Promise<string> {
  const body = new URLSearchParams({ username, password: PASSWORD })
  const response = await fetch(`${world.url}/auth/login`, { method: 'POST', body })
  const cookie = response.headers.getSetCookie()[0]?.split(';')[0]
  if (cookie === undefined) throw new Error(`no cookie: ${await response.text()}`)
  return cookie
}

const to = () => new Date(world.clock.nowMs() + DAY_MS).toISOString()

async function show(cookie: string): Promise<{ status: number; now: string | undefined }> {
  const response = await fetch(`${world.url}/api/clock`, { headers: { cookie } })
  const body = (await response.json()) as { status: number; details?: { now: string } }
  return { status: body.status, now: body.details?.now }
}

describe('moving the clock', () => {
  beforeAll(async () => {
    await addUser('reader', ['read', 'write'])
    await addUser('boss', ['admin'])
  })

  it('takes a login', async () => {
    const { status, message } = await world.post({ to: to() })
    expect(status).toBe(0)
    expect(message).toMatch(/log in/i)
  })

  it('takes the role admin; reading it takes read', async () => {
    const cookie = await cookieOf('reader')
    const before = world.clock.ahead
    const { status, message } = await world.post({ to: to() }, { cookie })
    expect([status, message]).toEqual([0, expect.stringMatching(/^No permission/)])
    expect(world.clock.ahead).toBe(before)
    expect((await show(cookie)).status).toBe(1)
  })

  it('ends no login, and reaches beyond the real time', async () => {
    const cookie = await cookieOf('boss')
    for (let step = 0; step < 2; step += 1) {
      const next = new Date(world.clock.nowMs() + 5 * 365 * DAY_MS).toISOString()
      expect(await world.post({ to: next }, { cookie })).toMatchObject({ http: 200, status: 1 })
    }
    expect((await show(cookie)).status).toBe(1)
  })

  it('lets in users who were created by the clock, wherever it is', async () => {
    await addUser('later', ['read'])
    expect((await show(await cookieOf('later'))).status).toBe(1)
    expect((await show(await cookieOf('reader'))).status).toBe(1)
  })
})
