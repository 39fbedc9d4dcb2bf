/** `GET /auth/login`: the user, the end of the session, and what the user may do. */
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/load.ts'
import { clockWith, createOffset } from '../../../src/runtime/clock.ts'
import {
  addUser,
  BEGIN_MS,
  cookieOf,
  MINUTE_MS,
  post,
  setSecurity,
  USER,
  useAuth,
  who,
} from '../../support/identity/login-server.ts'

const auth = useAuth()

describe('the current session', () => {
  it('can be read without credentials, by GET and by POST', async () => {
    await addUser(auth.catalog())
    const world = auth.server()
    const cookie = await cookieOf(world)
    const details = { user: USER, permissions: ['read', 'write'], protocol: 'Internal' }
    for (const { body } of [await who(world, cookie), await post(world, 'login', {}, cookie)]) {
      expect(body).toMatchObject({ status: 1, details, input: {} })
    }
    const desc = 'nobody is logged in'
    const errors = [{ path: '', code: 'not_logged_in', why: desc }]
    const nobody = { status: 0, code: 17_574, desc, details: false, input: {}, errors }
    const unknown = await who(world, 'x'.repeat(43))
    for (const { http, body } of [await who(world, null), unknown, await post(world, 'login')]) {
      expect([http, body]).toEqual([200, nobody])
    }
  })

  it('says when it ends; reading it is use of it', async () => {
    await addUser(auth.catalog())
    await setSecurity(auth.catalog(), { session: { idle_minutes: 30, absolute_minutes: 60 } })
    const world = auth.server()
    const cookie = await cookieOf(world)
    const ends = async () => {
      const { details } = (await who(world, cookie)).body
      const { idle_end: idle, absolute_end: absolute } = details as Record<string, string>
      return [idle, absolute].map((at) => (Date.parse(at ?? '') - BEGIN_MS) / MINUTE_MS)
    }
    expect(await ends()).toEqual([30, 60])
    world.pass(14 * MINUTE_MS)
    expect(await ends()).toEqual([44, 60])
  })

  it('says what the user may do, by the rules of the operator', async () => {
    await addUser(auth.catalog(), { roles: ['read'] })
    const rules = [{ collection: 'rates', actions: ['get'], roles: ['pricing'] }]
    const stored = { rev: 1, value: { rules }, changed: new Date(0), changed_by: 'test' }
    await auth.catalog().config.insertOne({ _id: 'permissions', ...stored } as never)
    const world = auth.server()
    const { body } = await who(world, await cookieOf(world))
    const { actions } = body.details as { actions: Record<string, unknown> }
    expect(actions).toMatchObject({
      'accounts/get': { permitted: true, roles: ['read', 'admin'] },
      'accounts/update': { permitted: false, roles: ['write', 'admin'] },
      'rates/get': { permitted: false, roles: ['pricing', 'admin'], usual: ['read', 'admin'] },
      'api/search': { permitted: true },
      'api/releasesessions': { permitted: false, roles: ['write', 'admin'] },
      'billrun/completecycle': { permitted: false },
      'settings/get': { permitted: true, roles: ['read', 'admin'], fixed: true },
      'settings/set': { permitted: false, roles: ['admin'], fixed: true },
    })
  })

  it.each([
    ['978', 'EUR'],
    ['999', null],
  ])('says that the currency %s is %s', async (TOLLGATE_RATING_CURRENCY_CODE, currency) => {
    await addUser(auth.catalog())
    const config = loadConfig({ env: { TOLLGATE_RATING_CURRENCY_CODE } })
    const world = auth.server({ deps: { config } })
    const { body } = await who(world, await cookieOf(world))
    expect(body.details).toMatchObject({ currency })
  })

  it('says which clock the installation has, if it is not the real one', async () => {
    await addUser(auth.catalog())
    const config = loadConfig({ env: { TOLLGATE_CLOCK_TEST: 'true' } })
    const aheadMs = -30 * 24 * 60 * MINUTE_MS
    const offset = createOffset(aheadMs)
    const tested = auth.server({
      deps: { config, installationClock: clockWith(offset, { nowMs: () => BEGIN_MS }) },
    })
    const clock = { now: new Date(BEGIN_MS + aheadMs).toISOString(), ahead_ms: aheadMs, test: true }
    expect((await who(tested, await cookieOf(tested))).body.details).toMatchObject({ clock })
    const real = auth.server()
    expect((await who(real, await cookieOf(real))).body.details).toMatchObject({ clock: null })
  })

  it('permits nothing before the password is changed', async () => {
    await addUser(auth.catalog(), { roles: ['admin'], must_change_password: true })
    const world = auth.server()
    const { body } = await who(world, await cookieOf(world))
    const { actions } = body.details as { actions: Record<string, { permitted: boolean }> }
    expect(Object.values(actions).some(({ permitted }) => permitted)).toBe(false)
  })

  it('gets a new cookie when its rotation is due', async () => {
    await addUser(auth.catalog())
    const world = auth.server()
    const cookie = await cookieOf(world)
    world.pass(15 * 60_000)
    const renewed = (await who(world, cookie)).cookie
    expect(renewed).toMatch(/^[\w-]{43}$/)
    expect((await who(world, renewed)).body.status).toBe(1)
  })
})
