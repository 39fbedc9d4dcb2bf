/** `POST /api/cards` with `method`: the row of prepaid cards, and wrong input. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { cards } from '../../../src/admin/actions/cards.ts'
import {
  type ActionAnswer,
  type Fields,
  useActionServer,
} from '../../support/admin/actions/action-server.ts'
import { insertEntity } from '../../support/catalog/store.ts'

const api = useActionServer([cards], {
  TOLLGATE_SECRETS_KEY: 'a key of these tests, long enough for it',
})

const CARD = {
  secret: '000000000001',
  batch_number: 7,
  serial_number: 1,
  charging_plan_name: 'TOPUP20',
  service_provider: 'ACME',
  to: '2027-01-31',
  additional_information: 'spring',
}

beforeAll(async () => {
  const { catalog } = api
  const include = [{ pp_includes_external_id: 1, value: -20, operation: 'default' }]
  for (const name of ['TOPUP20', 'TOPUP50']) {
    const group = { name, description: name, operation: 'inc', include, from: '2026-01-01' }
    await insertEntity(catalog(), 'prepaidgroups', group)
  }
})
beforeEach(async () => {
  await api.catalog().cards.deleteMany({})
  await api.catalog().audit.deleteMany({})
})

const ask = (method: string, params: Fields) => api.ask('cards', { method, ...params })
const create = (...more: Fields[]) => {
  const wanted = more.length === 0 ? [{}] : more
  return ask('create', { cards: wanted.map((one) => JSON.stringify({ ...CARD, ...one })) })
}
const batchOf = (size: number) =>
  Array.from({ length: size }, (_, index) => ({
    serial_number: index + 1,
    secret: String(index + 1).padStart(12, '0'),
  }))
const statusOf = async () =>
  (await api.catalog().cards.find().sort({ serial_number: 1 }).toArray()).map((one) => one.status)

function expectNoSecret(answer: ActionAnswer): void {
  expect(answer.text).not.toMatch(/0000000000\d\d/)
  expect(answer.text).not.toContain('secret')
}

describe('/api/cards create', () => {
  it('returns the created cards without their secrets, in state Idle', async () => {
    const answer = await create({}, { serial_number: 2, secret: '000000000002' })
    expect(answer).toMatchObject({ status: 1, desc: 'Success creating cards' })
    expect(answer['details']).toMatchObject([
      {
        batch_number: 7,
        serial_number: 1,
        charging_plan_name: 'TOPUP20',
        service_provider: 'ACME',
        to: '2027-01-31T00:00:00+0000',
        status: 'Idle',
        creation_time: '2026-06-15T12:00:00+0000',
        additional_information: 'spring',
      },
      { serial_number: 2 },
    ])
    expectNoSecret(answer)
    const stored = await api.catalog().cards.find().toArray()
    expect(stored.every(({ secret_hmac }) => /^[0-9a-f]{128}$/.test(secret_hmac))).toBe(true)
    const records = await api.catalog().audit.find({ collection: 'cards' }).toArray()
    expect(records).toMatchObject([
      { type: 'create', key: '7', new: { count: 2, serial_numbers: { from: 1, to: 2 } } },
    ])
  })

  it.each([
    ['a list of objects', [{ ...CARD, status: 'idle' }]],
    ['one object', CARD],
    ['a list of JSON texts', [JSON.stringify({ ...CARD, creation_time: '2026-01-01' })]],
  ])('takes %s', async (_what, list) => {
    expect(await ask('create', { cards: list })).toMatchObject({ status: 1 })
    const json = await api.ask('cards', { method: 'create', cards: list }, { as: 'json' })
    expect(json['desc']).toContain('exists already')
  })

  it.each([
    [{ secret: undefined }, 'cards.0.secret is missing'],
    [{ secret: '12345678901' }, 'cards.0.secret must have 12 digits'],
    [{ secret: '1234567890123' }, 'cards.0.secret must have 12 digits'],
    [{ secret: '12345678901a' }, 'cards.0.secret must have 12 digits'],
    [{ secret: 12 }, 'cards.0.secret must have 12 digits'],
    [{ batch_number: undefined }, 'cards.0.batch_number is missing'],
    [{ batch_number: '07' }, 'cards.0.batch_number must be a positive integer without leading'],
    [{ batch_number: 0 }, 'cards.0.batch_number must be a positive integer'],
    [{ serial_number: -1 }, 'cards.0.serial_number must be a positive integer'],
    [{ serial_number: 1.5 }, 'cards.0.serial_number must be a positive integer'],
    [{ serial_number: undefined }, 'cards.0.serial_number is missing'],
    [{ charging_plan_name: undefined }, 'cards.0.charging_plan_name is missing'],
    [{ charging_plan_name: '' }, 'cards.0.charging_plan_name must be a text'],
    [{ charging_plan_name: 'NONE' }, 'there is no charging plan NONE now'],
    [{ service_provider: undefined }, 'cards.0.service_provider is missing'],
    [{ service_provider: { $ne: 1 } }, 'cards.0.service_provider must be a text'],
    [{ service_provider: 'x'.repeat(1001) }, 'cards.0.service_provider must be a text'],
    [{ to: undefined }, 'cards.0.to is missing'],
    [{ to: 'soon' }, 'cards.0.to must be a date'],
    [{ additional_information: undefined }, 'cards.0.additional_information is missing'],
    [{ status: 'active' }, 'cards.0.status must be Idle in a new card'],
    [{ status: 'Lost' }, 'cards.0.status must be one of Idle, Shipped, active'],
    [{ creation_time: [] }, 'cards.0.creation_time must be a date'],
    [{ colour: 'red' }, 'cards.0.colour is not one of secret, batch_number'],
  ])('refuses %j', async (more, text) => {
    const answer = await create(more)
    expect(answer).toMatchObject({ http: 200, status: 0, display: { code: 1101 } })
    expect(answer['desc']).toContain(text)
    expect(answer['message']).toBe(answer['desc'])
    expect(answer.text).not.toContain('12345678901')
    expect(await api.catalog().cards.countDocuments()).toBe(0)
  })

  it.each([
    [undefined, 'cards must be a list of cards'],
    ['', 'cards must be a list of cards'],
    ['[]', 'cards must be a list of cards'],
    ['7', 'cards must be a list of cards'],
    ['[7]', 'cards.0 must be an object'],
    ['["x"]', 'cards.0 is not JSON'],
    [JSON.stringify(Array.from({ length: 10_001 }, () => 1)), 'at most 10000 are possible'],
  ])('refuses the list %j', async (list, text) => {
    const answer = await ask('create', list === undefined ? {} : { cards: list })
    expect(answer).toMatchObject({ http: 200, status: 0 })
    expect(answer['desc']).toContain(text)
  })

  it('creates all cards or none', async () => {
    await create()
    const twice = await create({ serial_number: 2, secret: '000000000002' }, { serial_number: 3 })
    expect(twice['desc']).toBe('a card with the secret of cards.1 exists already')
    const number = await create({ secret: '000000000009' })
    expect(number['desc']).toBe('card 7/1 exists already')
    const within = await create({ serial_number: 4, secret: '000000000004' }, { serial_number: 4 })
    expect(within['desc']).toBe('card 7/4 exists already')
    expect(await api.catalog().cards.countDocuments()).toBe(1)
  })
})

describe('/api/cards query', () => {
  it('returns the cards of a range without their secrets, by pages', async () => {
    await create(...batchOf(5))
    const query = { batch_number: 7, serial_number: { $gte: 2, $lte: 9 } }
    const all = await ask('query', { query })
    expect(all).toMatchObject({ status: 1, desc: 'Success querying cards' })
    const serials = (answer: Fields) =>
      (answer['details'] as Fields[]).map(({ serial_number }) => serial_number)
    expect(serials(all)).toEqual([2, 3, 4, 5])
    expectNoSecret(all)
    expect(serials(await ask('query', { query, size: 3, page: 1 }))).toEqual([5])
    expect(serials(await ask('query', { query, size: 3, page: 2 }))).toEqual([])
    const bySecret = { batch_number: '7', serial_number: '3', secret: '000000000003' }
    expect(serials(await ask('query', { query: bySecret }))).toEqual([3])
    const idle = { ...query, status: 'IDLE' }
    expect(serials(await ask('query', { query: idle }))).toEqual([2, 3, 4, 5])
  })

  it.each([
    [{}, 'query is missing'],
    [{ query: {} }, 'query.batch_number is missing'],
    [{ query: { batch_number: 7 } }, 'query.serial_number is missing'],
    [{ query: { batch_number: 7, serial_number: { $gte: 1 } } }, 'must have both $gte and $lte'],
    [{ query: { batch_number: 7, serial_number: { $gt: 1, $lte: 2 } } }, 'must have both'],
    [
      { query: { batch_number: { $ne: 1 }, serial_number: 1 } },
      'query.batch_number must have both',
    ],
    [{ query: { batch_number: 7, serial_number: 1, status: 'x' } }, 'query.status must be one of'],
    [{ query: { batch_number: 7, serial_number: 1, secret: '1' } }, 'must have 12 digits'],
    [{ query: { batch_number: 7, serial_number: 1, $where: '1' } }, '$where'],
    [{ query: { batch_number: 7, serial_number: 1 } }, 'there is no such card'],
    [{ query: { batch_number: 7, serial_number: 1 }, size: 0 }, 'Field size must be at least 1'],
    [{ query: { batch_number: 7, serial_number: 1 }, page: -1 }, 'Field page must be at least 0'],
    [{ query: '{' }, 'query is not JSON'],
  ])('refuses %j', async (params, text) => {
    const answer = await ask('query', params)
    expect(answer).toMatchObject({ http: 200, status: 0 })
    expect(answer['desc']).toContain(text)
  })
})

describe('/api/cards update', () => {
  it('returns the number of updated cards', async () => {
    await create(...batchOf(3))
    const query = { batch_number: 7, serial_number: { $gte: 1, $lte: 2 } }
    const answer = await ask('update', { query, update: { status: 'active' } })
    expect(answer).toMatchObject({ status: 1, desc: 'Success updating cards', details: 2 })
    expect(await statusOf()).toEqual(['Active', 'Active', 'Idle'])
    const update = { charging_plan_name: 'TOPUP50', service_provider: 'X', to: '2028-01-01' }
    expect(await ask('update', { query, update })).toMatchObject({ details: 2 })
    const shown = await ask('query', { query: { batch_number: 7, serial_number: 1 } })
    expect(shown['details']).toMatchObject([
      { ...update, to: '2028-01-01T00:00:00+0000', status: 'active' },
    ])
    const records = await api.catalog().audit.find({ type: 'update' }).toArray()
    expect(records).toMatchObject([{ key: '7', new: { status: 'Active' } }, { key: '7' }])
  })

  it('renumbers a card, but not to the number of another one', async () => {
    await create(...batchOf(2))
    const query = { batch_number: 7, serial_number: 2 }
    const taken = await ask('update', { query, update: { serial_number: 1 } })
    expect(taken['desc']).toBe('update: such a card exists already')
    const moved = { batch_number: 8, serial_number: 1 }
    expect(await ask('update', { query, update: moved })).toMatchObject({ details: 1 })
    expect(await ask('query', { query: moved })).toMatchObject({ status: 1 })
  })

  const STATES = ['Idle', 'Shipped', 'Active', 'Used', 'Expired', 'Stolen', 'Cancelled'] as const
  const BEFORE: Readonly<Record<string, readonly string[]>> = {
    idle: [],
    Shipped: ['Idle', 'Active'],
    active: ['Idle', 'Shipped'],
    USED: ['Idle', 'Shipped', 'Active'],
    Expired: ['Idle', 'Shipped', 'Active'],
    Stolen: ['Idle', 'Shipped', 'Active'],
    cancelled: ['Idle', 'Shipped', 'Active'],
    Disqualified: ['Idle', 'Shipped', 'Active'],
  }
  it.each(Object.entries(BEFORE))('lets cards become %s from %j only', async (status, allowed) => {
    for (const before of STATES) {
      await api.catalog().cards.deleteMany({})
      await create()
      await api.catalog().cards.updateOne({}, { $set: { status: before } })
      const query = { batch_number: 7, serial_number: 1 }
      const answer = await ask('update', { query, update: { status } })
      expect([before, answer.status]).toEqual([before, allowed.includes(before) ? 1 : 0])
      if (answer.status === 0) expect(answer['desc']).toMatch(/cannot become .*; only .* can/)
    }
  })

  it('finds cancelled cards by both names', async () => {
    await create()
    const query = { batch_number: 7, serial_number: 1 }
    await ask('update', { query, update: { status: 'Disqualified' } })
    for (const status of ['cancelled', 'Disqualified']) {
      const found = await ask('query', { query: { ...query, status } })
      expect(found['details']).toMatchObject([{ status: 'cancelled' }])
    }
  })

  it.each([
    [{ update: { status: 'active' } }, 'query is missing'],
    [
      { query: { batch_number: 7 }, update: { status: 'active' } },
      'query.serial_number is missing',
    ],
    [{ query: { batch_number: 7, serial_number: 1 } }, 'update has nothing to change'],
    [{ query: { batch_number: 7, serial_number: 1 }, update: {} }, 'update has nothing to change'],
    [{ query: { batch_number: 7, serial_number: 1 }, update: { secret: '1' } }, 'update.secret is'],
    [{ query: { batch_number: 7, serial_number: 1 }, update: { to: '?' } }, 'update.to must be a'],
    [
      { query: { batch_number: 7, serial_number: 9 }, update: { status: 'active' } },
      'no such card',
    ],
    [
      { query: { batch_number: 7, serial_number: 1 }, update: { charging_plan_name: 'NONE' } },
      'there is no charging plan NONE',
    ],
  ])('refuses %j', async (params, text) => {
    await create()
    const answer = await ask('update', params)
    expect(answer).toMatchObject({ http: 200, status: 0, display: { code: 1131 } })
    expect(answer['desc']).toContain(text)
    expect(await statusOf()).toEqual(['Idle'])
  })
})

describe('/api/cards delete', () => {
  it('returns the number of deleted cards, and keeps those that were used', async () => {
    await create(...batchOf(4))
    await api.catalog().cards.updateOne({ serial_number: 2 }, { $set: { status: 'Used' } })
    const part = { batch_number: 7, serial_number: { $gte: 3, $lte: 4 } }
    const answer = await ask('delete', { query: part })
    expect(answer).toMatchObject({ status: 1, desc: 'Success deleting cards', details: 2 })
    expect(await ask('delete', { query: { batch_number: 7 } })).toMatchObject({ details: 1 })
    const used = await ask('delete', { query: { batch_number: 7 } })
    expect(used).toMatchObject({ status: 0, desc: 'cards that were used cannot be deleted' })
    const none = await ask('delete', { query: { batch_number: 8 } })
    expect(none).toMatchObject({ status: 0, desc: 'there is no such card' })
    expect(await statusOf()).toEqual(['Used'])
  })

  it('needs the batch', async () => {
    const answer = await ask('delete', { query: { serial_number: 1 } })
    expect(answer).toMatchObject({ status: 0, desc: 'query.batch_number is missing' })
  })
})

it('other methods are refused by name; without one a payment card is tokenized', async () => {
  expect((await ask('print', {}))['desc']).toBe(
    'Field method must be one of create, update, query, delete',
  )
  expect((await api.ask('cards', {}))['desc']).toBe('Following field/s are missing: aid')
})

it('two processes that create the same card at once create it once', async () => {
  const other = await api.again()
  const params = { method: 'create', cards: [CARD] }
  const both = await Promise.all([
    ...[1, 2, 3].map(() => api.ask('cards', params)),
    ...[1, 2, 3].map(() => other.ask('cards', params)),
  ])
  expect(both.filter(({ status }) => status === 1)).toHaveLength(1)
  expect(await api.catalog().cards.countDocuments()).toBe(1)
  await other.close()
})
