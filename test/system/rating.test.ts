/** Prices, included units, limits, taxes and refunds through the whole product. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { writeEntity } from '../support/catalog/write.ts'
import { aidOf, FIRST_SID, populate } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { tollgate } from '../support/system/command.ts'
import {
  type Fields,
  type LedgerReader,
  openLedgerReader,
  post,
  withCatalog,
} from '../support/system/exchange.ts'
import {
  FAMILY,
  RULES,
  SINCE,
  SINGLE,
  subscriber,
  TEAM,
  writeTariffs,
} from '../support/system/tariffs.ts'
import { waitUntil } from '../support/wait.ts'

const MONEY = 1_000_000
const DAY_MS = 86_400_000

let product: Product
let reader: LedgerReader

beforeAll(async () => {
  product = await startProduct({ environment: RULES })
  const credits = [{ prepaidIncludeId: 1, amount: MONEY }]
  await populate({ ...product, subscribers: 1, subscribersPerAccount: 1, credits })
  await withCatalog(product, writeTariffs)
  // Includes the recorder.
  await product.start('admin')
  await product.start('realtime')
  reader = await openLedgerReader(product.redisUrl)
})
afterAll(async () => {
  await reader?.close()
  await product?.stop()
})

/** A time of yesterday, in UTC: the whole test is in one cycle, whatever the date. */
function at(time: string): string {
  const day = new Date(Math.floor(systemClock.nowMs() / DAY_MS) * DAY_MS - DAY_MS)
  return `${day.toISOString().slice(0, 10)}T${time}Z`
}

const ask = async (kind: string, session_id: string, request_num: number, more: Fields) => {
  const record_type = `${kind}_request`
  const answer = await post(product.realtimePort, { record_type, session_id, request_num, ...more })
  return answer as typeof answer & Record<string, unknown>
}

/** A session that uses `units` of a call, all that it requests. */
async function call(session_id: string, units: number, more: Fields) {
  const urt = at('12:00:00')
  const usage = { usaget: 'call', urt }
  const start = await ask('start', session_id, 0, { ...usage, usagev: units, ...more })
  expect(start).toMatchObject({ returnCode: 1, grantedVolume: units })
  expect(await ask('release', session_id, 1, { ...usage, used_usagev: units })).toMatchObject({
    returnCode: 1,
  })
}

/** The final lines of a session in MongoDB, by segment. */
async function linesOf(session_id: string, count = 1): Promise<Record<string, unknown>[]> {
  let lines: Record<string, unknown>[] = []
  await waitUntil(`the lines of ${session_id}`, async () => {
    lines = await withCatalog(product, (catalog) =>
      catalog.lines.find({ session_id }).sort({ stamp: 1 }).toArray(),
    )
    return lines.length === count && lines.every(({ state }) => state !== 'open')
  })
  return lines
}

const NATIONAL = '49301234567'
const MOBILE = '4915112345678'

describe('a family', () => {
  const first = { sid: FAMILY.first }
  const second = { sid: FAMILY.second }

  it('shares its minutes; calls beyond them are charged and taxed', async () => {
    await call('minutes-1', 200, { ...first, called_number: NATIONAL })
    await call('minutes-2', 180, { ...second, called_number: NATIONAL })
    const [one] = await linesOf('minutes-1')
    expect(one).toMatchObject({
      arate_key: 'NATIONAL',
      plan: 'FAMILY',
      usagev: 200,
      aprice: 0,
      final_charge: 0,
      in_group: 200,
      over_group: 0,
      out_group: 0,
      arategroups: [{ name: 'MINUTES', usagev: 200, left: 100, total: 300 }],
    })
    const [two] = await linesOf('minutes-2')
    expect(two).toMatchObject({
      usagev: 180,
      in_group: 100,
      over_group: 80,
      out_group: 0,
      aprice: 0.2,
      aprice_micros: 200_000,
      final_charge: 0.234,
      tax_data: { total_amount: 0.034, taxes: [{ key: 'DEFAULT_VAT', tax: 0.17, amount: 0.034 }] },
      arategroups: [{ name: 'MINUTES', usagev: 100, left: 0, balance_ref: { sid: 0 } }],
      rating: [
        { step: 'price', rate: 'NATIONAL', units: 80, amount: '0.2' },
        { step: 'tier', intervals: '2', price: '0.1' },
        { step: 'group', group: 'MINUTES', owner: 'account', units: 100 },
        { step: 'credit', money: '0.2' },
        { step: 'limit' },
      ],
    })
  })

  it('has the messages of a service twice if it has the service twice', async () => {
    const event = { ...first, usaget: 'sms', usagev: 7, urt: at('12:10:00') }
    expect(await ask('event', 'messages', 0, event)).toMatchObject({ grantedVolume: 7 })
    expect(await linesOf('messages')).toMatchObject([
      {
        arate_key: 'SMS',
        in_group: 6,
        over_group: 1,
        aprice: 0.04,
        final_charge: 0.0468,
        arategroups: [{ name: 'MESSAGES', left: 0, total: 6 }],
      },
    ])
  })

  it('has the price of its override, at the rate with the longest prefix', async () => {
    await call('override', 60, { ...second, called_number: MOBILE })
    expect(await linesOf('override')).toMatchObject([
      {
        arate_key: 'MOBILE',
        aprice: 0.125,
        in_group: 0,
        over_group: 0,
        out_group: 60,
        price_of: 'plan FAMILY',
      },
    ])
  })

  it('is granted what both limits permit: its own, and that of the account', async () => {
    const usage = { usaget: 'call', usagev: 600, called_number: MOBILE, urt: at('12:20:00') }
    // 0.04 of 0.5 are spent: access and two minutes are 0.45.
    const one = await ask('start', 'limit-1', 0, { ...first, ...usage, balances: true })
    expect(one).toMatchObject({ grantedVolume: 120, finalUnit: true })
    expect(one['balances']).toContainEqual(
      expect.objectContaining({ group: 'credit', balance: 0.01, reserved: 0.45 }),
    )
    // The account has spent 0.365 of 1 and reserved 0.45: enough for half of access and a minute.
    const two = await ask('start', 'limit-2', 0, { ...second, ...usage })
    expect(two).toMatchObject({ grantedVolume: 60, finalUnit: true })
    const three = await ask('start', 'limit-3', 0, { ...second, ...usage })
    expect(three).toMatchObject({ grantedVolume: 0, returnCode: -1 })
    for (const session of ['limit-1', 'limit-2']) {
      expect(await ask('release', session, 1, {})).toMatchObject({ returnCode: 1 })
    }
    const { buckets } = await reader.ownerOf(FAMILY.aid, 0)
    expect(buckets.find(({ counter }) => counter === 'credit')).toMatchObject({
      spent: 365_000,
      reserved: 0,
      limit: 1_000_000,
    })
  })
})

describe('a team', () => {
  const event = { sid: TEAM.first, usaget: 'traffic', urt: at('12:00:00') }
  const write = (document: Fields, fence?: Ledger) =>
    withCatalog(product, (catalog) => {
      const options = { mode: 'insert', timeZone: 'UTC', ...(fence && { fence }) } as const
      return writeEntity(catalog, 'subscribers', { from: SINCE, ...document }, options)
    })

  it('pools the shares of all subscribers, including later ones', async () => {
    expect(await ask('event', 'pool-1', 0, { ...event, usagev: 1_500 })).toMatchObject({
      grantedVolume: 1_500,
    })
    expect(await linesOf('pool-1')).toMatchObject([
      { in_group: 1_500, over_group: 0, arategroups: [{ left: 500, total: 2_000 }] },
    ])
    const asked = { ...event, usagev: 1_400, pretend: true }
    const before = await ask('event', 'pool-2', 0, asked)
    expect(before).toMatchObject({ inGroup: 500, overGroup: 900, aprice: 0.9 })
    await write(subscriber(TEAM.third, TEAM.aid, 'TEAM'))
    await waitUntil('the third share', async () => {
      const { inGroup } = await ask('event', 'pool-2', 0, asked)
      return inGroup === 1_400
    })
  })

  it('is charged under an override of its account as soon as that is written', async () => {
    const more = { ...event, usagev: 10 }
    expect(await ask('event', 'account-1', 0, more)).toMatchObject({ returnCode: 1 })
    const value = { disallowed_rates: ['TRAFFIC'] }
    const overrides = [{ type: 'plan', key: 'TEAM', value }]
    const fence = reader.ledger
    await write({ type: 'account', aid: TEAM.aid, overrides }, fence)
    expect(await ask('event', 'account-2', 0, more)).toMatchObject({ returnCode: -3 })
  })
})

describe('a single', () => {
  const caller = { calling_number: '015900002', called_number: NATIONAL }

  it('is identified by the rules, and pays by the time of day', async () => {
    const usage = { ...caller, usaget: 'call', usagev: 600 }
    const start = await ask('start', 'bands', 0, { ...usage, urt: at('17:58:00') })
    expect(start).toMatchObject({ grantedVolume: 600, sid: SINGLE.sid, validityTime: 120 })
    // Fields that a report omits keep their values.
    const report = { usaget: 'call', used_usagev: 300, usagev: 600, urt: at('18:03:00') }
    expect(await ask('update', 'bands', 1, report)).toMatchObject({ grantedVolume: 600 })
    const rest = { usaget: 'call', used_usagev: 60, urt: at('18:04:00') }
    expect(await ask('release', 'bands', 2, rest)).toMatchObject({ returnCode: 1 })
    const lines = await linesOf('bands', 2)
    expect(lines).toMatchObject([
      { usagev: 120, aprice: 0.2, band: '', out_group: 120 },
      { usagev: 240, aprice: 0.16, band: 'evening', out_group: 240 },
    ])
  })

  it('is charged the price of an earlier enquiry', async () => {
    const event = { ...caller, usaget: 'call', usagev: 90, urt: at('13:00:00') }
    const asked = await ask('event', 'asked', 0, { ...event, pretend: true })
    expect(asked).toMatchObject({ returnCode: 1, grantedVolume: 90, aprice: 0.2 })
    expect(asked).toMatchObject({ finalCharge: 0.234 })
    expect(asked).toMatchObject({ rateKey: 'NATIONAL', outGroup: 90 })
    expect(await ask('event', 'charged', 0, event)).toMatchObject({ grantedVolume: 90 })
    const [line] = await linesOf('charged')
    expect(line).toMatchObject({
      aprice: asked['aprice'],
      final_charge: asked['finalCharge'],
      tax_data: asked['taxData'],
      in_group: asked['inGroup'],
      over_group: asked['overGroup'],
      out_group: asked['outGroup'],
      arate_key: asked['rateKey'],
      rating: asked['rating'],
    })
    expect(
      await withCatalog(product, ({ lines }) => lines.countDocuments({ session_id: 'asked' })),
    ).toBe(0)
  })

  it('is refused without any identifier', async () => {
    const event = { usaget: 'call', usagev: 90, called_number: NATIONAL }
    expect(await ask('event', 'nobody', 0, event)).toMatchObject({ status: 400, returnCode: -20 })
    expect(
      await ask('event', 'nobody', 0, { ...event, calling_number: '015900003' }),
    ).toMatchObject({ returnCode: -2 })
  })
})

describe('the start of the product', () => {
  it('is refused by a rule that cannot be used', async () => {
    const wrong = { TOLLGATE_RATING_CUSTOMER_IDENTIFICATION: '{"call":[{"src_key":"a"}]}' }
    const other = await startProduct({ environment: wrong })
    try {
      await expect(other.start('realtime')).rejects.toThrow(
        'rating.customerIdentification.call.0.target_key is missing',
      )
    } finally {
      await other.stop()
    }
  })

  it('skips entities that cannot be used, and counts them', async () => {
    const metrics = async () => (await fetch(`${product.adminUrl}/metrics`)).text()
    await waitUntil('the metrics', async () => (await metrics()).includes('catalogue_skipped'))
    const text = await metrics()
    expect(text).toMatch(/^tollgate_catalogue_skipped\{collection="rates",.*\} 1$/m)
    expect(text).toMatch(/^tollgate_catalogue_skipped\{collection="plans",.*\} 0$/m)
    const names = await (await fetch(`${product.adminUrl}/health/catalogue`)).json()
    expect(names).toMatchObject({ status: 'incomplete', skipped: [{ collection: 'rates' }] })
  })
})

describe('a refund', () => {
  it('returns the money, with a line that reverses the first one', async () => {
    const owner = { aid: aidOf(0, 1), sid: FIRST_SID }
    const moneyOf = async () => (await reader.ownerOf(owner.aid, owner.sid)).buckets[0]?.free
    const event = { sid: owner.sid, usaget: 'sms', usagev: 2, urt: at('12:00:00') }
    expect(await ask('event', 'refunded', 0, event)).toMatchObject({ grantedVolume: 2 })
    expect(await moneyOf()).toBe(MONEY - 80_000)
    const refund = { sid: owner.sid, refund: true, urt: at('12:05:00') }
    const given = await ask('event', 'refunded', 1, refund)
    expect(given).toMatchObject({ returnCode: 1, grantedVolume: 2 })
    expect((await ask('event', 'refunded', 1, refund)).text).toBe(given.text)
    expect(await ask('event', 'refunded', 2, refund)).toMatchObject({ returnCode: -14 })
    expect(await moneyOf()).toBe(MONEY)
    expect(await linesOf('refunded', 2)).toMatchObject([
      { usagev: 2, aprice: 0.08, final_charge: 0.0936, payments: [{ cost: 0.08 }] },
      { usagev: -2, aprice: -0.08, final_charge: -0.0936, payments: [{ cost: -0.08 }] },
    ])
  })
})

/** Last, because it changes the tax of all subscribers. */
describe('a tax that is set while the node charges', () => {
  it('applies to sessions that begin shortly afterwards, without a restart', async () => {
    const event = { sid: FIRST_SID, usaget: 'traffic', usagev: 1, urt: at('12:40:00') }
    let number = 0
    const taxesNow = async () => {
      number += 1
      const id = `taxed-${number}`
      expect(await ask('event', id, 0, event)).toMatchObject({ returnCode: 1 })
      const [line] = await linesOf(id)
      const data = line?.['tax_data'] as { taxes: { key: string; tax: number }[] } | undefined
      return (data?.taxes ?? []).map(({ key, tax }) => `${key} ${tax}`)
    }
    expect(await taxesNow()).toEqual(['DEFAULT_VAT 0.17'])
    await withCatalog(product, async (catalog) => {
      const reduced = { key: 'REDUCED', description: 'VAT', rate: 0.07, from: SINCE }
      await writeEntity(catalog, 'taxes', reduced, { mode: 'insert', timeZone: 'UTC' })
    })
    const file = join(product.folder, 'taxation.json')
    await writeFile(file, '{"default":"REDUCED"}')
    expect((await tollgate(product, ['settings', 'set', 'taxation', file])).code).toBe(0)
    await waitUntil('the new tax', async () => (await taxesNow())[0] === 'REDUCED 0.07')
    expect((await tollgate(product, ['settings', 'unset', 'taxation'])).code).toBe(0)
    await waitUntil('the old tax', async () => (await taxesNow())[0] === 'DEFAULT_VAT 0.17')
  })
})
