/** Limits of the interface for prepaid cards and access tokens; others are beside their calls. */
import { beforeAll, expect, it } from 'vitest'
import {
  addDeprecatedTenant,
  useDeprecated,
} from '../../../support/admin/actions/deprecated-tenant.ts'

const api = useDeprecated({ TOLLGATE_SECRETS_KEY: 'a key of these tests, long enough for it' })
beforeAll(() => addDeprecatedTenant(api.catalog()))

it('limit: POST /api/cards, method query, has 10,000 cards on a page by default', async () => {
  const card = { batch_number: 1, status: 'Idle', charging_plan_name: 'TOPUP' }
  const dates = { to: new Date('2027-01-01'), creation_time: new Date('2026-01-01') }
  const cards = Array.from({ length: 10_001 }, (_, index) => ({
    ...{ ...card, ...dates, serial_number: index + 1, secret_hmac: `hmac-${index}` },
    ...{ service_provider: 'ACME', additional_information: '' },
  }))
  await api.catalog().cards.insertMany(cards as never[])
  const query = { batch_number: 1, serial_number: { $gte: 1, $lte: 20_000 } }
  const ask = (more: object) => api.ask('cards', { method: 'query', query, ...more })
  expect((await ask({}))['details']).toHaveLength(10_000)
  expect((await ask({ page: 1 }))['details']).toHaveLength(1)
})

it('limit: the secret of a card has 12 digits', async () => {
  const card = {
    ...{ batch_number: 2, serial_number: 1, charging_plan_name: 'TOPUP', to: '2027-01-01' },
    ...{ service_provider: 'ACME', additional_information: 'A', status: 'Idle' },
  }
  const create = (secret: string) =>
    api.ask('cards', { method: 'create', cards: [{ ...card, secret }] })
  for (const secret of ['12345678901', '1234567890123', '12345678901x']) {
    const { text, ...answer } = await create(secret)
    expect(answer, text).toMatchObject({ status: 0 })
    expect(answer['desc']).toContain('must have 12 digits')
  }
  expect(await create('123456789012')).toMatchObject({ status: 1 })
})
