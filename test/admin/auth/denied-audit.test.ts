import { describe, expect, it, vi } from 'vitest'
import { createAuthGuard } from '../../../src/admin/auth/auth-guard.ts'
import { createDeniedAudit } from '../../../src/admin/auth/denied-audit.ts'
import type { Audit } from '../../../src/catalog/audit/audit.ts'
import { silent } from '../../support/recorder/accounts.ts'

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
  const denied = createDeniedAudit({ audit, clock: { nowMs: () => nowMs }, log: silent })
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { denied, written, seeds, audit, pass }
}

describe('the audit of refused authorisations', () => {
  it('has one record per caller, route and minute, with a count', async () => {
    const { denied, written, seeds, pass } = openAudit()
    for (let tries = 0; tries < 40; tries += 1) denied.note(READER, 'taxes/create', 'role')
    denied.note({ ...READER, address: '192.0.2.99' }, 'taxes/create', 'duty')
    denied.note({ ...READER, id: '8', name: 'bob' }, 'taxes/create', 'role')
    denied.note(READER, 'GET /metrics', 'role')
    expect(written).toEqual([])
    pass(60_000)
    denied.note(READER, 'taxes/create', 'role')
    await denied.close()
    expect(written).toEqual([
      { key: 'taxes/create', name: 'ada', reasons: { role: 40, duty: 1 } },
      { key: 'taxes/create', name: 'bob', reasons: { role: 1 } },
      { key: 'GET /metrics', name: 'ada', reasons: { role: 1 } },
      { key: 'taxes/create', name: 'ada', reasons: { role: 1 } },
    ])
    expect(seeds.size).toBe(4)
  })

  it('counts the refusals of further callers in one record', async () => {
    const { denied, written } = openAudit()
    for (let id = 0; id < 5000; id += 1) {
      denied.note({ ...READER, id: `${id}` }, 'taxes/create', 'role')
    }
    await denied.close()
    expect(written).toHaveLength(201)
    expect(written.at(-1)).toEqual({ key: '(others)', name: '', reasons: { role: 4800 } })
  })

  it('is written after its minute without a further refusal, also by a late clock', async () => {
    vi.useFakeTimers()
    try {
      const { denied, written, pass } = openAudit()
      denied.note(READER, 'taxes/create', 'role')
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
    const { denied, audit, written } = openAudit()
    const tally = vi.spyOn(audit, 'tally').mockRejectedValueOnce(new Error('down'))
    denied.note(READER, 'taxes/create', 'role')
    denied.note(READER, 'taxes/update', 'role')
    await denied.close()
    expect(tally).toHaveBeenCalledTimes(2)
    expect(written).toMatchObject([{ key: 'taxes/update' }])
  })
})

describe('the guard', () => {
  const note = vi.fn()
  const guard = createAuthGuard({
    admin: { host: '0.0.0.0', openTo: 'nobody' },
    token: async (token: unknown) =>
      token === 'good' ? { name: 'crm', roles: ['read'], user: null } : null,
    signature: async () => 'absent',
    session: async () => null,
    look: async () => null,
    denied: { note },
  } as never)
  const admit = async (authorization: string | undefined, sent: [string, string][] = []) => {
    note.mockClear()
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
    return [failed, ...note.mock.calls]
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
