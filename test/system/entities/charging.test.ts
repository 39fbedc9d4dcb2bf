/** The effect of writes over the entity API on charging, over HTTP and Diameter. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { command } from '../../../src/realtime/codecs/diameter-wire/protocol.ts'
import type { NamedAvps } from '../../../src/realtime/diameter/named.ts'
import { populate } from '../../support/product/population.ts'
import { type Product, startProduct } from '../../support/product/product.ts'
import { tollgate } from '../../support/system/command.ts'
import {
  creditControl,
  GATEWAY,
  granted,
  NODE_SETTINGS,
  service,
} from '../../support/system/diameter/gateway-requests.ts'
import { answerAsPeer, connectLink, type Link } from '../../support/system/diameter/link.ts'
import {
  createAccount,
  createSubscriber,
  type EntityClient,
  entityClient,
  idOf,
  nowOf,
  PREPAID_PLAN,
  pricePer,
} from '../../support/system/entities/client.ts'
import { type Fields, post, type Reply } from '../../support/system/exchange.ts'
import { waitUntil } from '../../support/wait.ts'

/** Credit of every subscriber, in the sign of balances. */
const CREDIT = -10

let product: Product
let client: EntityClient
let link: Link
let aid: number
let subscribers = 0
let sessions = 0

beforeAll(async () => {
  const environment = { ...NODE_SETTINGS, TOLLGATE_RECORDER_ENABLED: 'false' }
  product = await startProduct({ environment })
  await populate({ ...product, subscribers: 0, subscribersPerAccount: 1, credits: [] })
  await product.start('realtime')
  await product.start('admin')
  // A separate process, so that it can be stopped.
  await product.start('recorder')
  client = entityClient(product.adminUrl)
  const { diameterPort: port } = product
  link = await connectLink({ port, identity: GATEWAY, respond: answerAsPeer(GATEWAY) })
  await createCatalogue()
}, 120_000)
afterAll(async () => {
  await link?.close()
  await product?.stop()
})

const since = { from: '2020-01-01' }

async function createCatalogue(): Promise<void> {
  const { done } = client
  const plan = { ...since, ...PREPAID_PLAN }
  await done('plans/create', { update: { ...plan, name: 'PLAIN' } })
  await done('plans/create', {
    update: { ...plan, name: 'DEAR', rates: { DATA: { data: { percentage: 2 } } } },
  })
  const retail = { pricing_method: 'tiered', tariff_category: 'retail' }
  for (const usaget of ['traffic', 'film']) {
    const rates = { [usaget]: pricePer(1, 0.001) }
    const rate = { ...since, ...retail, key: usaget.toUpperCase(), rates }
    await done('rates/create', { update: rate })
  }
  const by = { charging_by: 'total_cost', charging_by_usaget: 'total_cost', priority: 5 }
  await done('prepaidincludes/create', {
    update: { ...since, ...by, name: 'PURSE', external_id: 101 },
  })
  await done('services/create', {
    update: {
      ...since,
      name: 'FILMS',
      price: PREPAID_PLAN.price,
      prorated: false,
      recurrence: PREPAID_PLAN.recurrence,
      include: { groups: { FILMS: { value: 70, usage_types: { film: {} } } } },
    },
  })
  aid = await createAccount(client)
}

interface Subscriber {
  sid: number
  msisdn: string
}

/** Creates a subscriber with money over HTTP. */
async function newSubscriber(more: Fields = {}): Promise<Subscriber> {
  subscribers += 1
  const msisdn = `4479460${String(subscribers).padStart(5, '0')}`
  const { sid } = await createSubscriber(client, aid, { plan: 'PLAIN', msisdn, ...more })
  const { details } = await client.done('balances/update', {
    query: { sid, pp_includes_external_id: 101 },
    update: { value: CREDIT },
  })
  expect(details).toBe(true)
  return { sid, msisdn }
}

type EventReply = Reply & Record<string, unknown>

/** A session over /realtime that requests all its credit by default. */
function sessionOf({ msisdn }: Pick<Subscriber, 'msisdn'>, usaget = 'traffic') {
  sessions += 1
  const session_id = `entities-${sessions}`
  let request_num = -1
  const ask = async (kind: string, more: Fields): Promise<EventReply> => {
    request_num += 1
    const what = { record_type: `${kind}_request`, session_id, request_num }
    return (await post(product.realtimePort, { ...what, msisdn, usaget, ...more })) as EventReply
  }
  const all = { usagev: 1_000_000 }
  return {
    id: session_id,
    start: (usagev = all.usagev) => ask('start', { usagev }),
    update: (used = 0) => ask('update', { ...all, used_usagev: used }),
    release: (used = 0) => ask('release', { used_usagev: used }),
    event: (usagev: number) => ask('event', { usagev }),
    pretend: () => ask('start', { ...all, pretend: true }),
  }
}

/** The units that a subscriber would be granted, without opening a session. */
async function grantableUnits(
  subscriber: Pick<Subscriber, 'msisdn'>,
  usaget?: string,
): Promise<number> {
  return (await sessionOf(subscriber, usaget).pretend()).grantedVolume
}

const balancesOf = (sid: number) => client.rows('balances', { sid })

/** Time limit for "within a second" on a busy machine. */
const SOON_MS = 30_000

async function soon(what: string, condition: () => Promise<boolean>): Promise<void> {
  await waitUntil(what, condition, SOON_MS)
}

describe('entities created over the entity API', () => {
  it('are charged: account, plan, rate, prepaid include, subscriber, credit', async () => {
    const subscriber = await newSubscriber()
    const session = sessionOf(subscriber)
    await soon('the catalogue', async () => (await grantableUnits(subscriber)) === 10_000)
    expect(await session.start(4_000)).toMatchObject({ returnCode: 1, grantedVolume: 4_000 })
    expect(await session.release(3_000)).toMatchObject({ returnCode: 1 })
    expect(await balancesOf(subscriber.sid)).toMatchObject([
      { aid, pp_includes_name: 'PURSE', spent: 3_000_000, reserved: 0, free: 7_000_000 },
    ])
  })

  it('show reserved units in their balance without the recorder', async () => {
    const subscriber = await newSubscriber()
    process.kill(product.pid('recorder'), 'SIGSTOP')
    try {
      const session = sessionOf(subscriber)
      expect(await session.start(4_000)).toMatchObject({ grantedVolume: 4_000 })
      const held = { credited: 10_000_000, reserved: 4_000_000, free: 6_000_000 }
      expect(await balancesOf(subscriber.sid)).toMatchObject([held])
      await session.release(4_000)
      const spent = { spent: 4_000_000, reserved: 0, balance: { cost: -6 } }
      expect(await balancesOf(subscriber.sid)).toMatchObject([spent])
    } finally {
      process.kill(product.pid('recorder'), 'SIGCONT')
    }
  })
})

describe('a new price', () => {
  it.each([
    { action: 'closeandnew', price: 0.002, gets: 5_000, from: () => ({}) },
    {
      action: 'permanentchange',
      price: 0.004,
      gets: 2_500,
      from: () => ({ from: new Date().toISOString() }),
    },
  ])('by $action applies to new sessions and to open ones', async (one) => {
    const subscriber = await newSubscriber()
    const open = sessionOf(await newSubscriber())
    const before = await open.start()
    expect(before.grantedVolume).toBe(await grantableUnits(subscriber))
    const update = { ...one.from(), rates: { traffic: pricePer(1, one.price) } }
    await client.done(`rates/${one.action}`, { query: nowOf({ key: 'TRAFFIC' }), update })
    await soon('the new price', async () => (await grantableUnits(subscriber)) === one.gets)
    await soon('it for the session', async () => (await open.update()).grantedVolume === one.gets)
    expect(await open.release()).toMatchObject({ returnCode: 1 })
  })
})

/** A data session over Diameter that requests MiB. */
async function diameterSession({ msisdn }: Subscriber, asked = 2_000) {
  sessions += 1
  const id = `entities;${sessions}`
  let number = 0
  const say = async (type: 'initial' | 'update' | 'termination', more: NamedAvps) => {
    const avps = creditControl(id, type, number, more)
    number += 1
    return (await link.ask(command.creditControl, avps)).named
  }
  const asks = (code: number) =>
    link.received.filter((one) => one.command === code && one.named['Session-Id'] === id).length
  const subscription = {
    'Subscription-Id': { 'Subscription-Id-Type': 0, 'Subscription-Id-Data': msisdn },
  }
  return {
    answer: await say('initial', { ...subscription, ...service({ asked }) }),
    end: () => say('termination', { 'Termination-Cause': 1, ...service({ used: 0 }) }),
    asked: () => asks(command.reAuth),
    isAsked: (count: number) =>
      waitUntil(`request ${count} for ${id}`, () => asks(command.reAuth) >= count),
    isAborted: () => waitUntil(`an abort of ${id}`, () => asks(command.abortSession) > 0),
    /** Updates only after a RAR, until the given amount is granted. */
    async updateUntilGranted(mib: number) {
      // RARs for earlier changes, such as the first credit, may arrive late.
      for (let count = 1; ; count += 1) {
        await waitUntil(`request ${count} for ${id}`, () => asks(command.reAuth) >= count)
        const answer = await say('update', service({ asked, used: 0 }))
        if (unitsOf(answer) === unitsOf(granted(mib))) return
      }
    },
  }
}

function unitsOf(answer: NamedAvps): unknown {
  const { 'Granted-Service-Unit': units } = answer['Multiple-Services-Credit-Control'] as NamedAvps
  return (units as NamedAvps | undefined)?.['CC-Total-Octets']
}

describe('an open Diameter session receives a RAR', () => {
  it('when its subscriber changes to another plan, and is charged at its prices', async () => {
    const subscriber = await newSubscriber()
    const session = await diameterSession(subscriber)
    expect(session.answer).toMatchObject(granted(1_000))
    await client.done('subscribers/closeandnew', {
      query: nowOf({ sid: subscriber.sid }),
      update: { plan: 'DEAR' },
    })
    await session.updateUntilGranted(500)
    expect(await session.end()).toMatchObject({ 'Result-Code': 2001 })
    expect(await balancesOf(subscriber.sid)).toMatchObject([{ spent: 0, reserved: 0 }])
  })

  it('once for an action that writes two revisions, of the subscriber or of its plan', async () => {
    const [subscriber, marker] = [await newSubscriber(), await newSubscriber()]
    const session = await diameterSession(subscriber)
    // By then earlier changes, the new subscribers and their credit, have been notified.
    const settled = async () => {
      const other = await diameterSession(marker)
      const query = nowOf({ sid: marker.sid })
      const before = other.asked()
      await client.done('subscribers/closeandnew', { query, update: { firstname: 'x' } })
      await other.isAsked(before + 1)
      await other.end()
    }
    await settled()
    for (const [path, query, update] of [
      ['subscribers/closeandnew', { sid: subscriber.sid }, { firstname: 'y' }],
      ['plans/closeandnew', { name: 'DEAR' }, { description: 'z' }],
    ] as const) {
      const before = session.asked()
      await client.done(path, { query: nowOf(query), update })
      await session.isAsked(before + 1)
      await settled()
      expect(session.asked()).toBe(before + 1)
    }
    expect(await session.end()).toMatchObject({ 'Result-Code': 2001 })
  })

  it('when its plan has another price', async () => {
    const session = await diameterSession(await newSubscriber({ plan: 'DEAR' }))
    expect(session.answer).toMatchObject(granted(500))
    const rates = { DATA: { data: { percentage: 4 } } }
    await client.done('plans/permanentchange', {
      query: nowOf({ name: 'DEAR' }),
      update: { from: new Date().toISOString(), rates },
    })
    await session.updateUntilGranted(250)
    expect(await session.end()).toMatchObject({ 'Result-Code': 2001 })
  })
})

describe('a subscriber', () => {
  it('is denied while barred, and unknown once closed', async () => {
    const subscriber = await newSubscriber()
    const open = sessionOf(subscriber)
    expect((await open.start(100)).returnCode).toBe(1)
    const bar = (barred: boolean) =>
      client.done('subscribers/update', {
        query: nowOf({ sid: subscriber.sid }),
        update: { barred },
      })
    await bar(true)
    expect(await sessionOf(subscriber).start()).toMatchObject({ returnCode: -11 })
    expect(await open.update(50)).toMatchObject({ returnCode: -11 })
    await bar(false)
    // Denials write nothing: the cached profile may be used until the next poll of the catalogue.
    await soon(
      'it to be served',
      async () => (await sessionOf(subscriber).event(10)).returnCode === 1,
    )
    const [revision = {}] = await client.rows('subscribers', { sid: subscriber.sid })
    await client.done('subscribers/close', { query: { _id: idOf(revision) } })
    expect(await sessionOf(subscriber).start()).toMatchObject({ returnCode: -2 })
    expect(await open.release(20)).toMatchObject({ returnCode: 1 })
  })

  it('can use the included units of a service as soon as it is pushed', async () => {
    const subscriber = await newSubscriber()
    const films = (count: number) => sessionOf(subscriber, 'film').event(count)
    expect(await films(10)).toMatchObject({ returnCode: 1 })
    const services = { field_name: 'services', field_values: [{ name: 'FILMS' }] }
    await client.done('subscribers/update', {
      query: nowOf({ sid: subscriber.sid }),
      update: {},
      options: { push_fields: [services] },
    })
    expect(await films(100)).toMatchObject({ returnCode: 1 })
    // 70 of 110 films were included.
    const balances = await balancesOf(subscriber.sid)
    expect(balances).toContainEqual(expect.objectContaining({ group_name: 'FILMS', spent: 70 }))
    expect(balances).toContainEqual(
      expect.objectContaining({ pp_includes_name: 'PURSE', spent: 40_000 }),
    )
  })

  it('moves its credit to another account, and uses it there immediately', async () => {
    const subscriber = await newSubscriber()
    const session = sessionOf(subscriber, 'film')
    expect(await session.start(4_000)).toMatchObject({ grantedVolume: 4_000 })
    expect(await session.release(4_000)).toMatchObject({ returnCode: 1 })
    const other = await createAccount(client)
    await client.done('subscribers/closeandnew', {
      query: nowOf({ sid: subscriber.sid }),
      update: { aid: other },
    })
    const there = sessionOf(subscriber, 'film')
    expect(await there.start()).toMatchObject({ returnCode: 1, grantedVolume: 6_000 })
    expect(await there.release(1_000)).toMatchObject({ returnCode: 1 })
    expect(await balancesOf(subscriber.sid)).toMatchObject([{ aid: other, free: 5_000_000 }])
    await waitUntil('the lines of the transfer', async () => {
      const lines = await client.rows('lines', { sid: subscriber.sid })
      const operations = lines.map((line) => `${line['operation']} ${line['aid']}`)
      return (
        operations.includes(`transfer_out ${aid}`) && operations.includes(`transfer_in ${other}`)
      )
    })
  })
})

describe('a balance that is deleted while sessions have reserved from it', () => {
  it('is removed, and its sessions are ended', async () => {
    const subscriber = await newSubscriber()
    const [over, away] = [sessionOf(subscriber, 'film'), await diameterSession(subscriber, 100)]
    expect(await over.start(4_000)).toMatchObject({ grantedVolume: 4_000 })
    expect(away.answer).toMatchObject(granted(100))
    const [balance = {}] = await balancesOf(subscriber.sid)
    expect(balance).toMatchObject({ reserved: 5_000_000 })
    expect(await client.done('balances/delete', { query: { _id: idOf(balance) } })).toMatchObject({
      details: true,
    })
    expect(await balancesOf(subscriber.sid)).toEqual([])
    await away.isAborted()
    expect(await over.update(0)).toMatchObject({ returnCode: -8 })
    expect(await sessionOf(subscriber, 'film').start()).toMatchObject({ returnCode: -1 })
  })
})

it('the audit finds no difference afterwards', async () => {
  expect(await tollgate(product, ['audit'])).toMatchObject({ code: 0, stderr: '' })
})
