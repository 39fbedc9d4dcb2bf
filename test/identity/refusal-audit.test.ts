import { describe, expect, it, vi } from 'vitest'
import { createAuthGuard } from '../../src/admin/auth/auth-guard.ts'
import type { Actor } from '../../src/catalog/actor.ts'
import type { Audit } from '../../src/catalog/audit/audit.ts'
import { createRefusalAudit } from '../../src/identity/refusal-audit.ts'
import {
  addUser,
  logIn,
  PASSWORD,
  setSecurity,
  USER,
  useAuth,
} from '../support/identity/login-server.ts'
import { silent } from '../support/recorder/accounts.ts'

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

const READER = { by: 'session', id: '7', name: 'ada', address: '192.0.2.1' } as const
const BEGIN_MS = Date.UTC(2026, 5, 15, 12)

function openAudit() {
  let nowMs = BEGIN_MS
  const written: { key: string; name: string; reasons: Readonly<Record<string, number>> }[] = []
  const seeds = new Set<string>()
  const audit: Pick<Audit, 'tally'> = {
    async tally({ name }, _, { key }, { seed, reasons }) {
      written.push({ key, name, reasons })
      seeds.add(seed)
      return true
    },
  }
  const deps = { audit, clock: { nowMs: () => nowMs }, log: silent }
  const period = { periodMs: 60_000, message: null, recordsMax: 200 }
  const { record, close } = createRefusalAudit(deps, period)
  const note = (actor: Actor, key: string, reason: string) => {
    const entry = { collection: 'access', type: 'refused', key }
    void record({ entry, actor, account: `${actor.id} ${key}`, reason })
  }
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { note, close, written, seeds, audit, pass }
}

describe('the audit of refused authorisations', () => {
  it('has one record per caller, source, route and minute, with a count', async () => {
    const { note, close, written, seeds, pass } = openAudit()
    for (let tries = 0; tries < 40; tries += 1) note(READER, 'taxes/create', 'role')
    note(READER, 'taxes/create', 'duty')
    note({ ...READER, address: '192.0.2.99' }, 'taxes/create', 'duty')
    note({ ...READER, id: '8', name: 'bob' }, 'taxes/create', 'role')
    note(READER, 'GET /metrics', 'role')
    expect(written).toEqual([])
    pass(60_000)
    note(READER, 'taxes/create', 'role')
    await close()
    expect(written).toEqual([
      { key: 'taxes/create', name: 'ada', reasons: { role: 40, duty: 1 } },
      { key: 'taxes/create', name: 'ada', reasons: { duty: 1 } },
      { key: 'taxes/create', name: 'bob', reasons: { role: 1 } },
      { key: 'GET /metrics', name: 'ada', reasons: { role: 1 } },
      { key: 'taxes/create', name: 'ada', reasons: { role: 1 } },
    ])
    expect(seeds.size).toBe(5)
  })

  it('counts the refusals of further callers in one record', async () => {
    const { note, close, written } = openAudit()
    for (let id = 0; id < 5000; id += 1) {
      note({ ...READER, id: `${id}` }, 'taxes/create', 'role')
    }
    await close()
    expect(written).toHaveLength(201)
    expect(written.at(-1)).toEqual({ key: '(others)', name: '', reasons: { role: 4800 } })
  })

  it('is written after its minute without a further refusal, also by a late clock', async () => {
    vi.useFakeTimers()
    try {
      const { note, written, pass } = openAudit()
      note(READER, 'taxes/create', 'role')
      pass(59_999)
      await vi.advanceTimersByTimeAsync(60_000)
      expect(written).toEqual([])
      pass(1)
      await vi.advanceTimersByTimeAsync(1)
      expect(written).toHaveLength(1)
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  it('loses a minute that cannot be written, and says so', async () => {
    const { note, close, audit, written } = openAudit()
    const tally = vi.spyOn(audit, 'tally').mockRejectedValueOnce(new Error('down'))
    note(READER, 'taxes/create', 'role')
    note(READER, 'taxes/update', 'role')
    await close()
    expect(tally).toHaveBeenCalledTimes(2)
    expect(written).toMatchObject([{ key: 'taxes/update' }])
  })
})

describe('the guard', () => {
  const record = vi.fn()
  const guard = createAuthGuard({
    admin: { host: '0.0.0.0', openTo: 'nobody' },
    token: async (token: unknown) =>
      token === 'good' ? { name: 'crm', roles: ['read'], user: null } : null,
    signature: async () => 'absent',
    session: async () => null,
    look: async () => null,
    denied: { record },
  } as never)
  const admit = async (authorization: string | undefined, sent: [string, string][] = []) => {
    record.mockClear()
    const request = {
      headers: { authorization },
      url: '/metrics?x=1',
      method: 'GET',
      ip: '192.0.2.1',
      routeOptions: { url: '/metrics', config: {} },
      caller: null,
      refusal: null,
    }
    const failed = await guard
      .admit(request as never, new Map(sent) as never, ['admin'])
      .catch((error: Error) => error.name)
    const noted = record.mock.calls.map(([{ actor, entry, reason }]) => [actor, entry.key, reason])
    return [failed, ...noted]
  }

  it('notes a refused token and a missing role, but no request without credentials', async () => {
    const unknown = { by: 'token', id: '', name: '', address: '192.0.2.1' }
    expect(await admit(undefined)).toEqual(['NotLoggedInError'])
    expect(await admit(undefined, [['access_token', 'bad']])).toEqual([
      'InvalidTokenError',
      [unknown, 'GET /metrics', 'credentials'],
    ])
    expect(await admit(undefined, [['access_token', 'good']])).toEqual([
      'NotAllowedError',
      [expect.objectContaining({ id: 'crm', name: 'crm' }), 'GET /metrics', 'role'],
    ])
  })
})
