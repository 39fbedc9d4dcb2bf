/**
 * Outages of MongoDB (the outage matrix of docs/OPERATING.md). ../live.test.ts covers a MongoDB
 * that is killed or stopped, backlog.test.ts one that is unavailable under load.
 */
// covers: src/catalog/lost-connections.ts src/catalog/connection.ts src/store/
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { streamBacklog } from '../../../src/ledger/streams.ts'
import { DEFAULT_LIMITS } from '../../support/product/patience.ts'
import { FIRST_SID } from '../../support/product/population.ts'
import { type StoreProxy, startStoreProxy } from '../../support/store-proxy.ts'
import { withCatalog } from '../../support/system/exchange.ts'
import {
  DOWN,
  expectNoLeak,
  GRANTED,
  MIB_PRICE,
  money,
  openFiles,
  session,
  startNode,
  type TestNode,
} from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'

const environment: Record<string, string> = { ...DEFAULT_LIMITS }
let node: TestNode
let proxy: StoreProxy

beforeAll(async () => {
  node = await startNode({ subscribers: 40, environment })
  proxy = await startStoreProxy(node.product.mongoUrl)
  environment['TOLLGATE_MONGO_URL'] = proxy.url
  await node.product.start('realtime')
  await node.product.start('admin')
})
afterAll(async () => {
  await node?.stop()
  await proxy?.close()
})

const at = (index: number) => FIRST_SID + index

/** The recorded lines of a session. */
const linesOf = (sessionId: string) =>
  withCatalog(node.product, (catalog) => catalog.lines.find({ session_id: sessionId }).toArray())

describe('a MongoDB that is slow', () => {
  it('within its timeout delays lookups of subscribers, and no cached subscriber', async () => {
    const { send, moneyOf } = node
    const known = session('known to all', at(0))
    expect(await node.insist(known.start())).toMatchObject(GRANTED)
    proxy.slow(150)
    try {
      const uncached = session('stranger, slowly', at(1))
      const replies = await Promise.all([uncached.start(), known.update(1)].map(send))
      expect(replies).toMatchObject([GRANTED, GRANTED])
      expect(await send(session('nobody', 77).start())).toMatchObject({ returnCode: -2 })
      expect(await send(uncached.release(1))).toMatchObject(GRANTED)
      expect(await send(known.release(2))).toMatchObject(GRANTED)
    } finally {
      await proxy.restore()
    }
    expect(await moneyOf(at(0))).toEqual(money(2, 0))
    expect(await moneyOf(at(1))).toEqual(money(1, 0))
  })

  it('beyond its timeout fails lookups with 503; cached subscribers are charged', async () => {
    const { product, send, insist, moneyOf } = node
    const known = session('known again', at(0))
    const files: number[] = []
    expect(await node.insist(known.start())).toMatchObject(GRANTED)
    for (const round of [1, 2, 3]) {
      const uncached = session(`stranger ${round}`, at(1 + round))
      const missing = session(`nobody ${round}`, 77 + round)
      proxy.slow(6_000)
      try {
        const bodies = [uncached.start(), missing.start(), known.update(round)]
        const [uncachedReply, missingReply, charged] = await Promise.all(bodies.map(send))
        expect(uncachedReply).toMatchObject({ status: 503 })
        expect(missingReply).toMatchObject({ status: 503 })
        expect(charged).toMatchObject(GRANTED)
        expect(await moneyOf(at(1 + round))).toEqual(money(0, 0))
      } finally {
        await proxy.restore()
      }
      expect(await insist(uncached.start())).toMatchObject(GRANTED)
      expect(await insist(missing.start())).toMatchObject({ returnCode: -2 })
      expect(await insist(uncached.release(1))).toMatchObject(GRANTED)
      files.push(openFiles(product.pid('realtime')))
    }
    expect(await send(known.release(4))).toMatchObject(GRANTED)
    expect(await moneyOf(at(0))).toEqual(money(6, 0))
    // The driver keeps a few connections, and no more after three outages than after one.
    await expectNoLeak(product.pid('realtime'), files[0] ?? 0)
  })
})

describe.skipIf(process.env['TEST_MONGO_URL'])('a MongoDB that is restarted', () => {
  it('while sessions continue loses and doubles no line', async () => {
    const { product, reader, send } = node
    const sessions = [10, 11, 12, 13].map((index) => session(`restarted ${index}`, at(index)))
    for (const one of sessions) expect(await node.insist(one.start())).toMatchObject(GRANTED)
    let number = 0
    let isOver = false
    const charging = (async () => {
      while (!isOver) {
        number += 1
        const replies = await Promise.all(sessions.map((one) => send(one.update(number))))
        expect(replies.map(({ returnCode }) => returnCode)).toEqual([1, 1, 1, 1])
      }
    })()
    for (let round = 0; round < 3; round += 1) {
      await product.kill9('mongo')
      const before = number
      await waitUntil('charging continues meanwhile', () => number >= before + 20)
      await product.start('mongo')
      await waitUntil('charging continues afterwards', () => number >= before + 40)
    }
    isOver = true
    await charging
    for (const one of sessions) {
      expect(await send(one.release(number + 1))).toMatchObject(GRANTED)
    }
    await waitUntil('the recorder', async () => (await streamBacklog(reader.ledger)) === 0)
    for (const index of [10, 11, 12, 13]) {
      const lines = await linesOf(`restarted ${index}`)
      expect(lines).toMatchObject([{ aprice_micros: (number + 1) * MIB_PRICE }])
      expect(await node.moneyOf(at(index))).toEqual(money(number + 1, 0))
    }
  })

  it('is unavailable only to uncached subscribers', async () => {
    const { product, send, insist } = node
    const uncached = session('stranger at last', at(20))
    await product.kill9('mongo')
    expect(await send(uncached.start())).toMatchObject(DOWN)
    await product.start('mongo')
    expect(await insist(uncached.start())).toMatchObject(GRANTED)
    expect(await insist(uncached.release(1))).toMatchObject(GRANTED)
  })
})
