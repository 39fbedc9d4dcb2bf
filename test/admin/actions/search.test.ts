/** The indexes of `search`. */
import { describe, expect, it } from 'vitest'
import { search } from '../../../src/admin/actions/search.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'

const api = useActionServer([search], { TOLLGATE_RATING_COUNTRY_PREFIX: '44' })

describe('search', () => {
  it('finds names of any length, also if they were stored before the index', async () => {
    const { subscribers } = api.catalog().unguarded
    await subscribers.dropIndex('lastname_1')
    const lastname = `Wolfe${'x'.repeat(5_000)}`
    const more = { type: 'subscriber', rev: 1, from: new Date(0), to: new Date('2170-01-01') }
    await subscribers.insertOne({ ...more, aid: 21, sid: 211, lastname } as never)
    await api.catalog().ensureIndexes()
    const indexes = await subscribers.indexes()
    expect(indexes.map(({ name }) => name)).toContain('lastname_1')
    const { details } = await api.ask('search', { q: 'wolfexx' })
    expect(details).toMatchObject([{ field: 'lastname', sid: 211 }])
  })

  it.each([
    ...['07700900001', '07700 900-001', '7700900001', '+44 7700 900001', '447700900001'],
    ...['(07700) 900 001', '07700/900001', '+44 (0)7700 900001', '(+44) 7700 900001'],
    '0044 (0) 7700 900001',
  ])('finds a number in its national spellings: %s', async (q) => {
    const more = { type: 'subscriber', rev: 1, from: new Date(0), to: new Date('2170-01-01') }
    const ada = { ...more, aid: 22, sid: 221, msisdn: '447700900001' }
    await api
      .catalog()
      .subscribers.replaceOne({ sid: 221 } as object, ada as never, { upsert: true })
    const { details } = await api.ask('search', { q })
    expect(details).toMatchObject([{ field: 'msisdn', sid: 221 }])
  })

  it('finds a national number that begins with the digits of the country', async () => {
    const more = { type: 'subscriber', rev: 1, from: new Date(0), to: new Date('2170-01-01') }
    const msisdn = '44441234567'
    await api.catalog().subscribers.insertOne({ ...more, aid: 23, sid: 231, msisdn } as never)
    const { details } = await api.ask('search', { q: '0441 234567' })
    expect(details).toMatchObject([{ field: 'msisdn', sid: 231 }])
  })

  it('takes a number with + for an international one', async () => {
    expect((await api.ask('search', { q: '+7700900001' })).details).toEqual([])
  })

  it('reads no more of the store than its index ranges', async () => {
    const explained = await api
      .catalog()
      .unguarded.subscribers.find({
        type: 'subscriber',
        $or: [{ lastname: { $gte: 'Zi', $lt: 'Zj' } }, { lastname: { $gte: 'zi', $lt: 'zj' } }],
      } as object)
      .explain()
    expect(JSON.stringify(explained)).toContain('IXSCAN')
    expect(JSON.stringify(explained)).not.toContain('COLLSCAN')
  })
})
