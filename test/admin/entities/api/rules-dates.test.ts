/** When revisions may begin and end. */
import { beforeAll, describe, expect, it } from 'vitest'
import {
  type Body,
  displayCode,
  type Fields,
  idOf,
  useApiServer,
} from '../../../support/admin/entities/api/api-server.ts'
import { make } from '../../../support/admin/entities/api/creators.ts'

const world = useApiServer()
/** End of the last confirmed cycle. */
const CONFIRMED = '2026-03-01'

beforeAll(async () => {
  const { billrun } = world.stores().catalog
  await billrun.insertMany([
    { aid: 1_000_000, billrun_key: '202602', billed: 1 },
    { aid: 1_000_000, billrun_key: '202603', billed: 1 },
    { aid: 1_000_000, billrun_key: '202604', billed: 2 },
    { aid: 1_000_000, billrun_key: '202605' },
  ])
})

async function isRefused(
  action: string,
  params: Fields,
  code: number,
  ...parts: string[]
): Promise<Body> {
  const body = await world.refused('plans', action, params)
  expect(Object.keys(body)).toEqual(['status', 'code', 'message', 'display'])
  expect([body.code, displayCode(body)]).toEqual([17_577, code])
  for (const part of parts) expect(body.message).toContain(part)
  return body
}

/** Revisions that begin at these dates; the last one ends with the last date, if there is `to`. */
async function revisionsOf(
  dates: readonly string[],
  to?: string,
): Promise<{ name: unknown; ids: string[] }> {
  const [from] = dates
  const first = await make(world, 'plans', { from, ...(to && { to }) })
  const ids = [idOf(first)]
  for (const next of dates.slice(1)) {
    const params = { query: { _id: ids.at(-1) }, update: { from: next } }
    ids.push(idOf(await world.ok('plans', 'closeandnew', params)))
  }
  return { name: first.entity['name'], ids }
}

describe('before the end of the last confirmed cycle', () => {
  it('close is refused by its to', async () => {
    const { ids } = await revisionsOf(['2026-01-01'])
    const params = { query: { _id: ids[0] }, update: { to: '2026-02-28' } }
    await isRefused('close', params, 1, 'close', CONFIRMED)
    const atIt = { query: { _id: ids[0] }, update: { to: CONFIRMED } }
    await world.ok('plans', 'close', atIt)
  })

  it('delete is refused by the begin of the revision', async () => {
    const { ids } = await revisionsOf(['2026-01-01'])
    await isRefused('delete', { query: { _id: ids[0] } }, 1, 'delete', CONFIRMED)
  })

  it.each(['from', 'to'])('move is refused by %s', async (edge) => {
    const { ids } = await revisionsOf(['2026-01-01', '2026-04-01'])
    const query = { _id: edge === 'from' ? ids[1] : ids[0] }
    await isRefused('move', { query, update: { [edge]: '2026-02-28' } }, 1, 'move', CONFIRMED)
    await world.ok('plans', 'move', { query, update: { [edge]: CONFIRMED } })
  })

  it('move accepts an edge that lies before it and stays', async () => {
    const { ids } = await revisionsOf(['2026-01-01'])
    const params = { query: { _id: ids[0] }, update: { from: '2026-04-01' } }
    await isRefused('move', params, 1, 'move', CONFIRMED)
  })

  it.each(['closeandnew', 'permanentchange'])('%s is refused by its from', async (action) => {
    const { ids } = await revisionsOf(['2026-01-01'])
    const query = { _id: ids[0] }
    await isRefused(action, { query, update: { from: '2026-02-28' } }, 1, action, CONFIRMED)
    await world.ok('plans', action, { query, update: { from: CONFIRMED, description: 'x' } })
  })

  it('update is refused for a revision that had ended by then', async () => {
    const { ids } = await revisionsOf(['2026-01-01'], '2026-02-01')
    const params = { query: { _id: ids[0] }, update: { description: 'x' } }
    await isRefused('update', params, 1, 'update', CONFIRMED)
  })

  it('users are not restricted', async () => {
    const query = { _id: idOf(await make(world, 'users')) }
    await world.ok('users', 'delete', { query })
  })
})

describe('dates in the past', () => {
  it('are accepted for accounts, plans and subscribers that are not invoiced', async () => {
    const from = '2025-02-01'
    const { entity: plan } = await make(world, 'plans', { from })
    const { entity: account } = await make(world, 'accounts', { from })
    const own = { aid: account['aid'], plan: plan['name'], from }
    const params = {
      update: { firstname: 'Ada', lastname: 'Byron', address: '1 Navy Yard', ...own },
    }
    await world.ok('subscribers', 'create', params)
    const { name } = plan
    const [row] = await world.rows('plans', { query: { name } })
    expect(row?.['from']).toContain(from)
    const [subscriber] = await world.rows('subscribers', { query: { aid: account['aid'] } })
    expect(subscriber?.['from']).toContain(from)
  })

  it('are refused for a subscriber if an invoice of that time is confirmed', async () => {
    const { entity: plan } = await make(world, 'plans', { from: '2025-02-01' })
    const { entity: account } = await make(world, 'accounts', { from: '2025-02-01' })
    const aid = Number(account['aid'])
    const end = new Date('2025-12-10T00:00:00Z')
    const { billrun } = world.stores().catalog
    await billrun.insertMany([
      { aid, billrun_key: '202512', billed: 1, end_date: end },
      { aid, billrun_key: '202601' },
    ])
    const update = { firstname: 'Ada', lastname: 'Byron', address: 'x', aid, plan: plan['name'] }
    const early = { update: { ...update, from: '2025-12-09' } }
    const body = await world.refused('subscribers', 'create', early)
    expect(displayCode(body)).toBe(1)
    expect(body.message).toContain(`2025-12-10, until which account ${aid} is invoiced`)
    await world.ok('subscribers', 'create', { update: { ...update, from: '2025-12-10' } })
  })
})

describe('changes in the past of an account and its subscribers', () => {
  const PAST = '2025-12-15'
  /** An account with a subscriber since 2025-02-01; both have their own confirmed invoices. */
  async function accountWith(...invoices: Fields[]) {
    const { entity: plan } = await make(world, 'plans', { from: '2025-01-01' })
    const { entity: account } = await make(world, 'accounts', { from: '2025-02-01' })
    const aid = Number(account['aid'])
    const update = { firstname: 'Ada', lastname: 'Byron', address: 'x', aid, from: '2025-02-01' }
    const params = { update: { ...update, plan: plan['name'] } }
    const { sid } = (await world.ok('subscribers', 'create', params)).entity
    const { billrun } = world.stores().catalog
    if (invoices.length > 0)
      await billrun.insertMany(invoices.map((one) => ({ aid, ...one })) as never)
    return { aid, sid }
  }

  /** A permanent change of the address, with further fields. */
  const change = (query: Fields, from: string, more: Fields = {}) => ({
    query: { ...query, effective_date: from },
    update: { from, address: `Street ${from}`, ...more },
  })
  const confirmed = (key: string, end: string): Fields => ({
    billrun_key: key,
    billed: 1,
    end_date: new Date(`${end}T00:00:00Z`),
  })

  it('are accepted although cycles of other accounts are confirmed', async () => {
    const { aid, sid } = await accountWith({ billrun_key: '202603' })
    for (const [collection, query] of [
      ['subscribers', { sid }],
      ['accounts', { aid }],
    ] as const) {
      await world.ok(collection, 'permanentchange', change(query, PAST))
      const rows = await world.rows(collection, { query, sort: { from: 1 } })
      expect(rows.map((row) => (row['revision_info'] as Fields)['updatable'])).toEqual([true, true])
      const closed = { query: { _id: row(rows[1])._id }, update: { to: '2026-01-15' } }
      await world.ok(collection, 'close', closed)
    }
  })

  it('are refused before the end of its own confirmed invoice', async () => {
    const end = '2025-12-10'
    const { aid, sid } = await accountWith(
      confirmed('202511', '2025-11-10'),
      confirmed('202512', end),
      { billrun_key: '202601' },
    )
    for (const [collection, query] of [
      ['subscribers', { sid }],
      ['accounts', { aid }],
    ] as const) {
      const early = change(query, '2025-12-09')
      const body = await world.refused(collection, 'permanentchange', early)
      expect(displayCode(body)).toBe(1)
      expect(body.message).toContain(end)
      await world.ok(collection, 'permanentchange', change(query, end))
      const rows = await world.rows(collection, { query, sort: { from: 1 } })
      expect(rows.map((row) => (row['revision_info'] as Fields)['updatable'])).toEqual([
        false,
        true,
      ])
      const closed = { query: { _id: row(rows[1])._id }, update: { to: '2025-12-01' } }
      expect((await world.refused(collection, 'close', closed)).message).toContain(end)
    }
  })

  it('are not refused because of an invoice outside of cycles', async () => {
    const { sid } = await accountWith(confirmed('20260601120000', '2026-06-01'))
    await world.ok('subscribers', 'permanentchange', change({ sid }, PAST))
  })

  it('are refused if the subscriber moves to an account that is invoiced then', async () => {
    const { sid } = await accountWith()
    const { aid } = await accountWith(confirmed('202601', '2026-01-01'))
    const early = change({ sid }, PAST, { aid })
    const body = await world.refused('subscribers', 'permanentchange', early)
    expect(body.message).toContain('2026-01-01')
    await world.ok('subscribers', 'permanentchange', change({ sid }, '2026-01-01', { aid }))
    // The time in the account before stays open, that in the new one does not.
    const rows = await world.rows('subscribers', { query: { sid }, sort: { from: 1 } })
    const moved = { query: { _id: row(rows[1])._id }, update: { from: '2025-12-20' } }
    expect((await world.refused('subscribers', 'move', moved)).message).toContain('2026-01-01')
    const before = { query: { _id: row(rows[0])._id }, update: { address: 'y' } }
    await world.ok('subscribers', 'update', before)
  })

  function row(found: Fields | undefined) {
    return { _id: (found?.['_id'] as { $id: string } | undefined)?.$id }
  }
})

describe('closeandnew is refused unless it begins later', () => {
  it.each(['2026-04-01', '2026-03-15'])('%s', async (from) => {
    const { ids } = await revisionsOf(['2026-04-01'])
    await isRefused('closeandnew', { query: { _id: ids[0] }, update: { from } }, 1, '2026-04-01')
  })

  it('if it begins when the revision has ended', async () => {
    const { ids } = await revisionsOf(['2026-04-01'], '2026-05-01')
    for (const from of ['2026-05-01', '2026-06-01']) {
      const params = { query: { _id: ids[0] }, update: { from } }
      await isRefused('closeandnew', params, 1, '2026-05-01')
    }
  })
})

describe('permanentchange is refused outside the revision', () => {
  it.each(['2026-03-31', '2026-05-02'])('%s', async (from) => {
    const { ids } = await revisionsOf(['2026-04-01', '2026-05-01'])
    const params = { query: { _id: ids[0] }, update: { from, description: 'x' } }
    await isRefused('permanentchange', params, 1, '2026-04-01', '2026-05-01')
  })
})

describe('move is refused', () => {
  it('without from and to', async () => {
    const { ids } = await revisionsOf(['2026-04-01'])
    await isRefused('move', { query: { _id: ids[0] }, update: {} }, 0, 'from', 'to')
    await isRefused('move', { query: { _id: ids[0] } }, 0, 'from', 'to')
  })

  it.each([
    ['from', '2026-05-01', '2026-05-01'],
    ['from', '2026-06-01', '2026-05-01'],
    ['to', '2026-04-01', '2026-04-01'],
    ['to', '2026-03-15', '2026-04-01'],
  ])('with %s to %s, if the revision would be empty', async (edge, at, message) => {
    const { ids } = await revisionsOf(['2026-04-01'], '2026-05-01')
    const params = { query: { _id: ids[0] }, update: { [edge]: at } }
    await isRefused('move', params, 0, edge, message)
  })

  it.each(['2026-04-01', '2026-03-15'])('over the revision before: %s', async (from) => {
    const { ids } = await revisionsOf(['2026-04-01', '2026-05-01'])
    await isRefused('move', { query: { _id: ids[1] }, update: { from } }, 0, 'from', '2026-04-01')
  })

  it.each(['2026-06-01', '2026-07-01'])('over the next revision: %s', async (to) => {
    const { ids } = await revisionsOf(['2026-04-01', '2026-05-01'], '2026-06-01')
    await isRefused('move', { query: { _id: ids[0] }, update: { to } }, 0, 'to', '2026-06-01')
  })
})

describe('reopen is refused', () => {
  it('without from', async () => {
    const { ids } = await revisionsOf(['2026-04-01'], '2026-05-01')
    await isRefused('reopen', { query: { _id: ids[0] } }, 2, 'from')
    await isRefused('reopen', { query: { _id: ids[0] }, update: { from: '' } }, 2, 'from')
  })

  it('if the revision is not closed, or ends later', async () => {
    const open = await revisionsOf(['2026-04-01'])
    const update = { from: '2026-07-01' }
    await isRefused('reopen', { query: { _id: open.ids[0] }, update }, 3, 'not closed')
    const closed = await revisionsOf(['2026-04-01', '2026-05-01'], '2026-08-01')
    for (const id of closed.ids) {
      await isRefused('reopen', { query: { _id: id }, update }, 3, '2026-08-01')
    }
  })

  it('inside a closed cycle', async () => {
    const { ids } = await revisionsOf(['2026-01-01'], '2026-02-01')
    const params = { query: { _id: ids[0] }, update: { from: '2026-02-15' } }
    await isRefused('reopen', params, 3, CONFIRMED)
    await world.ok('plans', 'reopen', { query: { _id: ids[0] }, update: { from: CONFIRMED } })
  })
})
