/** Behaviour of the product while it charges: outages of stores, changes, restarts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EntityCollection } from '../../src/catalog/entities/entity-table.ts'
import { writeEntity } from '../support/catalog/write.ts'
import { DEFAULT_LIMITS } from '../support/product/patience.ts'
import { aidOf, FIRST_SID, populate } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import {
  type Fields,
  type LedgerReader,
  openLedgerReader,
  post,
  subscriber,
  withCatalog,
} from '../support/system/exchange.ts'
import { DATA, DOWN, GRANTED, insistOn, session } from '../support/system/outages/node.ts'
import { waitUntil } from '../support/wait.ts'

const MIB = 1024 * 1024
const DAY_MS = 86_400_000
const MIB_PRICE = 10_000
const MONEY = 100_000_000
const PER_ACCOUNT = 4

let product: Product
let reader: LedgerReader

beforeAll(async () => {
  product = await startProduct({
    appendfsync: 'always',
    environment: {
      ...DEFAULT_LIMITS,
      TOLLGATE_MONGO_TIMEOUT_MS: '500',
      // On a busy machine an outage must be detected before a request is over.
      TOLLGATE_REALTIME_REQUEST_TIMEOUT_MS: '20000',
      TOLLGATE_SHUTDOWN_TIMEOUT_MS: '60000',
    },
  })
  const credits = [{ prepaidIncludeId: 1, amount: MONEY }]
  await populate({ ...product, subscribers: 40, subscribersPerAccount: PER_ACCOUNT, credits })
  await product.start('realtime')
  reader = await openLedgerReader(product.redisUrl)
})
afterAll(async () => {
  await reader?.close()
  await product?.stop()
})

const send = (body: Fields) => post(product.realtimePort, body)
/** As a network element: repeats a request answered 503 until its outcome is known. */
const insist = (body: Fields) => insistOn(() => send(body))

/** The single money bucket, in micros. */
async function moneyOf(sid: number) {
  const { buckets } = await reader.ownerOf(aidOf(sid - FIRST_SID, PER_ACCOUNT), sid)
  expect(buckets).toHaveLength(1)
  const { credited, spent, reserved, free } = buckets[0] ?? {}
  return { credited, spent, reserved, free }
}

/** The state of a bucket after this many MiB were spent and reserved. */
function money(spentMib: number, reservedMib: number) {
  const [spent, reserved] = [spentMib * MIB_PRICE, reservedMib * MIB_PRICE]
  return { credited: MONEY, spent, reserved, free: MONEY - spent - reserved }
}

describe('a Redis that is killed', () => {
  it('is a named outage until it is back; the repeated request returns the outcome', async () => {
    const sid = FIRST_SID
    const { start, update, release } = session('outage', sid)
    expect(await insist(start())).toMatchObject(GRANTED)
    const last = await insist(update(1))
    expect(last).toMatchObject(GRANTED)
    await product.kill9('redis')
    try {
      expect(await send(update(1))).toMatchObject(DOWN)
      expect(await send(update(2))).toMatchObject(DOWN)
      expect(await send(session('during', sid).start())).toMatchObject(DOWN)
      expect(await insist(session('nobody', 77).start())).toMatchObject({ returnCode: -2 })
    } finally {
      await product.start('redis')
    }
    const repeated = await insist(update(2))
    expect(repeated).toMatchObject({ ...GRANTED, grantedVolume: MIB })
    expect((await insist(update(2))).text).toBe(repeated.text)
    expect(await insist(update(1))).toMatchObject({ status: 200, returnCode: -9 })
    expect(await moneyOf(sid)).toEqual(money(2, 1))
    expect(await insist(release(3))).toMatchObject(GRANTED)
    expect(await moneyOf(sid)).toEqual(money(3, 0))
    expect(await insist(session('during', sid).start())).toMatchObject(GRANTED)
  })
})

describe('a Redis that hangs', () => {
  it('is an outage too; the repeated request returns the outcome of the first', async () => {
    const sid = FIRST_SID + 24
    const { start, update, release } = session('hanging', sid)
    expect(await insist(start())).toMatchObject(GRANTED)
    process.kill(product.pid('redis'), 'SIGSTOP')
    try {
      expect(await send(update(1))).toMatchObject(DOWN)
    } finally {
      process.kill(product.pid('redis'), 'SIGCONT')
    }
    expect(await insist(update(1))).toMatchObject({ ...GRANTED, grantedVolume: MIB })
    expect(await moneyOf(sid)).toEqual(money(1, 1))
    expect(await insist(release(2))).toMatchObject(GRANTED)
    expect(await moneyOf(sid)).toEqual(money(2, 0))
  })
})

const outages = [
  {
    what: 'killed',
    begin: () => product.kill9('mongo'),
    end: () => product.start('mongo'),
  },
  {
    what: 'stopped, so that it only hangs',
    begin: async () => process.kill(product.pid('mongo'), 'SIGSTOP'),
    end: async () => process.kill(product.pid('mongo'), 'SIGCONT'),
  },
]

describe.skipIf(process.env['TEST_MONGO_URL']).each(outages)(
  'a MongoDB that is $what',
  ({ what, begin, end }) => {
    const index = what === 'killed' ? 8 : 16
    const name = (which: string) => `${which} while ${what}`

    it('affects no cached subscriber; others are refused until it is back', async () => {
      const [known, unknown] = [FIRST_SID + index, FIRST_SID + index + 1]
      const { start, update, release } = session(name('known'), known)
      const uncached = session(name('unknown'), unknown).start()
      const missing = session(name('nobody'), index).start()
      expect(await insist(start())).toMatchObject(GRANTED)
      await begin()
      try {
        expect(await insist(update(1))).toMatchObject(GRANTED)
        expect(await insist(release(2))).toMatchObject(GRANTED)
        // An uncached subscriber cannot be looked up.
        expect(await Promise.all([uncached, missing].map(send))).toMatchObject([DOWN, DOWN])
        expect(await insist(session(name('next'), known).start())).toMatchObject(GRANTED)
        expect(await moneyOf(known)).toEqual(money(2, 1))
        expect(await moneyOf(unknown)).toEqual(money(0, 0))
      } finally {
        await end()
      }
      expect(await insist(uncached)).toMatchObject(GRANTED)
      expect(await insist(missing)).toMatchObject({ status: 200, returnCode: -2 })
      expect(await moneyOf(unknown)).toEqual(money(0, 1))
    })
  },
)

type Find = Readonly<Record<string, unknown>>

const write = (collection: EntityCollection, document: Fields, mode: 'insert' | 'replace') =>
  withCatalog(product, (catalog) => {
    const fence = reader.ledger
    return writeEntity(catalog, collection, document, { mode, timeZone: 'UTC', fence })
  })

/** Changes the only revision, as the entity API does. */
async function change(collection: EntityCollection, which: Find, changes: Fields): Promise<void> {
  const stored = await withCatalog(product, (catalog) =>
    (catalog[collection] as typeof catalog.plans).findOne(which),
  )
  expect(stored).not.toBeNull()
  await write(collection, { ...stored, ...changes }, 'replace')
}

describe('a change while the product runs', () => {
  it('that bars a subscriber applies to its next request, and used units are settled', async () => {
    const sid = FIRST_SID + 3
    const { start, update, release } = session('barred', sid)
    expect(await insist(start())).toMatchObject(GRANTED)
    await change('subscribers', { sid }, { barred: true })
    expect(await insist(update(1))).toMatchObject({
      status: 200,
      returnCode: -11,
      grantedVolume: 0,
    })
    expect(await insist(session('barred-2', sid).start())).toMatchObject({ returnCode: -11 })
    expect(await moneyOf(sid)).toEqual(money(1, 0))
    await change('subscribers', { sid }, { barred: false })
    expect(await insist(update(2, DATA))).toMatchObject({ ...GRANTED, grantedVolume: MIB })
    expect(await insist(release(3))).toMatchObject(GRANTED)
    expect(await moneyOf(sid)).toEqual(money(2, 0))
  })

  it('that adds a subscriber makes it known', async () => {
    const sid = 900_001
    const opening = session('new', sid).start()
    expect(await insist(opening)).toMatchObject({ returnCode: -2 })
    await write('subscribers', subscriber(sid, 9_001), 'insert')
    // Known, but without credit.
    await waitUntil('the subscriber', async () => (await send(opening)).returnCode === -1)
  })

  it('of a price applies to the next grants', async () => {
    const sid = FIRST_SID + 4
    const everything = { usaget: 'sms', usagev: 1_000_000, pretend: true }
    let asked = 0
    const smsGranted = async () => {
      asked += 1
      const reply = await insist(session(`sms-${asked}`, sid).start(everything))
      expect(reply).toMatchObject(GRANTED)
      return reply.grantedVolume
    }
    expect(await smsGranted()).toBe(2_500)
    const price = (amount: number) => ({
      rates: {
        sms: { BASE: { rate: [{ from: 0, to: 'UNLIMITED', interval: 1, price: amount }] } },
      },
    })
    await change('rates', { key: 'SMS' }, price(0.08))
    await waitUntil('the new price', async () => (await smsGranted()) === 1_250)
    // A plan that may not use the rate.
    await change('plans', { name: 'DEMO_PREPAID' }, { disallowed_rates: ['SMS'] })
    await waitUntil('no rate', async () => {
      return (await send(session('sms-blocked', sid).start(everything))).returnCode === -3
    })
    await change('plans', { name: 'DEMO_PREPAID' }, { disallowed_rates: [] })
    await waitUntil('the rate', async () => {
      return (await send(session('sms-again', sid).start(everything))).returnCode === 1
    })
    expect(await moneyOf(sid)).toEqual(money(0, 0))
  })

  it('to a new revision of a price applies to events from its begin', async () => {
    const sid = FIRST_SID + 5
    const everything = { usaget: 'call', usagev: 10_000_000, pretend: true }
    const at = new Date(Date.now() - 3_600_000)
    const grantedAt = async (urt: Date) => {
      const name = `call-${urt.getTime()}-${performance.now()}`
      const body = session(name, sid).start({ ...everything, urt: urt.toISOString() })
      return (await insist(body)).grantedVolume
    }
    // Granted units end before the revision begins.
    const [earlier, now] = [new Date(at.getTime() - DAY_MS), new Date()]
    const before = await grantedAt(now)
    // 100.00 minus 0.05 for access, at 0.10 a minute.
    expect(before).toBe(999 * 60)
    await change('rates', { key: 'CALL' }, { to: at })
    const tier = { from: 0, to: 'UNLIMITED', interval: 60, price: 0.2 }
    const revision = {
      key: 'CALL',
      from: at,
      tariff_category: 'retail',
      pricing_method: 'tiered',
      rates: { call: { BASE: { access: 0.05, rate: [tier] } } },
    }
    await write('rates', revision, 'insert')
    await waitUntil('the new price', async () => (await grantedAt(now)) === 499 * 60)
    expect(await grantedAt(earlier)).toBe(before)
  })
})

describe('a restart of the realtime process', () => {
  it('leaves open sessions unchanged, and they continue', async () => {
    const sid = FIRST_SID + 6
    const { start, update, release } = session('survivor', sid)
    expect(await insist(start())).toMatchObject(GRANTED)
    const answer = await insist(update(1))
    expect(await product.terminate('realtime')).toBe(0)
    await expect(send(update(2))).rejects.toThrow('ECONNREFUSED')
    await product.start('realtime')
    expect((await insist(update(1))).text).toBe(answer.text)
    expect(await moneyOf(sid)).toEqual(money(1, 1))
    expect(await insist(update(2))).toMatchObject({ ...GRANTED, grantedVolume: MIB })
    expect(await insist(release(3))).toMatchObject(GRANTED)
    expect(await moneyOf(sid)).toEqual(money(3, 0))
    expect(await insist(update(4))).toMatchObject({ returnCode: -8 })
  })

  it.skipIf(process.env['TEST_MONGO_URL'])(
    'is not ready before it has read the catalogue',
    async () => {
      const { start, release } = session('early', FIRST_SID + 7)
      const isReady = async () => (await fetch(`${product.realtimeUrl}/health/ready`)).ok
      await product.terminate('realtime')
      await product.kill9('mongo')
      const starting = product.start('realtime')
      try {
        await waitUntil('the port', () =>
          isReady().then(
            () => true,
            () => false,
          ),
        )
        expect(await isReady()).toBe(false)
        expect(await send(start())).toMatchObject(DOWN)
      } finally {
        await product.start('mongo')
      }
      await starting
      expect(await isReady()).toBe(true)
      expect(await insist(start())).toMatchObject(GRANTED)
      expect(await insist(release(1))).toMatchObject(GRANTED)
    },
  )
})
