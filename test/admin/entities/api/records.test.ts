/** Balances, bills and lines: collections whose records are not entities. */
import { describe, expect, it } from 'vitest'
import { ObjectId } from '../../../../src/catalog/collections.ts'
import {
  displayCode,
  type Fields,
  useApiServer,
} from '../../../support/admin/entities/api/api-server.ts'
import { make, makeSubscriber } from '../../../support/admin/entities/api/creators.ts'

// With the recorder, which writes the collection that balances are read from.
const world = useApiServer({ env: { TOLLGATE_RECORDER_ENABLED: 'true' } })

describe('bills', () => {
  it('have get, uniqueget, update and delete', async () => {
    const { bills } = world.stores().catalog
    const urt = new Date('2026-02-01T00:00:00Z')
    const _id = new ObjectId()
    const invoice = { type: 'inv' as const, aid: 17, urt, due: 10, amount: 10, invoice_id: 5 }
    await bills.insertOne({ _id, ...invoice })
    const query = { aid: 17, type: 'inv', urt: { $gte: '2026-01-01', $lt: '2026-03-01' } }
    for (const action of ['get', 'uniqueget']) {
      const [row] = await world.rows('bills', { query }, action)
      expect(row).toMatchObject({ invoice_id: 5, due: 10, urt: { sec: urt.getTime() / 1000 } })
      expect(row).not.toHaveProperty('revision_info')
    }
    const at = { _id: _id.toHexString() }
    const update = { due_date: '2026-03-01', 'charge.not_before': '2026-03-02', due: 0 }
    const { entity } = await world.ok('bills', 'update', { query: at, update })
    expect(entity).toMatchObject({
      due: 10,
      due_date: { sec: Date.UTC(2026, 2, 1) / 1000 },
      charge: { not_before: { sec: Date.UTC(2026, 2, 2) / 1000 } },
    })
    await world.ok('bills', 'delete', { query: at })
    expect(await world.rows('bills', { query: { aid: 17 } })).toEqual([])
    const { code } = await world.refused('bills', 'delete', { query: at })
    expect(code).toBe(500)
  })

  it('that are paid or confirmed are not deleted', async () => {
    const { bills, billrun } = world.stores().catalog
    const urt = new Date('2026-02-01T00:00:00Z')
    const common = { type: 'inv' as const, urt, due: 10, amount: 10 }
    const paid = new ObjectId()
    const confirmed = new ObjectId()
    await bills.insertMany([
      { _id: paid, ...common, aid: 18, paid_by: [{ type: 'rec', id: 1, amount: 10 }] },
      { _id: confirmed, ...common, aid: 19, billrun_key: '202602' },
    ])
    await billrun.insertOne({ aid: 19, billrun_key: '202602', billed: 1 })
    for (const id of [paid, confirmed]) {
      const body = await world.refused('bills', 'delete', { query: { _id: id.toHexString() } })
      expect(displayCode(body)).toBe(2)
    }
  })
})

describe('lines', () => {
  it('are read; only a credit of the active cycle can be deleted', async () => {
    const { lines } = world.stores().catalog
    const urt = new Date('2026-06-01T00:00:00Z')
    const line = (type: string, more: Fields = {}) => {
      const _id = new ObjectId()
      return { _id, stamp: String(_id), type, aid: 21, sid: 22, urt, usagev: 1, ...more }
    }
    const [usage, credit, old] = [
      line('nsn'),
      line('credit'),
      line('credit', { billrun: '202601' }),
    ]
    await lines.insertMany([usage, credit, old] as never)
    for (const action of ['get', 'uniqueget']) {
      const rows = await world.rows('lines', { query: { sid: 22, usagev: { $gte: 1 } } }, action)
      expect(rows).toHaveLength(3)
    }
    for (const { _id } of [usage, old]) {
      const body = await world.refused('lines', 'delete', { query: { _id: String(_id) } })
      expect([body.code, displayCode(body)]).toEqual([17_577, 2])
    }
    await world.ok('lines', 'delete', { query: { _id: String(credit._id) } })
    expect(await world.rows('lines', { query: { sid: 22 } })).toHaveLength(2)
  })
})

// Last: the recorder keeps writing after the answer.
describe('balances', () => {
  it('have get, uniqueget, update and delete', async () => {
    const { sid, aid } = (await makeSubscriber(world)).entity
    const { external_id: id, name } = (await make(world, 'prepaidincludes')).entity
    const query = { sid, pp_includes_external_id: id }
    const body = await world.ok('balances', 'update', { query, update: { value: -10 } })
    expect(body).toMatchObject({ details: true, line: { type: 'balance', sid, aid } })
    const find = () => world.rows('balances', { query })
    await expect.poll(find).toMatchObject([{ sid, aid, pp_includes_name: name }])
    const [row] = await world.rows('balances', { query }, 'uniqueget')
    expect(row).toMatchObject({ balance: { totals: { data: { usagev: -10 } } } })
    const { _id } = row as unknown as { _id: { $id: string } }
    await world.ok('balances', 'delete', { query: { _id: _id.$id } })
    await expect.poll(find).toEqual([])
  })
})
