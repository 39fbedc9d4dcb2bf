import { expect, it, vi } from 'vitest'
import { cards } from '../../../src/admin/actions/cards.ts'
import { type CardGuesses, NoCardError } from '../../../src/prepaid/cards/guesses.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'
import { insertEntity } from '../../support/catalog/store.ts'

const wrong: boolean[] = []
const guesses: CardGuesses = {
  async attempt(_, find) {
    try {
      const found = await find()
      wrong.push(false)
      return found
    } catch (error) {
      wrong.push(error instanceof NoCardError)
      throw error
    }
  },
  loaded: async () => undefined,
}
const api = useActionServer(
  [cards],
  { TOLLGATE_SECRETS_KEY: 'a key of these tests, long enough for it' },
  { cardGuesses: guesses },
)

const CARD = {
  secret: '000000000001',
  batch_number: 7,
  serial_number: 1,
  charging_plan_name: 'TOPUP20',
  service_provider: 'ACME',
  to: '2027-01-31',
  additional_information: 'spring',
}

it('two processes that create the same card at once create it once', async () => {
  const include = [{ pp_includes_external_id: 1, value: -20, operation: 'default' }]
  const group = { name: 'TOPUP20', operation: 'inc', include, from: '2026-01-01' }
  await insertEntity(api.catalog(), 'prepaidgroups', group)
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

it('limit: POST /api/cards, method query, has 10,000 cards on a page by default', async () => {
  const card = { batch_number: 1, status: 'Idle', charging_plan_name: 'TOPUP' }
  const dates = { to: new Date('2027-01-01'), creation_time: new Date('2026-01-01') }
  const all = Array.from({ length: 10_001 }, (_, index) => ({
    ...{ ...card, ...dates, serial_number: index + 1, secret_hmac: `hmac-${index}` },
    ...{ service_provider: 'ACME', additional_information: '' },
  }))
  await api.catalog().cards.insertMany(all as never[])
  const query = { batch_number: 1, serial_number: { $gte: 1, $lte: 20_000 } }
  const ask = (more: object) => api.ask('cards', { method: 'query', query, ...more })
  expect((await ask({}))['details']).toHaveLength(10_000)
  expect((await ask({ page: 1 }))['details']).toHaveLength(1)
})

it('a lookup by a wrong secret counts as a guess, in each method that takes one', async () => {
  const query = { batch_number: 7, serial_number: 1, secret: '999999999999' }
  const attempt = vi.spyOn(guesses, 'attempt')
  for (const method of ['query', 'update', 'delete']) {
    await api.ask('cards', { method, query, update: { status: 'active' } })
  }
  await api.ask('cards', { method: 'query', query: { batch_number: 7, serial_number: 1 } })
  await api.ask('cards', { method: 'query', query, page: 1 })
  expect(attempt).toHaveBeenCalledTimes(4)
  expect(wrong).toEqual([true, true, true, true])
})
