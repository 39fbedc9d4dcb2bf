/** A change that the store refuses does not keep its entity locked. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ObjectId } from '../../../../src/catalog/collections.ts'
import {
  changeEntities,
  recoverAbandoned,
} from '../../../../src/catalog/revisions/entity-changes.ts'
import { at, storesOf } from '../../../support/admin/entities/actions/entity-fixture.ts'
import { startTestStores, type TestStores } from '../../../support/recorder/accounts.ts'

let open: TestStores
beforeAll(async () => {
  open = await startTestStores()
})
afterAll(() => open.close())

/** Longer than the index keys of the embedded server; MongoDB accepts it. */
const LONG = 'A'.repeat(3000)

function planOf(name: string) {
  return { _id: new ObjectId(), rev: 0, name, from: at('2026-01-01'), to: at('2027-01-01') }
}

describe.skipIf(process.env['TEST_MONGO_URL'] !== undefined)('a change of two steps', () => {
  it('whose first one is refused leaves nothing behind', async () => {
    const stores = storesOf(open)
    const stored = { ...planOf('SHORT'), rev: 1 }
    await open.catalog.plans.insertOne(stored as never)
    const steps = [
      { mode: 'insert' as const, document: planOf(LONG) },
      { mode: 'replace' as const, document: { ...stored, name: 'OTHER' }, expectedRev: 1 },
    ]
    const decide = async () => ({ collection: 'plans' as const, steps, result: null })
    await expect(changeEntities(stores, ['plans/SHORT'], decide)).rejects.toThrow('too large')
    expect(await open.catalog.entitylocks.countDocuments()).toBe(0)
    expect(await open.catalog.plans.distinct('name')).toEqual(['SHORT'])
  })

  it('that cannot be completed does not block other changes', async () => {
    const stores = storesOf(open)
    const lock = (entity: string, name: string) => ({
      _id: entity,
      group: entity,
      first: entity,
      token: 't',
      holder: { host: 'elsewhere', pid: 1, instance: 'gone' },
      expires: new Date(1),
      change: {
        collection: 'plans' as const,
        owners: [],
        sequel: null,
        steps: [{ mode: 'insert' as const, document: planOf(name) }],
      },
    })
    await open.catalog.entitylocks.insertMany([lock('a', LONG), lock('b', 'LATER')])
    expect(await recoverAbandoned(stores)).toBe(1)
    expect((await open.catalog.plans.distinct('name')).sort()).toEqual(['LATER', 'SHORT'])
    expect(await open.catalog.entitylocks.distinct('_id')).toEqual(['a'])
  })
})
