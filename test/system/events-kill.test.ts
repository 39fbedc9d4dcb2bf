/**
 * Every part is killed under load while rules observe all balances: each change of a balance and
 * each constant on its way has one event, and each event reaches a receiver that fails at times.
 */
// covers: src/domain/events/ src/notifications/ src/workers/commit-events.ts src/recorder/drain.ts
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeStoredConfig } from '../../src/catalog/settings/stored-config.ts'
import { openSessions, streamBacklog } from '../../src/ledger/streams.ts'
import { type Receiver, type Respond, startReceiver } from '../support/notifications/receiver.ts'
import { aidOf, FIRST_SID, populate, withCatalog } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { audited, CREDITS, FAST_EXPIRY, seedOf } from '../support/system/audited.ts'
import { differencesOf, observingRules, type StoredEvent } from '../support/system/event-model.ts'
import { type LedgerReader, openLedgerReader } from '../support/system/exchange.ts'
import { killUnderLoad, ROLES, SUBSCRIBERS, VICTIMS } from '../support/system/kills.ts'
import { Random } from '../support/system/random.ts'
import { waitUntil } from '../support/wait.ts'

const seed = seedOf()
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 2)
const SESSIONS = 100
const AUDITED = audited(ROUNDS, SUBSCRIBERS)

/** Claims of killed processes end after six seconds. */
const DELIVERY = {
  http: {
    timeout_ms: 1_000,
    num_of_tries: 100,
    retry_seconds: 1,
    concurrency: 20,
    rate_per_second: 10_000,
  },
  notify: { notify_orphan_time: '1 second' },
}
const ENVIRONMENT = { ...FAST_EXPIRY, TOLLGATE_EXTERNAL_PRIVATE_RANGES: '127.0.0.0/8' }

let product: Product
let reader: LedgerReader
let receiver: Receiver

beforeAll(async () => {
  receiver = await startReceiver()
  receiver.respond = answerMostly(new Random(seed))
  product = await startProduct({ appendfsync: 'always', environment: ENVIRONMENT })
  await populate({ ...product, ...AUDITED, credits: CREDITS })
  const { http, notify } = DELIVERY
  const settings = { http: { ...http, url: receiver.url }, notify }
  await withCatalog(product, (catalog) => {
    const value = () => ({ ...observingRules(), settings })
    return writeStoredConfig(catalog, 'events', value, { nowMs: 0, by: 'test' })
  })
  for (const role of ROLES) await product.start(role)
  reader = await openLedgerReader(product.redisUrl)
})
afterAll(async () => {
  await reader?.close()
  await product?.stop()
  await receiver?.close()
})

/** One of 30 requests is refused, one is answered by HTML, and one connection is reset. */
function answerMostly(random: Random): Respond {
  return (response) => {
    const fate = random.below(30)
    if (fate === 0) response.end('{"success":false}')
    else if (fate === 1) response.end('<html>welcome</html>')
    else if (fate === 2) response.destroy()
    else response.end('{"success":true}')
  }
}

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

const undelivered = () =>
  withCatalog(product, (catalog) =>
    catalog.events.countDocuments({ 'delivery.state': { $ne: 'delivered' } }),
  )

/** Events that the receiver does not have as they are stored, and those that it has only. */
function notReceived(events: readonly StoredEvent[], { received }: Receiver): string[] {
  const nameOf = (stamp: unknown, code: unknown, before: unknown, after: unknown) =>
    `${stamp}: ${code} from ${before} to ${after}`
  const stored = new Set(
    events.map(({ stamp, event_code: code, before, after }) => nameOf(stamp, code, before, after)),
  )
  const sent = new Set(
    received.map(({ params }) =>
      nameOf(params['stamp'], params['event_code'], params['before'], params['after']),
    ),
  )
  return [
    ...[...stored].filter((name) => !sent.has(name)).map((name) => `missing ${name}`),
    ...[...sent].filter((name) => !stored.has(name)).map((name) => `invented ${name}`),
  ]
}

describe(`kill -9 under load with rules, seed ${seed}`, () => {
  for (let round = 1; round <= ROUNDS; round += 1) {
    it(`round ${round}: each crossing is delivered, none is repeated or invented`, async () => {
      await killUnderLoad({
        ...{ product, population: AUDITED, victims: VICTIMS },
        ...{ seed: seed + round, sessions: SESSIONS },
      })
      const { ledger } = reader
      await waitUntil('sessions expire', async () => (await openSessions(ledger)) === 0)
      await waitUntil('the recorder catches up', async () => (await streamBacklog(ledger)) === 0)
      const events = await storedEvents()
      const codes = new Set(events.map(({ event_code, matched_path }) => event_code + matched_path))
      // Otherwise the model would have nothing to compare.
      expect(codes.size).toBeGreaterThan(15)
      expect(differencesOf(events, await states())).toEqual([])
      await waitUntil('all events are delivered', async () => (await undelivered()) === 0, 300_000)
      expect(notReceived(events, receiver)).toEqual([])
    })
  }
})
