/** A change that the store refuses leaves nothing, and does not keep others from the entity. */
import { expect, it } from 'vitest'
import { ObjectId } from '../../../src/catalog/collections.ts'
import { DuplicateEntityError } from '../../../src/catalog/errors.ts'
import { changeEntities } from '../../../src/catalog/revisions/entity-changes.ts'
import { act, at, RATE, storesOf } from '../../support/entities/actions/entity-fixture.ts'
import { useOpened } from '../../support/opened.ts'
import { startTestStores } from '../../support/recorder/accounts.ts'

const open = useOpened(startTestStores)

it('a change of two revisions whose second one is refused leaves nothing behind', async () => {
  const stores = storesOf(open())
  await act(stores, 'rates', 'create', { set: { key: 'ONE', ...RATE }, from: at('2026-01-01') })
  const stored = await open().catalog.rates.findOne({ key: 'ONE' })
  const head = await open().catalog.transactions.findOne({ _id: 'head' })
  const { to, ...other } = { ...stored, key: 'TWO', _id: new ObjectId(), rev: 0 } as never as {
    to: Date
    _id: ObjectId
    rev: number
  }
  const steps = [
    { mode: 'insert' as const, document: { ...other, to } },
    { mode: 'insert' as const, document: { ...other, to, _id: new ObjectId() } },
  ]
  const decide = async () => ({ collection: 'rates' as const, steps, result: null })
  const refused = changeEntities(stores, 'create rates', decide)
  await expect(refused).rejects.toThrow(DuplicateEntityError)
  await expect(refused).rejects.toThrow('already one with the same key')
  expect(await open().catalog.rates.distinct('key')).toEqual(['ONE'])
  expect(await open().catalog.transactions.findOne({ _id: 'head' })).toEqual(head)
  await act(stores, 'rates', 'create', { set: { key: 'TWO', ...RATE }, from: at('2026-01-01') })
})
