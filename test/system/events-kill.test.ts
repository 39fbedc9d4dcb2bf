/**
 * Every part is killed under load while rules observe all balances: each change of a balance and
 * each constant on its way has one event.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeStoredConfig } from '../../src/catalog/settings/stored-config.ts'
import { openSessions, streamBacklog } from '../../src/ledger/streams.ts'
import { aidOf, FIRST_SID, populate, withCatalog } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { audited, CREDITS, FAST_EXPIRY, seedOf } from '../support/system/audited.ts'
import { differencesOf, observingRules, type StoredEvent } from '../support/system/event-model.ts'
import { type LedgerReader, openLedgerReader } from '../support/system/exchange.ts'
import { Random } from '../support/system/random.ts'
import { withRecentLogs } from '../support/system/recent-logs.ts'
import { runWorkload } from '../support/system/workload.ts'
import { waitUntil } from '../support/wait.ts'

const seed = seedOf()
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 2)
const SESSIONS = 200
const AUDITED = audited(ROUNDS)
const RECOVERED = 24
const ROLES = ['realtime', 'admin', 'recorder'] as const
/** An external MongoDB cannot be killed. */
const STORES = process.env['TEST_MONGO_URL'] === undefined ? ['redis', 'mongo'] : ['redis']
const VICTIMS = [...ROLES, ...STORES] as ((typeof ROLES)[number] | 'redis' | 'mongo')[]

let product: Product
let reader: LedgerReader

beforeAll(async () => {
  product = await startProduct({ appendfsync: 'always', environment: FAST_EXPIRY })
  await populate({ ...product, ...AUDITED, credits: CREDITS })
  await withCatalog(product, (catalog) =>
    writeStoredConfig(catalog, 'events', observingRules, { nowMs: 0, by: 'test' }),
  )
  for (const role of ROLES) await product.start(role)
  reader = await openLedgerReader(product.redisUrl)
})
afterAll(async () => {
  await reader?.close()
  await product?.stop()
})

async function states() {
  const owners = []
  const { subscribers, subscribersPerAccount } = AUDITED
  for (let index = 0; index < subscribers; index += 1) {
    const aid = aidOf(index, subscribersPerAccount)
    if (index % subscribersPerAccount === 0) owners.push(await reader.ownerOf(aid, 0))
    owners.push(await reader.ownerOf(aid, FIRST_SID + index))
  }
  return owners
}

const storedEvents = () =>
  withCatalog(product, (catalog) => catalog.events.find({}).toArray()) as unknown as Promise<
    StoredEvent[]
  >

describe(`kill -9 under load with rules, seed ${seed}`, () => {
  for (let round = 1; round <= ROUNDS; round += 1) {
    it(`round ${round}: no crossing is missed, repeated or invented`, async () => {
      const random = new Random(seed + round)
      let isKilling = true
      let finished = 0
      const workload = runWorkload({
        seed: seed + round,
        port: product.realtimePort,
        sessions: SESSIONS,
        clients: 24,
        ...AUDITED,
        patienceMs: 60_000,
        goesOn: () => isKilling,
        onSession: (count) => {
          finished = count
        },
      })
      const kills = (async () => {
        for (const victim of random.shuffled(VICTIMS)) {
          await pause(random.between(50, 700))
          await product.kill9(victim)
          await pause(random.below(300))
          await product.start(victim)
          const before = finished
          const isBack = () => finished >= before + RECOVERED
          await waitUntil(`sessions finish after ${victim} is back`, isBack)
        }
      })().finally(() => {
        isKilling = false
      })
      await withRecentLogs(product, Promise.all([workload, kills]))
      const { ledger } = reader
      await waitUntil('sessions expire', async () => (await openSessions(ledger)) === 0)
      await waitUntil('the recorder catches up', async () => (await streamBacklog(ledger)) === 0)
      const events = await storedEvents()
      const codes = new Set(events.map(({ event_code, matched_path }) => event_code + matched_path))
      // Otherwise the model would have nothing to compare.
      expect(codes.size).toBeGreaterThan(15)
      expect(differencesOf(events, await states())).toEqual([])
    })
  }
})
