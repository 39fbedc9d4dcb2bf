/** Batches of cards for the printer, and their nightly end. */
import { mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { type CardSecrets, cardSecretsOf } from '../../../src/catalog/sealing/card-secrets.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { jobsDue, readJob } from '../../../src/jobs/jobs.ts'
import { runJob } from '../../../src/jobs/runner.ts'
import { type BatchOrder, createBatch } from '../../../src/prepaid/cards/batch.ts'
import { beginCardExpiry, cardExpiryHandler } from '../../../src/prepaid/cards/expiry.ts'
import { countCards, deleteCards, updateCards } from '../../../src/prepaid/cards/store.ts'
import { insertEntity, useStore } from '../../support/catalog/store.ts'
import { silent } from '../../support/recorder/accounts.ts'

const store = useStore()
const NOW_MS = Date.UTC(2026, 10, 26, 12)
const config = loadConfig({
  env: {
    TOLLGATE_SECRETS_KEY: 'a key of these tests, long enough for it',
    TOLLGATE_RATING_TIME_ZONE: 'Europe/Berlin',
  },
})
const actor = { by: 'cli', id: '', name: 'tester', address: '' } as const
const END = '2028-01-01T00:00:00+0100'
let folder: string
let catalog: Catalog

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tg-cards-'))
})
afterAll(() => rm(folder, { recursive: true }))
beforeEach(async () => {
  catalog = await store.open()
  await catalog.ensureIndexes()
  await insertEntity(catalog, 'prepaidgroups')
})

const orderOf = (file: string, more: Partial<BatchOrder> = {}): BatchOrder => ({
  batch_number: 3,
  count: 2_500,
  firstSerial: 1,
  charging_plan_name: 'TOPUP20',
  service_provider: 'ACME, "Ltd"',
  to: new Date('2027-12-31T23:00:00Z'),
  additional_information: '',
  file: join(folder, file),
  isContinued: false,
  ...more,
})
const create = (order: BatchOrder, secrets: CardSecrets = cardSecretsOf(catalog, config)) =>
  createBatch({ catalog, actor, nowMs: NOW_MS, secrets, timeZone: 'Europe/Berlin' }, order)

/** Digests that call `act` before those of a part are returned. */
function whenPart(part: number, act: () => unknown): CardSecrets {
  const real = cardSecretsOf(catalog, config)
  let parts = 0
  return {
    ...real,
    async digests(secrets) {
      parts += 1
      if (parts === part) await act()
      return real.digests(secrets)
    },
  }
}

async function insertCard(serial_number: number): Promise<void> {
  const { file: _, count: __, firstSerial: ___, isContinued: ____, ...common } = orderOf('')
  const states = { status: 'Idle', creation_time: new Date(0) } as const
  await catalog.cards.insertOne({ ...common, ...states, serial_number, secret_hmac: 'other' })
}

async function serials(): Promise<number[]> {
  const found = await catalog.cards.find().sort({ serial_number: 1 }).toArray()
  return found.map(({ serial_number }) => serial_number)
}

/** The file has the secrets of all cards, which are stored. */
async function expectWhole({ file, count, firstSerial }: BatchOrder): Promise<void> {
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const rows = parse(await readFile(file, 'utf8'), { columns: true }) as Row[]
  expect(rows.map((row) => Number(row.serial_number))).toEqual(
    Array.from({ length: count }, (_, index) => firstSerial + index),
  )
  const digests = await cardSecretsOf(catalog, config).digests(rows.map(({ secret }) => secret))
  const stored = await catalog.cards.find().sort({ serial_number: 1 }).toArray()
  expect(stored.map(({ secret_hmac }) => secret_hmac)).toEqual(digests)
}

interface Row {
  serial_number: string
  secret: string
  to: string
  service_provider: string
}

describe('a batch', () => {
  it('has its secrets in a file of its owner only, and digests of them in MongoDB', async () => {
    const order = orderOf('whole.csv')
    await create(order)
    expect((await stat(order.file)).mode & 0o777).toBe(0o600)
    const text = await readFile(order.file, 'utf8')
    const rows = parse(text, { columns: true }) as Row[]
    expect(rows).toHaveLength(2_500)
    expect(rows.every(({ secret }) => /^\d{12}$/.test(secret))).toBe(true)
    expect(rows[2_499]).toMatchObject({
      serial_number: '2500',
      service_provider: 'ACME, "Ltd"',
      to: END,
    })
    const digests = await cardSecretsOf(catalog, config).digests(rows.map(({ secret }) => secret))
    const stored = await catalog.cards.find().sort({ serial_number: 1 }).toArray()
    expect(stored.map(({ secret_hmac }) => secret_hmac)).toEqual(digests)
    expect(await countCards(catalog, 3)).toEqual([{ status: 'Idle', count: 2_500 }])
    const kept = JSON.stringify([stored, await catalog.audit.find().toArray()])
    expect(rows.every(({ secret }) => !kept.includes(secret))).toBe(true)
  })

  it('draws another secret if one exists already', async () => {
    await create(orderOf('first.csv', { count: 1 }))
    const real = cardSecretsOf(catalog, config)
    const [known] = await catalog.cards.find().toArray()
    let draws = 0
    const repeating: CardSecrets = {
      ...real,
      async digests(secrets) {
        draws += 1
        return draws === 1 ? [String(known?.secret_hmac)] : real.digests(secrets)
      },
    }
    await create(orderOf('second.csv', { count: 1, firstSerial: 2 }), repeating)
    // The last digest is that of the row in the file.
    expect(draws).toBe(3)
    expect(await catalog.cards.countDocuments()).toBe(2)
  })

  it('that is refused leaves neither cards nor a file', async () => {
    const order = orderOf('refused.csv')
    const failing = whenPart(3, () => insertCard(2_001))
    await expect(create(order, failing)).rejects.toThrow('card 3/2001 exists already')
    expect(await serials()).toEqual([2_001])
    for (const file of [order.file, `${order.file}.part`]) {
      await expect(stat(file)).rejects.toThrow('ENOENT')
    }
    await catalog.cards.deleteMany({})
    await create(order)
  })

  it('that draws again has only the last secrets in its file', async () => {
    const order = orderOf('drawn.csv', { count: 1_001 })
    const real = cardSecretsOf(catalog, config)
    let draws = 0
    await create(order, {
      ...real,
      async digests(secrets) {
        draws += 1
        const digests = await real.digests(secrets)
        const [stored] = draws === 2 ? await catalog.cards.find().toArray() : []
        return stored === undefined ? digests : [stored.secret_hmac]
      },
    })
    await expectWhole(order)
  })

  it('does not replace a file, or cards', async () => {
    const order = orderOf('exists.csv', { count: 2 })
    await writeFile(order.file, 'others')
    await expect(create(order)).rejects.toThrow('exists.csv exists already')
    expect(await readFile(order.file, 'utf8')).toBe('others')
    await create(orderOf('numbers.csv', { count: 2 }))
    const again = create(orderOf('again.csv', { count: 2, firstSerial: 2 }))
    await expect(again).rejects.toThrow('card 3/2 exists already')
    expect(await catalog.cards.countDocuments()).toBe(2)
  })

  it('is changed and deleted in parts, each with its audit record', async () => {
    await create(orderOf('parts.csv'))
    await create(orderOf('next.csv', { batch_number: 4, count: 1_200 }))
    const stores = { catalog, actor, nowMs: NOW_MS }
    await catalog.cards.updateOne({ serial_number: 1_500 }, { $set: { status: 'Used' } })
    expect(await updateCards(stores, { batchNumber: 3 }, { status: 'Active' })).toBe(2_499)
    const both = { batchNumber: { from: 3, to: 4 } }
    const to = new Date(NOW_MS)
    expect(await updateCards(stores, both, { to })).toBe(3_699)
    expect(await catalog.cards.countDocuments({ to })).toBe(3_699)
    expect(await updateCards(stores, { batchNumber: 4 }, { batch_number: 5 })).toBe(1_200)
    expect(await deleteCards(stores, { batchNumber: { from: 3, to: 5 } })).toBe(3_699)
    expect(await serials()).toEqual([1_500])
    const records = await catalog.audit.find({ type: { $ne: 'create' } }).toArray()
    expect(records.map(({ key, old }) => [key, (old as { count: number }).count])).toEqual([
      ...[1_000, 1_000, 499].map((count) => ['3', count]),
      ...[1_000, 1_000, 1_000, 699].map((count) => ['3-4', count]),
      ['4', 1_200],
      ...[1_000, 1_000, 1_000, 699].map((count) => ['3-5', count]),
    ])
  })

  it('needs a charging plan', async () => {
    const order = orderOf('plan.csv', { charging_plan_name: 'NONE' })
    await expect(create(order)).rejects.toThrow('there is no charging plan NONE now')
  })
})

describe('a batch that was interrupted', () => {
  /** Two of three parts are stored and written. */
  async function interrupted(file: string): Promise<{ wanted: BatchOrder; text: string }> {
    const order = orderOf(file)
    const failing = whenPart(3, () => {
      throw new Error('lost')
    })
    await expect(create(order, failing)).rejects.toThrow('lost')
    expect(await catalog.cards.countDocuments()).toBe(2_000)
    await expect(stat(order.file)).rejects.toThrow('ENOENT')
    return { wanted: order, text: await readFile(`${order.file}.part`, 'utf8') }
  }
  const resume = (order: BatchOrder) => create({ ...order, isContinued: true })

  it('is continued: what is stored keeps its secrets', async () => {
    const { wanted: order, text } = await interrupted('continued.csv')
    await expect(create(order)).rejects.toThrow('continued.csv.part exists already')
    const part = `${order.file}.part`
    // Also with rows whose cards were not stored, and a row of which a part was written.
    await writeFile(part, `${text}3,2001,123456789012,TOPUP20,"ACME, ""Ltd""",${END}\n3,2002,98`)
    await resume(order)
    expect((await readFile(order.file, 'utf8')).startsWith(text)).toBe(true)
    await expectWhole(order)
    await expect(stat(part)).rejects.toThrow('ENOENT')
  })

  it.each([
    ['nothing', ''],
    ['a part of the header', 'batch_num'],
  ])('is continued with %s written', async (_name, text) => {
    const order = orderOf('begun.csv', { count: 3 })
    await writeFile(`${order.file}.part`, text)
    await resume(order)
    await expectWhole(order)
    await rm(order.file)
  })

  it('is continued when all cards are stored', async () => {
    const order = orderOf('named.csv', { count: 3 })
    await create(order)
    await rename(order.file, `${order.file}.part`)
    await resume(order)
    await expectWhole(order)
  })

  it('is not continued as another one, and stays as it is', async () => {
    const { wanted: order, text } = await interrupted('other.csv')
    const others = [
      { batch_number: 4 },
      { count: 1_999 },
      { firstSerial: 2 },
      { charging_plan_name: 'OTHER' },
      { service_provider: 'ACME' },
      { to: new Date(0) },
    ]
    for (const other of others) {
      const resumed = resume({ ...order, ...other })
      await expect(resumed).rejects.toThrow('other.csv.part is not the file of these cards')
    }
    const without = resume(orderOf('nowhere.csv'))
    await expect(without).rejects.toThrow(/there is no .*nowhere.csv.part to continue/)
    await catalog.cards.deleteOne({ serial_number: 1_500 })
    await expect(resume(order)).rejects.toThrow('card 3/1501 exists already')
    expect(await readFile(`${order.file}.part`, 'utf8')).toBe(text)
    expect(await catalog.cards.countDocuments()).toBe(1_999)
  })

  it('does not get a file that lacks the secrets of cards', async () => {
    const { wanted: order } = await interrupted('changed.csv')
    const part = `${order.file}.part`
    const changing = whenPart(3, () => writeFile(part, ''))
    const resumed = create({ ...order, isContinued: true }, changing)
    await expect(resumed).rejects.toThrow('changed.csv.part was changed by another process')
    await expect(stat(order.file)).rejects.toThrow('ENOENT')
  })
})

describe('at night', () => {
  it('cards whose validity has ended expire, and the next night is awaited', async () => {
    await create(orderOf('night.csv', { count: 1_200, to: new Date(NOW_MS) }))
    await create(orderOf('later.csv', { count: 1, firstSerial: 2_000, to: new Date(NOW_MS + 1) }))
    const states = ['Used', 'Stolen', 'Shipped', 'Active'] as const
    for (const [index, status] of states.entries()) {
      await catalog.cards.updateOne({ serial_number: index + 1 }, { $set: { status } })
    }
    const clock = { nowMs: () => NOW_MS }
    await beginCardExpiry({ catalog, clock })
    const [job] = await jobsDue({ catalog, clock })
    if (job === undefined) throw new Error('no job')
    const handlers = { cards: cardExpiryHandler({ catalog, clock, config }) }
    const options = { catalog, clock, config, handlers, log: silent }
    await runJob(options, job, new AbortController().signal)
    expect(await countCards(catalog, 3)).toEqual([
      { status: 'Expired', count: 1_198 },
      { status: 'Idle', count: 1 },
      { status: 'Stolen', count: 1 },
      { status: 'Used', count: 1 },
    ])
    expect(await catalog.cards.findOne({ serial_number: 3 })).toMatchObject({
      expired_on: new Date(NOW_MS),
    })
    expect(await readJob({ catalog }, job._id)).toMatchObject({
      state: 'waiting',
      due: new Date('2026-11-26T23:00:00Z'),
      counts: { expired: 1_198 },
    })
    const records = await catalog.audit.find({ type: 'expire' }).toArray()
    expect(records.map(({ new: made }) => made)).toEqual([{ count: 1_000 }, { count: 198 }])
  })
})
