/**
 * Outages of Redis (the outage matrix of docs/OPERATING.md). ../live.test.ts covers single requests
 * to a Redis that is killed or stopped.
 */
// covers: src/store/redis.ts src/store/redis-options.ts src/ledger/epochs.ts
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FIRST_SID } from '../../support/product/population.ts'
import type { Reply } from '../../support/system/exchange.ts'
import {
  DOWN,
  expectNoLeak,
  GRANTED,
  MIB,
  money,
  openFiles,
  session,
  useNodeBehind,
} from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'

const { node, proxy } = useNodeBehind('redis', 60)

const configure = (name: string, value: string) =>
  node().reader.ledger.redis.client.config('SET', name, value)
const logOf = (role: string) => readFileSync(join(node().product.folder, `${role}.log`), 'utf8')
const sessionsOf = (name: string, from: number, count: number) =>
  Array.from({ length: count }, (_, index) => {
    const sid = FIRST_SID + from + index
    return session(`${name}-${sid}`, sid)
  })
const codes = (replies: readonly Reply[]) => [...new Set(replies.map((one) => one.returnCode))]

describe('a Redis that is killed under load', () => {
  it('repeatedly leaves no socket and no reservation behind', async () => {
    const { product, send, insist, moneyOf } = node()
    const sessions = sessionsOf('killed', 0, 20)
    const started = await Promise.all(sessions.map((one) => send(one.start())))
    expect(codes(started)).toEqual([1])
    const files = openFiles(product.pid('realtime'))
    for (let round = 1; round <= 3; round += 1) {
      const updates = sessions.map((one) => insist(one.update(round)))
      await product.kill9('redis')
      expect(await send(sessions[0]?.update(round) ?? {})).toMatchObject({ status: 503 })
      await product.start('redis')
      expect(codes(await Promise.all(updates))).toEqual([1])
    }
    for (const one of sessions) expect(await moneyOf(one.sid)).toEqual(money(3, 1))
    expect(codes(await Promise.all(sessions.map((one) => insist(one.release(4)))))).toEqual([1])
    for (const one of sessions) expect(await moneyOf(one.sid)).toEqual(money(4, 0))
    await expectNoLeak(product.pid('realtime'), files)
  })
})

describe('a full Redis', () => {
  it('is an outage that moves nothing; with free memory everything continues', async () => {
    const { send, insist, moneyOf } = node()
    const [first, second] = sessionsOf('full', 20, 2)
    if (first === undefined || second === undefined) throw new Error('no sessions')
    expect(await send(first.start())).toMatchObject(GRANTED)
    const granted = await send(first.update(1))
    await configure('maxmemory', '1')
    try {
      for (const body of [first.update(2), first.release(3)]) {
        expect(await send(body)).toMatchObject(DOWN)
      }
      // A check of the memory at this moment may refuse first: -90 instead of -91.
      for (const body of [second.start(), second.event()]) {
        expect((await send(body)).status).toBe(503)
      }
      // Requests that need no memory are still answered.
      expect((await send(first.update(1))).text).toBe(granted.text)
      expect(await moneyOf(first.sid)).toEqual(money(1, 1))
      expect(await moneyOf(second.sid)).toEqual(money(0, 0))
    } finally {
      await configure('maxmemory', '0')
    }
    expect(await insist(first.update(2))).toMatchObject({ ...GRANTED, grantedVolume: MIB })
    expect(await insist(second.start())).toMatchObject(GRANTED)
    expect(await insist(first.release(3))).toMatchObject(GRANTED)
    expect(await insist(second.release(1))).toMatchObject(GRANTED)
    expect(await moneyOf(first.sid)).toEqual(money(3, 0))
    expect(await moneyOf(second.sid)).toEqual(money(1, 0))
  })
})

describe('a Redis that would evict', () => {
  const healthOf = async (url: string) => (await fetch(`${url}/health/ready`)).text()

  it('is detected while it runs: an error in the log, not ready; charging continues', async () => {
    const { product, send, insist, moneyOf } = node()
    const [one] = sessionsOf('evicting', 24, 1)
    if (one === undefined) throw new Error('no session')
    await configure('maxmemory-policy', 'allkeys-lru')
    try {
      await waitUntil('not ready', async () => {
        const isBad = (await healthOf(product.adminUrl)).includes('"redis":"misconfigured"')
        return isBad && (await healthOf(product.realtimeUrl)) === '{"status":0}'
      })
      for (const role of ['realtime', 'admin']) {
        expect(logOf(role)).toContain(
          'redis could lose units: not ready until its configuration is corrected',
        )
        expect(logOf(role)).toContain('maxmemory-policy is allkeys-lru, it must be noeviction')
      }
      expect(await insist(one.start())).toMatchObject(GRANTED)
      expect(await send(one.release(1))).toMatchObject(GRANTED)
      expect(await moneyOf(one.sid)).toEqual(money(1, 0))
    } finally {
      await configure('maxmemory-policy', 'noeviction')
    }
    await product.ready('realtime')
    await product.ready('admin')
  })

  it.each(['realtime', 'admin'] as const)('is refused at the start of %s', async (role) => {
    const { product } = node()
    expect(await product.terminate(role)).toBe(0)
    await configure('maxmemory-policy', 'allkeys-lru')
    try {
      const problem = `${role} did not start: redis: maxmemory-policy is allkeys-lru, it must be`
      await expect(product.start(role)).rejects.toThrow(problem)
    } finally {
      await configure('maxmemory-policy', 'noeviction')
    }
    await product.start(role)
  })
})

describe('a slow Redis', () => {
  it('within the command timeout answers everything', async () => {
    const { send, moneyOf } = node()
    const sessions = sessionsOf('slow', 26, 12)
    proxy().slow(300)
    try {
      for (const kind of ['start', 'update', 'release'] as const) {
        const bodies = sessions.map((one) => (kind === 'start' ? one.start() : one[kind](1)))
        if (kind === 'release') for (const body of bodies) body.request_num = 2
        const replies = await Promise.all(bodies.map(send))
        expect(replies.map(({ status }) => status)).toEqual(sessions.map(() => 200))
        expect(codes(replies)).toEqual([1])
      }
    } finally {
      await proxy().restore()
    }
    for (const one of sessions) expect(await moneyOf(one.sid)).toEqual(money(2, 0))
  })

  it('beyond the command timeout is an outage; repeated requests return the outcome', async () => {
    const { product, send, insist, moneyOf } = node()
    const sessions = sessionsOf('slower', 40, 12)
    expect(codes(await Promise.all(sessions.map((one) => send(one.start()))))).toEqual([1])
    let files = Number.POSITIVE_INFINITY
    for (const round of [1, 2]) {
      proxy().slow(4_000)
      try {
        const replies = await Promise.all(sessions.map((one) => send(one.update(round))))
        expect(replies.map(({ status }) => status)).toEqual(sessions.map(() => 503))
        // It was executed: only the answer was late.
        for (const one of sessions) expect(await moneyOf(one.sid)).toEqual(money(round, 1))
      } finally {
        await proxy().restore()
      }
      const repeated = await Promise.all(sessions.map((one) => insist(one.update(round))))
      expect(codes(repeated)).toEqual([1])
      for (const one of sessions) expect(await moneyOf(one.sid)).toEqual(money(round, 1))
      // A connection that the MongoDB driver opens on first use is not a leak.
      if (round === 1) files = openFiles(product.pid('realtime'))
    }
    expect(codes(await Promise.all(sessions.map((one) => insist(one.release(3)))))).toEqual([1])
    for (const one of sessions) expect(await moneyOf(one.sid)).toEqual(money(3, 0))
    await expectNoLeak(product.pid('realtime'), files)
  })
})
