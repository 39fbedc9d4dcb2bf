/** The indexes of `search`. */
import { describe, expect, it } from 'vitest'
import { search } from '../../../src/admin/actions/search.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'

const api = useActionServer([search])

describe('search', () => {
  it('finds names of any length, also if they were stored before the index', async () => {
    const { subscribers } = api.catalog()
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
