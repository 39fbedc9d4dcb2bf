import { beforeAll, describe, expect, it } from 'vitest'
import { search } from '../../../src/admin/actions/search.ts'
import { NOW_MS, useActionServer } from '../../support/admin/actions/action-server.ts'

const api = useActionServer([search], { TOLLGATE_AUDIT_READS: 'subscribers,accounts' })

const ADA = { aid: 17, sid: 171, firstname: 'Ada', lastname: 'McByron', plan: 'GOLD' }

beforeAll(async () => {
  const ordinary = { type: 'subscriber', rev: 1, from: new Date(0), to: new Date('2170-01-01') }
  const insert = (fields: object) =>
    api.catalog().subscribers.insertOne({ ...ordinary, ...fields } as never)
  await insert({ ...ADA, msisdn: '447700900123', imsi: ['234150000000001'] })
  await insert({ aid: 18, sid: 17, msisdn: '+4915112345', firstname: 'Élodie', lastname: 'ada' })
  await insert({ aid: 19, sid: 191, firstname: 'Adam', to: new Date(NOW_MS - 1) })
  await insert({ aid: 19, sid: 192, firstname: 'Adamski', deleted: true })
  await insert({ type: 'account', aid: 17, email: 'Ada@Example.org' })
  for (let sid = 1_000; sid < 1_030; sid += 1) await insert({ aid: 20, sid, lastname: 'Zimmer' })
})

async function hits(q: string) {
  const answer = await api.ask('search', { q }, { method: 'GET', as: 'query' })
  expect(answer).toMatchObject({ status: 1 })
  const details = answer['details'] as { collection: string; field: string; sid?: number }[]
  return details.map(({ collection, field, sid }) => [collection, field, sid])
}

async function hitsByPost(q: string) {
  const answer = await api.ask('search', { q })
  const details = answer['details'] as { collection: string; field: string; sid?: number }[]
  return details.map(({ field, sid }) => [field, sid])
}

describe('search', () => {
  it.each([
    ['171', [['sid', 171]]],
    [
      '17',
      [
        ['sid', 17],
        ['aid', undefined],
      ],
    ],
    ['447700900123', [['msisdn', 171]]],
    ['+44 7700 900-123', [['msisdn', 171]]],
    ['4915112345', [['msisdn', 17]]],
    ['234150000000001', [['imsi', 171]]],
    ['mcb', [['lastname', 171]]],
    ['MCBYRON', [['lastname', 171]]],
    ['mcbyrons', []],
    ['éLO', [['firstname', 17]]],
    [
      'ada',
      [
        ['firstname', 171],
        ['lastname', 17],
        ['email', undefined],
      ],
    ],
    ['ADA@e', [['email', undefined]]],
    ['192', []],
    ['adams', []],
    ['.*', []],
    ['a(', []],
  ])('%s finds current customers', async (q, wanted) => {
    expect(await hitsByPost(q)).toEqual(wanted)
  })

  it('is sent by GET, and says which fields it has searched', async () => {
    expect(await hits('171')).toEqual([['subscribers', 'sid', 171]])
    const none = await api.ask('search', { q: '99' }, { method: 'GET', as: 'query' })
    expect(none).toMatchObject({ details: [], searched: ['sid', 'aid', 'msisdn', 'imsi'] })
    const name = await api.ask('search', { q: 'nobody' })
    expect(name).toMatchObject({ details: [], searched: ['firstname', 'lastname', 'email'] })
  })

  it('finds names of any length, also if they were stored before the index', async () => {
    const { subscribers } = api.catalog()
    await subscribers.dropIndex('lastname_1')
    const lastname = `Wolfe${'x'.repeat(5_000)}`
    const more = { type: 'subscriber', rev: 1, from: new Date(0), to: new Date('2170-01-01') }
    await subscribers.insertOne({ ...more, aid: 21, sid: 211, lastname } as never)
    await api.catalog().ensureIndexes()
    const indexes = await subscribers.indexes()
    expect(indexes.map(({ name }) => name)).toContain('lastname_1')
    expect(await hitsByPost('wolfexx')).toEqual([['lastname', 211]])
  })

  it('returns at most 20 hits', async () => {
    const answer = await api.ask('search', { q: 'zimm' })
    expect(answer).toMatchObject({ more: true })
    expect(answer['details']).toHaveLength(20)
  })

  it.each([
    [{}, 'Following field/s are missing: q'],
    [{ q: '  ' }, 'Field q must not be empty'],
    [{ q: 'x' }, 'at least 2 characters'],
    [{ q: 'x'.repeat(101) }, 'more than 100 characters'],
    [{ q: 'a\0b' }, 'zero byte'],
  ])('refuses %j', async (params, text) => {
    const message = expect.stringContaining(text)
    expect(await api.ask('search', params)).toMatchObject({ status: 0, message })
  })

  it('records the read without its values', async () => {
    await api.catalog().audit.deleteMany({})
    await api.ask('search', { q: 'McByr' })
    const records = await api.catalog().audit.find({ collection: 'subscribers' }).toArray()
    expect(records).toMatchObject([{ type: 'get', key: '171', new: { rows: 1 } }])
    expect(JSON.stringify(records)).not.toMatch(/mcby/i)
  })

  it('reads no more of the store than its index ranges', async () => {
    const explained = await api
      .catalog()
      .subscribers.find({
        type: 'subscriber',
        $or: [{ lastname: { $gte: 'Zi', $lt: 'Zj' } }, { lastname: { $gte: 'zi', $lt: 'zj' } }],
      } as object)
      .explain()
    expect(JSON.stringify(explained)).toContain('IXSCAN')
    expect(JSON.stringify(explained)).not.toContain('COLLSCAN')
  })
})
