/** Processor time that one address without a session may cause; health and metrics are exempt. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { describe, expect, it } from 'vitest'
import { AnonymousWork, limitAnonymous } from '../../src/admin/anonymous-work.ts'
import { bareServer } from '../support/admin/bare.ts'

const ADDRESS = '192.0.2.1'

/** 100 ms per second, 3 seconds at once. */
function work() {
  const time = { nowMs: 0, activeMs: 0 }
  const limit = new AnonymousWork({
    percent: 10,
    nowMs: () => time.nowMs,
    activeMs: () => time.activeMs,
  })
  const spend = (ms: number, address = ADDRESS) => {
    const end = limit.begin(address)
    if (typeof end === 'number') return end
    time.activeMs += ms
    end(true)
    return 0
  }
  return { time, limit, spend }
}

describe('the processor time of an address', () => {
  it('is what the process works while its requests are under way, and returns with time', () => {
    const { time, spend } = work()
    for (let index = 0; index < 30; index += 1) expect(spend(100)).toBe(0)
    const waitMs = spend(100)
    expect(waitMs).toBeGreaterThan(0)
    time.nowMs += waitMs - 1
    expect(spend(100)).toBeGreaterThan(0)
    time.nowMs += 1
    expect(spend(100)).toBe(0)
    expect(spend(100)).toBeGreaterThan(0)
  })

  it('does not count work of others while it asks for nothing, nor a request twice', () => {
    const { time, limit, spend } = work()
    time.activeMs += 1_000_000
    const ends = [limit.begin(ADDRESS), limit.begin(ADDRESS)]
    time.activeMs += 100
    for (const end of ends) if (typeof end !== 'number') end(true)
    for (let index = 0; index < 29; index += 1) expect(spend(100)).toBe(0)
    expect(spend(1)).toBeGreaterThan(0)
  })

  it('counts work of others during a request up to a limit, which routes may lower', () => {
    const { time, limit, spend } = work()
    for (let index = 0; index < 30; index += 1) expect(spend(10_000)).toBe(0)
    expect(spend(100)).toBeGreaterThan(0)
    const notify = () => {
      const end = limit.begin('192.0.2.2', { loopMsMax: 10 })
      if (typeof end === 'number') return false
      time.activeMs += 10_000
      end(true)
      return true
    }
    expect(Array.from({ length: 301 }, notify).filter(Boolean)).toHaveLength(300)
  })

  it('counts all the work of requests that end at once', () => {
    const { time, limit, spend } = work()
    const ends = Array.from({ length: 29 }, () => limit.begin(ADDRESS))
    time.activeMs += 2_900
    for (const end of ends) if (typeof end !== 'number') end(true)
    expect(spend(100)).toBe(0)
    expect(spend(1)).toBeGreaterThan(0)
  })

  it('does not count requests whose callers turn out to have a signature', () => {
    const { time, limit, spend } = work()
    for (let index = 0; index < 100; index += 1) {
      const end = limit.begin(ADDRESS)
      time.activeMs += 100
      if (typeof end !== 'number') end(false)
    }
    for (let index = 0; index < 30; index += 1) expect(spend(100)).toBe(0)
    expect(spend(100)).toBeGreaterThan(0)
  })

  it('has room for requests under way whose work is not known yet', () => {
    const { limit } = work()
    const begun = Array.from({ length: 400 }, () => limit.begin(ADDRESS))
    const admitted = begun.filter((end) => typeof end !== 'number')
    expect(admitted.length).toBe(300)
    for (const end of admitted) (end as (isCharged: boolean) => void)(true)
    expect(limit.begin(ADDRESS)).not.toBeTypeOf('number')
  })

  it('is that of an IPv6 network: a /64, twice for a /56, four times for a /48', () => {
    const { spend } = work()
    const spendAll = (address: string) => {
      let count = 0
      while (count < 1_000 && spend(100, address) === 0) count += 1
      return count
    }
    expect(spendAll('2001:db8:0:1::1')).toBe(30)
    expect(spendAll('2001:db8:0:1::2')).toBe(0)
    expect(spendAll('2001:db8:0:2::1')).toBe(30)
    expect(spendAll('2001:db8:0:3::1')).toBe(0)
    expect(spendAll('2001:db8:0:101::1')).toBe(30)
    expect(spendAll('192.0.2.9')).toBe(30)
  })

  it('is forgotten when it is unused', () => {
    const { time, limit, spend } = work()
    for (let index = 0; index < 20_000; index += 1) {
      spend(1, `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`)
      time.nowMs += 100
    }
    expect(limit.size).toBeLessThan(11_000)
  })

  it('is not forgotten because many others use little', () => {
    const { limit, spend } = work()
    while (spend(100) === 0) {}
    for (let index = 0; index < 20_000; index += 1) {
      spend(1, `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`)
    }
    expect(limit.size).toBeLessThan(11_000)
    expect(spend(100)).toBeGreaterThan(0)
  })
})

describe('an address that has used its time', () => {
  const names = { admitted: 'x-user' }

  async function start() {
    const time = { nowMs: 0, activeMs: 0 }
    const served = { costly: 0 }
    const { url } = await bareServer((server: FastifyInstance) => {
      server.decorateRequest('caller', null)
      server.addHook('onRequest', async (request: FastifyRequest) => {
        if (request.headers[names.admitted] !== undefined) request.caller = {} as never
      })
      const clocks = { nowMs: () => time.nowMs, activeMs: () => time.activeMs }
      limitAnonymous(server, { percent: 10, ...clocks }, async ({ headers }) => {
        if (headers.cookie === 'broken') throw new Error('Redis is away')
        return headers.cookie === 'session'
      })
      const config = { access: 'public' } as const
      server.get('/costly', { config }, async () => {
        served.costly += 1
        time.activeMs += 100
        return 'done'
      })
      server.post('/login', { config: { ...config, poolMs: 50 } }, async () => 'wrong')
      server.get('/signed', { config }, async (request) => {
        request.caller = {} as never
        time.activeMs += 100
        return 'signed'
      })
      server.get('/health/live', { config: { ...config, inReserve: true } }, async () => 'live')
    })
    const ask = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
      const response = await fetch(`${url}${path}`, { headers, method })
      const text = await response.text()
      return { status: response.status, wait: response.headers.get('retry-after'), text }
    }
    return { time, served, ask }
  }

  it('is refused by 429 with the time to wait, while health and callers are served', async () => {
    const { time, served, ask } = await start()
    const client = async () => {
      const answers = []
      for (let index = 0; index < 20; index += 1) answers.push(await ask('/costly'))
      return answers
    }
    const all = (await Promise.all(Array.from({ length: 12 }, client))).flat()
    const refused = all.filter(({ status }) => status === 429)
    expect(served.costly).toBe(240 - refused.length)
    // It gets 3 of the 24 seconds of work, and what was under way by then.
    expect(served.costly).toBeLessThanOrEqual(30 + 12)
    expect(Number(refused[0]?.wait)).toBeGreaterThan(0)
    expect(JSON.parse(refused[0]?.text ?? '')).toMatchObject({ status: 0, code: 429 })
    expect((await ask('/health/live')).status).toBe(200)
    expect((await ask('/costly', { [names.admitted]: '1' })).status).toBe(200)
    expect((await ask('/costly', { cookie: 'session' })).status).toBe(200)
    for (const cookie of ['made-up', 'broken']) {
      expect((await ask('/costly', { cookie })).status).toBe(429)
    }
    time.nowMs += 1000 * Number((await ask('/costly')).wait)
    expect((await ask('/costly')).status).toBe(200)
  })

  it('is not one whose requests are signed', async () => {
    const { ask } = await start()
    for (let index = 0; index < 40; index += 1) expect((await ask('/signed')).status).toBe(200)
    expect((await ask('/costly')).status).toBe(200)
  })

  it('pays for passwords, which threads compare', async () => {
    const { ask } = await start()
    const answers = []
    for (let index = 0; index < 62; index += 1) answers.push(await ask('/login', {}, 'POST'))
    expect(answers.map(({ status }) => status)).toEqual([...Array(60).fill(200), 429, 429])
  })
})
