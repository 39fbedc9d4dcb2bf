/** Erasure of people: no collection or key keeps personal data, and the accounts stay balanced. */
import { BSON } from 'mongodb'
import { beforeEach, describe, expect, it } from 'vitest'
import { createEntityApi } from '../../../src/admin/entity-api.ts'
import { insertCredits } from '../../../src/billing/credit/insert-credits.ts'
import { STORED_CUSTOMERS } from '../../../src/billing/customer-lookup.ts'
import { recordPayments } from '../../../src/billing/payments/operations.ts'
import { paymentOrder } from '../../../src/billing/payments/payment-order.ts'
import { verifyChain } from '../../../src/catalog/audit/verify.ts'
import { ObjectId } from '../../../src/catalog/collections.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import type { CreditLineDocument } from '../../../src/catalog/records/usage/credit-line.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { readJob } from '../../../src/jobs/jobs.ts'
import { eraseHandler } from '../../../src/jobs/privacy/erase.ts'
import { requestErasure } from '../../../src/jobs/privacy/request.ts'
import { runJob } from '../../../src/jobs/runner.ts'
import { sessionField, sessionKeyOf } from '../../../src/ledger/keys.ts'
import { RULES } from '../../support/billing/books.ts'
import { dyingAfter } from '../../support/catalog/dying.ts'
import { type Fields, useApiServer } from '../../support/entities/api/api-server.ts'
import { make } from '../../support/entities/api/creators.ts'
import { openSession, silent, topUp } from '../../support/recorder/accounts.ts'

const world = useApiServer()

const ANN = { firstname: 'Annabel', lastname: 'Quimby', address: '12 Wisteria Lane' } as const
const SECRETS = [
  'Annabel',
  'Quimby',
  'Wisteria',
  'annabel@',
  '4917000',
  '26201000',
  'ZZ9 4QX',
  '4930555',
]

interface Person {
  aid: number
  sid: number
}

let last = 0

/** An account with a subscriber, several revisions of both, that have ended. */
async function person({ hasLeft = true } = {}): Promise<Person> {
  last += 1
  const plan = String((await make(world, 'plans')).entity['name'])
  const account = await make(world, 'accounts', {
    ...ANN,
    email: `annabel@example${last}.org`,
    zip_code: 'ZZ9 4QX',
  })
  const aid = Number(account.entity['aid'])
  const subscriber = await make(world, 'subscribers', {
    ...ANN,
    aid,
    plan,
    msisdn: `4917000${last}`,
    imsi: [`26201000${last}`],
  })
  const sid = Number(subscriber.entity['sid'])
  const by = (one: typeof account) => ({ query: { _id: one.entity._id.$id } })
  await world.ok('subscribers', 'update', { ...by(subscriber), update: { lastname: 'Quimby-Ash' } })
  const next = await world.ok('subscribers', 'closeandnew', {
    ...by(subscriber),
    update: { from: '2026-03-01', address: '9 Wisteria Court' },
  })
  if (hasLeft) {
    await world.ok('subscribers', 'close', { query: by(next).query, update: { to: '2026-05-01' } })
    await world.ok('accounts', 'close', { query: by(account).query, update: { to: '2026-05-01' } })
  }
  await addRecords(aid, sid)
  return { aid, sid }
}

const TESTER = { by: 'cli', id: '', name: 'tester', address: '' } as const

function creditOf(aid: number, sid: number, urt: Date): CreditLineDocument {
  return {
    ...{ stamp: `c-${sid}`, v: 1, type: 'credit', source: 'credit', usaget: 'charge', aid, sid },
    rate: 'FEE',
    aprice: 10,
    urt,
  } as unknown as CreditLineDocument
}

/** Records of charging, billing and imports about a person. */
async function addRecords(aid: number, sid: number): Promise<void> {
  const { catalog } = world.stores()
  const urt = new Date('2026-04-01')
  await catalog.lines.insertMany([
    {
      stamp: `r-${sid}`,
      v: 1,
      type: 'realtime',
      aid,
      sid,
      usagev: 60,
      aprice_micros: 5,
      session_id: 'pgw;1;4917000',
      called_number: '4930555',
      payments: [],
      urt,
    },
    {
      stamp: `b-${sid}`,
      v: 1,
      type: 'balance',
      aid,
      sid,
      bucket_id: 1,
      repaid_micros: 0,
      operation_id: 'top-1',
      additional: { note: 'for Annabel' },
      usagev: -5,
      urt,
    },
  ] as never[])
  const label = 'Late fee of Ms Quimby'
  const reason = 'Annabel has called from 4930555'
  const credit = { ...creditOf(aid, sid, urt), label, invoice_label: label, uf: { who: 'Annabel' } }
  await catalog.transaction('add money', async (session) => {
    await insertCredits({ catalog, actor: TESTER, nowMs: urt.getTime() }, session, {
      lines: [{ ...credit, reason }],
      lastKeys: () => null,
    })
    const writer = { ...{ catalog, session, actor: TESTER, reason }, nowMs: urt.getTime() }
    const order = paymentOrder({ aid, amount: 5, note: 'by Ms Quimby' }, 'cash', RULES)
    await recordPayments({ ...writer, currencyCode: 978 }, [order])
  })
  const bill = { type: 'inv', aid, due: 5, amount: 5, urt, invoice_id: sid } as const
  await catalog.bills.insertOne({ ...bill, payer_name: 'Quimby Annabel', firstname: 'Annabel' })
  const attributes = { firstname: 'Annabel', fullname: 'Annabel Quimby', invoice_type: 'regular' }
  await catalog.billrun.insertOne({ aid, billrun_key: '202604', attributes, totals: 5 })
  await catalog.gatewaycharges.insertOne({ aid, reason, due: null, task: null } as never)
  const text = `msisdn must be unique: 4917000${last} belongs to sid ${sid}`
  await catalog.imports.insertOne({
    _id: `import-${sid}/0`,
    kind: 'failures',
    failures: [{ row: '2', text }],
  })
}

async function documentsOf(catalog: Catalog): Promise<Record<string, string>> {
  const names = [
    ...(['subscribers', 'lines', 'bills', 'billrun', 'gatewaycharges'] as const),
    ...(['imports', 'audit', 'jobs'] as const),
  ]
  const more = [
    'auditchain',
    'outbox',
    'transactions',
    'confighistory',
    'config',
    'balances',
    'cards',
    'journal',
  ] as const
  const found = await Promise.all(
    [...names, ...more].map(async (name) => {
      const documents = await (catalog[name] as never as Catalog['jobs']).find().toArray()
      return [name, BSON.EJSON.stringify(documents)] as const
    }),
  )
  return Object.fromEntries(found)
}

async function keysOfRedis(): Promise<string> {
  const { client } = world.stores().ledger.redis
  const texts: string[] = []
  for (const key of await client.keys('*')) {
    texts.push(key)
    const type = await client.type(key)
    if (type === 'hash') texts.push(JSON.stringify(await client.hgetall(key)))
    if (type === 'string') texts.push(String(await client.get(key)))
    if (type === 'stream') texts.push(JSON.stringify(await client.xrange(key, '-', '+')))
  }
  return texts.join('\n')
}

/** Where personal data of a person is left. */
async function traces(): Promise<string[]> {
  const stored = { ...(await documentsOf(world.stores().catalog)), redis: await keysOfRedis() }
  return Object.entries(stored).flatMap(([place, text]) =>
    SECRETS.filter((secret) => text.includes(secret)).map((secret) => `${place}: ${secret}`),
  )
}

const erase = (collection: string, query: Fields, update: Fields = {}) =>
  world.ok(collection, 'erase', { query, update })

async function jobOf(subject: string): Promise<Fields | undefined> {
  const found = await world.stores().catalog.jobs.find({ subject }).sort({ _id: -1 }).toArray()
  return found[0] as Fields | undefined
}

const isDone = (subject: string) =>
  expect.poll(async () => (await jobOf(subject))?.['state'], { timeout: 60_000 }).toBe('done')

beforeEach(async () => {
  const { catalog } = world.stores()
  for (const name of ['lines', 'bills', 'journal', 'billrun', 'imports', 'jobs'] as const) {
    await (catalog[name] as never as Catalog['jobs']).deleteMany({})
  }
  await catalog.subscribers.deleteMany({})
})

it('erasing an account removes it and its subscribers; statistics and money stay', async () => {
  const { aid, sid } = await person()
  expect((await traces()).length).toBeGreaterThan(10)
  const answer = await erase('accounts', { aid })
  expect(answer.entity).toMatchObject({ kind: 'erase', subject: `accounts/${aid}` })
  await isDone(`accounts/${aid}`)
  expect(await traces()).toEqual([])
  const { catalog } = world.stores()
  const revisions = await catalog.subscribers.find({ sid }).toArray()
  expect(revisions).toHaveLength(2)
  for (const one of revisions) {
    expect(one).toMatchObject({ aid, sid, erased_at: expect.any(Date) })
  }
  const line = await catalog.lines.findOne({ stamp: `r-${sid}` })
  expect(line).toMatchObject({ aid, sid, usagev: 60, aprice_micros: 5, called_number: '(erased)' })
  const top = await catalog.lines.findOne({ stamp: `b-${sid}` })
  expect(top).toMatchObject({ operation_id: 'top-1', usagev: -5, bucket_id: 1 })
  const filter = { aid, type: 'inv' } as const
  expect(await catalog.bills.findOne(filter)).toMatchObject({ amount: 5, invoice_id: sid })
  expect(await catalog.bills.findOne({ aid, type: 'rec' })).toMatchObject({ note: '(erased)' })
  expect(await catalog.lines.findOne({ stamp: `c-${sid}` })).toMatchObject({
    aprice: 10,
    label: '(erased)',
    reason: '(erased)',
  })
  expect(await catalog.journal.findOne({ aid })).toMatchObject({
    event: 'payment',
    number: 1,
    reason: '(erased)',
  })
  expect(await catalog.billrun.findOne({ aid })).toMatchObject({
    totals: 5,
    attributes: { invoice_type: 'regular' },
  })
  const report = await verifyChain(catalog, { key: '' })
  expect(report).toMatchObject({ ok: true, problems: [] })
  expect(report.erased).toBeGreaterThan(3)
  const records = await catalog.audit.find({ key: String(aid), collection: 'accounts' }).toArray()
  expect(records.map(({ type }) => type)).toEqual(expect.arrayContaining(['erase', 'erased']))
})

it('erasing a subscriber keeps the account; a repetition finds nothing', async () => {
  const { aid, sid } = await person()
  await erase('subscribers', { sid })
  await isDone(`subscribers/${sid}`)
  const { catalog } = world.stores()
  const [account] = await catalog.subscribers.find({ type: 'account', aid }).toArray()
  expect(account).toMatchObject({ lastname: 'Quimby' })
  const counts = (await jobOf(`subscribers/${sid}`))?.['counts']
  expect(counts).toMatchObject({ revisions: 2, lines: 3 })
  await erase('subscribers', { sid })
  await expect
    .poll(async () => (await catalog.jobs.find({ state: 'done' }).toArray()).length, {
      timeout: 60_000,
    })
    .toBe(2)
  expect((await jobOf(`subscribers/${sid}`))?.['counts']).toEqual({})
  expect((await verifyChain(catalog, { key: '' })).problems).toEqual([])
  await erase('accounts', { aid })
  await isDone(`accounts/${aid}`)
  expect(await traces()).toEqual([])
})

describe('erasing is refused', () => {
  it('for a person in force, unless it is forced', async () => {
    const { aid, sid } = await person({ hasLeft: false })
    const answer = await world.refused('subscribers', 'erase', { query: { sid } })
    expect(answer.message).toContain(`subscriber ${sid} is in force until`)
    const ofAccount = await world.refused('accounts', 'erase', { query: { aid } })
    expect(ofAccount.message).toContain(`account ${aid} is in force until`)
    await erase('accounts', { aid }, { force: true })
    await isDone(`accounts/${aid}`)
    expect(await traces()).toEqual([])
  })

  it('for a person with an open session, unless forced; its late line is erased', async () => {
    const { aid, sid } = await person()
    const { ledger, catalog } = world.stores()
    await topUp(ledger, aid, sid, 1000, `top-${sid}`)
    const sessionId = `4917000-${sid}`
    await openSession(ledger, { aid, sid, origin: 'http', sessionId }, 100, world.now() + 60_000)
    const answer = await world.refused('subscribers', 'erase', { query: { sid } })
    expect(answer.message).toContain('has open sessions (http): end them first, or use force')
    await erase('subscribers', { sid }, { force: true })
    await expect
      .poll(async () => (await jobOf(`subscribers/${sid}`))?.['state'], { timeout: 60_000 })
      .toBe('waiting')
    // Usage reported after the expiry writes the line again; finally the ledger forgets the
    // session.
    await catalog.lines.updateOne({ stamp: `r-${sid}` }, { $set: { called_number: '4930555' } })
    const key = sessionKeyOf('http', sessionId)
    // There is no recorder here: as if all entries were recorded.
    for (let index = 0; index < ledger.keys.partitions; index += 1) {
      await ledger.redis.client.del(ledger.keys.stream(index))
    }
    await ledger.redis.client.hdel(ledger.keys.account(aid), sessionField(sid, key))
    world.setNow('2026-06-15T12:05:00Z')
    await isDone(`subscribers/${sid}`)
    expect(await catalog.lines.findOne({ stamp: `r-${sid}` })).toMatchObject({
      called_number: '(erased)',
    })
    await erase('accounts', { aid })
    await isDone(`accounts/${aid}`)
    expect(await traces()).toEqual([])
  })

  it('for an unknown person', async () => {
    const answer = await world.refused('subscribers', 'erase', { query: { sid: 424_242 } })
    expect(JSON.stringify(answer)).toContain('there is no subscriber 424242')
    await world.refused('subscribers', 'erase', { query: {} })
  })
})

it('erasing resumes after the death of a process at any operation', async () => {
  const { aid, sid } = await person()
  const { catalog, ledger } = world.stores()
  let nowMs = world.now() + 3_600_000
  const clock = { nowMs: () => nowMs }
  const parts = { ledger, clock, config: loadConfig({ env: {} }), lookup: STORED_CUSTOMERS }
  const runnerOn = (stores: Catalog) => {
    const api = createEntityApi({ ...parts, catalog: stores, log: silent })
    return { ...parts, api, catalog: stores, log: silent, handlers: { erase: eraseHandler(api) } }
  }
  const actor = { by: 'cli', id: '', name: 'tester', address: '' } as const
  const expected = { subject: { collection: 'accounts', key: aid }, force: false, actor } as const
  const { _id } = await requestErasure(runnerOn(catalog).api.stores, expected)
  let deaths = 0
  for (let operations = 0; operations < 400; operations += 5) {
    const job = await readJob({ catalog }, _id)
    if (job === null || job.state === 'done') break
    const dying = await dyingAfter(world.stores().mongo, operations)
    await runJob(runnerOn(dying.catalog), job, new AbortController().signal).catch(() => undefined)
    await dying.close()
    deaths += 1
    // After its lease has expired.
    nowMs += 120_000
    expect((await verifyChain(catalog, { key: '' })).problems).toEqual([])
    // A batch and its count are written together.
    const counts = (await readJob({ catalog }, _id))?.counts ?? {}
    const erasedBy = { 'chain.erased_by': _id.toHexString() } as object
    expect(counts['audit_records'] ?? 0).toBe(await catalog.audit.countDocuments(erasedBy))
    const erasedRevisions = { sid, erased_at: { $exists: true } } as object
    const revisions = await catalog.subscribers.countDocuments(erasedRevisions)
    const ofAccount = { type: 'account', aid, erased_at: { $exists: true } } as object
    const accounts = await catalog.subscribers.countDocuments(ofAccount)
    expect(counts['revisions'] ?? 0).toBe(revisions + accounts)
  }
  expect(deaths).toBeGreaterThan(8)
  expect(await readJob({ catalog }, _id)).toMatchObject({ state: 'done' })
  expect(await traces()).toEqual([])
  const begun = { operation_id: _id.toHexString() }
  expect(await catalog.audit.countDocuments({ ...begun, type: 'erase' })).toBe(1)
  expect(await catalog.audit.countDocuments({ ...begun, type: 'erased' })).toBe(1)
  expect(
    await catalog.subscribers.countDocuments({ sid, erased_at: { $exists: true } } as object),
  ).toBe(2)
})

it('erasing removes configured fields that are marked personal, and no others', async () => {
  await world.configure('subscribers', {
    subscriber: {
      fields: [
        { field_name: 'nick', type: 'text', personal: true },
        { field_name: 'params.shoe', type: 'integer', personal: true },
        { field_name: 'colour', type: 'text' },
        { field_name: 'lastname', type: 'text', personal: false },
      ],
    },
  })
  const plan = String((await make(world, 'plans')).entity['name'])
  const account = await make(world, 'accounts')
  const aid = Number(account.entity['aid'])
  const made = await make(world, 'subscribers', {
    ...ANN,
    aid,
    plan,
    nick: 'Bel',
    colour: 'red',
    params: { shoe: 42 },
  })
  const sid = Number(made.entity['sid'])
  await erase('subscribers', { sid }, { force: true })
  await isDone(`subscribers/${sid}`)
  const { catalog } = world.stores()
  const _id = new ObjectId(made.entity._id.$id)
  const stored = (await catalog.subscribers.findOne({ _id })) as Fields
  expect(stored).toMatchObject({ colour: 'red', lastname: 'Quimby' })
  expect(stored).not.toHaveProperty('nick')
  expect(stored).not.toHaveProperty('firstname')
  expect(stored['params'] ?? {}).not.toHaveProperty('shoe')
})
