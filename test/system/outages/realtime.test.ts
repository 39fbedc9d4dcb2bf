/**
 * The end of a realtime process (the outage matrix of docs/OPERATING.md). ../kill.test.ts covers a
 * process that is killed under load, ../live.test.ts sessions that outlive a restart.
 */
// covers: src/realtime/start.ts src/ledger/restarts.ts src/runtime/shutdown.ts
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIRST_SID } from '../../support/product/population.ts'
import {
  GRANTED,
  money,
  session,
  startNode,
  type TestNode,
} from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'

const ELEMENTS = 32

let node: TestNode
beforeAll(async () => {
  node = await startNode({ subscribers: ELEMENTS * 2 })
  await node.product.start('realtime')
})
afterAll(() => node?.stop())

const sids = Array.from({ length: ELEMENTS }, (_, index) => FIRST_SID + index)

describe('a realtime process that is stopped under load', () => {
  it('has answered everything it has charged, and exits with 0', async () => {
    const { product, send, moneyOf } = node
    const granted = new Map<number, string[]>()
    let answers = 0
    let isEnding = false
    const element = async (sid: number) => {
      const mine: string[] = []
      granted.set(sid, mine)
      for (let number = 0; ; number += 1) {
        const name = `load-${sid}-${number}`
        const reply = await send(session(name, sid).start()).catch(() => null)
        if (reply?.returnCode === 1) mine.push(name)
        else if (reply !== null) expect(reply).toMatchObject({ status: 503, returnCode: -90 })
        answers += 1
        // A client that is cut off repeats until it is certain that no process answers.
        if (reply === null && isEnding) return
      }
    }
    const load = sids.map(element)
    await waitUntil('a load', () => answers > 20 * ELEMENTS)
    isEnding = true
    expect(await product.terminate('realtime')).toBe(0)
    await Promise.all(load)
    for (const sid of sids) {
      expect(await moneyOf(sid)).toEqual(money(0, granted.get(sid)?.length ?? -1))
    }
    await product.start('realtime')
    for (const [sid, names] of granted) {
      const last = session(names.at(-1) ?? '', sid)
      expect(await send(last.start())).toMatchObject(GRANTED)
      await Promise.all(names.map((name) => send(session(name, sid).release(1))))
      expect(await moneyOf(sid)).toEqual(money(names.length, 0))
    }
  })

  it('waits for the store with admitted requests, and answers them', async () => {
    const { product, send, moneyOf } = node
    const late = sids.map((sid) => session(`late-${sid}`, sid + ELEMENTS))
    // Cached, so that only Redis is needed.
    for (const one of late) {
      const first = session(`first-${one.sid}`, one.sid)
      expect(await send(first.start())).toMatchObject(GRANTED)
      expect(await send(first.release(1))).toMatchObject(GRANTED)
    }
    process.kill(product.pid('redis'), 'SIGSTOP')
    let replies: ReturnType<typeof send>[]
    let ended: Promise<number | null>
    try {
      replies = late.map((one) => send(one.start()))
      // Each connection is processed in order: earlier requests are pending once this is answered.
      await send({ record_type: 'none' })
      ended = product.terminate('realtime')
      await waitUntil('it is not ready', async () => {
        const health = await fetch(`${product.realtimeUrl}/health/ready`).catch(() => null)
        return health === null || health.status === 503
      })
    } finally {
      process.kill(product.pid('redis'), 'SIGCONT')
    }
    for (const reply of await Promise.all(replies)) expect(reply).toMatchObject(GRANTED)
    expect(await ended).toBe(0)
    await product.start('realtime')
    for (const one of late) {
      expect(await moneyOf(one.sid)).toEqual(money(1, 1))
      expect(await send(one.release(1))).toMatchObject(GRANTED)
      expect(await moneyOf(one.sid)).toEqual(money(2, 0))
    }
  })
})
