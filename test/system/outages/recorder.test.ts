/**
 * A recorder that is far behind (the outage matrix of docs/OPERATING.md). ../kill.test.ts covers
 * one that is killed under load.
 */
// covers: src/recorder/ src/workers/backlog-watch.ts
import { beforeAll, describe, expect, it } from 'vitest'
import { streamBacklog } from '../../../src/ledger/streams.ts'
import { useOpened } from '../../support/opened.ts'
import { FIRST_SID } from '../../support/product/population.ts'
import { withCatalog } from '../../support/system/exchange.ts'
import { GRANTED, MIB_PRICE, money, session, useNode } from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'
import {
  aidOf,
  MONEY as MONEY_INCLUDE,
  openProcessorFixture,
  type ProcessorFixture,
  request,
  service,
} from '../../support/workers/processor-fixture.ts'

const COMMITS = 100_000
/** One subscriber of each account: several in one call share an entry. */
const ACCOUNTS = 100
const MILLION = 1_000_000
const PRICE = 10_000
const node = useNode({ subscribers: 4 })
const scene = useOpened(() =>
  openProcessorFixture(node().product.redisUrl, { commandTimeoutMs: 20_000 }),
)
beforeAll(() => {
  scene().clock.set(Date.now())
})

const sids = Array.from({ length: ACCOUNTS }, (_, index) => index * 100 + 1)

/** Sessions charged by a worker, one commit for each request; returns the updates of each. */
async function writeEntries(): Promise<number> {
  for (const sid of sids) {
    expect(aidOf(sid)).toBe((sid - 1) / 100 + 1)
    await scene().credit(sid, MONEY_INCLUDE, 1_000_000_000)
  }
  const granted = async (requests: Parameters<ProcessorFixture['charge']>) => {
    const reasons = (await scene().charge(...requests)).map(({ reason }) => reason)
    expect(new Set(reasons)).toEqual(new Set(['granted']))
  }
  await granted(sids.map((sid) => request('start', sid, 0, [service(MILLION)])))
  const updates = Math.ceil(COMMITS / ACCOUNTS)
  for (let number = 1; number <= updates; number += 1) {
    const used = [service(MILLION, MILLION)]
    await granted(sids.map((sid) => request('update', sid, number, used)))
  }
  await granted(sids.map((sid) => request('release', sid, updates + 1, [service(-1, MILLION)])))
  return updates + 1
}

describe('a recorder that is 100,000 commits behind', () => {
  it('catches up while charging continues; every line is exact', async () => {
    const { product, reader, send, moneyOf } = node()
    await product.start('realtime')
    const reports = await writeEntries()
    expect(await streamBacklog(reader.ledger)).toBeGreaterThanOrEqual(COMMITS / ACCOUNTS)

    let isBehind = true
    const one = session('meanwhile', FIRST_SID)
    expect(await send(one.start())).toMatchObject(GRANTED)
    let updates = 0
    const charging = (async () => {
      while (isBehind) {
        updates += 1
        expect(await send(one.update(updates))).toMatchObject(GRANTED)
      }
    })()
    await product.start('recorder')
    try {
      await waitUntil(
        'it is no longer behind',
        async () => {
          return (await streamBacklog(reader.ledger)) < 50
        },
        200_000,
      )
    } finally {
      isBehind = false
    }
    await charging
    expect(updates).toBeGreaterThan(10)
    expect(await send(one.release(updates + 1))).toMatchObject(GRANTED)
    await waitUntil('all is recorded', async () => (await streamBacklog(reader.ledger)) === 0)
    expect(await moneyOf(FIRST_SID)).toEqual(money(updates + 1, 0))

    const lines = await withCatalog(product, (catalog) =>
      catalog.lines.find({ type: 'realtime' }).toArray(),
    )
    const found = new Map(lines.map((line) => ['session_id' in line && line.session_id, line]))
    expect(lines).toHaveLength(ACCOUNTS + 1)
    expect(found.get('meanwhile')).toMatchObject({ aprice_micros: (updates + 1) * MIB_PRICE })
    for (const sid of sids) {
      expect(found.get(`session-${sid}`)).toMatchObject({
        sid,
        aid: aidOf(sid),
        v: reports,
        usagev: reports * MILLION,
        aprice_micros: reports * PRICE,
      })
      const { state } = await scene().owner(sid)
      expect(state.buckets).toMatchObject([{ spent: reports * PRICE, reserved: 0 }])
    }
  })
})
