import { describe, expect, it } from 'vitest'
import { FieldError } from '../../../src/domain/fields.ts'
import { insertEntity, useStore } from '../../support/catalog/store.ts'

const store = useStore()

const price = { rate: [{ from: 0, to: 'UNLIMITED', interval: 1, price: 1 }] }
const groups = (rates: unknown) => ({ include: { groups: { G: { value: 1, rates } } } })
const override = (value: object) => ({ overrides: [{ type: 'plan', key: 'GOLD', value }] })
const account = { type: 'account', sid: undefined }

describe('a reference to a missing entity is refused', () => {
  it.each([
    ['plans', groups(['DATA', 'GONE']), 'include.groups.G.rates.1', 'rate', 'GONE'],
    ['services', groups(['GONE']), 'include.groups.G.rates.0', 'rate', 'GONE'],
    ['plans', { rates: { GONE: { data: price } } }, 'rates.GONE', 'rate', 'GONE'],
    ['plans', { include: { services: ['TV', 'NO'] } }, 'include.services.1', 'service', 'NO'],
    ['subscribers', { services: [{ name: 'NO' }] }, 'services.0.name', 'service', 'NO'],
    ['subscribers', { services: ['TV', 'NO'] }, 'services.1', 'service', 'NO'],
    ['subscribers', { ...account, services: ['NO'] }, 'services.0', 'service', 'NO'],
    [
      'subscribers',
      override({ rates: { DATA: { data: price }, NO: { data: price } } }),
      'overrides.0.value.rates.NO',
      'rate',
      'NO',
    ],
    [
      'subscribers',
      { ...account, ...override(groups(['NO'])) },
      'overrides.0.value.include.groups.G.rates.0',
      'rate',
      'NO',
    ],
  ] as const)('in %s %j', async (collection, fields, path, kind, name) => {
    const catalog = await store.open()
    await insertEntity(catalog, 'rates')
    await insertEntity(catalog, 'rates', { key: 'GONE', deleted: true })
    await insertEntity(catalog, 'services')
    const refused = insertEntity(catalog, collection, fields)
    await expect(refused).rejects.toThrow(FieldError)
    await expect(refused).rejects.toThrow(`${path} names a ${kind} that does not exist: ${name}`)
  })
})

describe('a usage type without a rate is refused', () => {
  const group = { G: { value: 1, rates: ['DATA', 'CALL'], usage_types: { data: {}, fax: {} } } }
  it.each([
    ['plans', { rates: { DATA: { fax: price } } }, 'rates.DATA.fax', 'DATA'],
    ['services', { include: { groups: group } }, 'include.groups.G.usage_types.fax', 'DATA, CALL'],
    [
      'subscribers',
      override({ rates: { DATA: { fax: price } } }),
      'overrides.0.value.rates.DATA.fax',
      'DATA',
    ],
  ] as const)('in %s %j', async (collection, fields, path, rates) => {
    const catalog = await store.open()
    await insertEntity(catalog, 'rates')
    const call = { key: 'CALL', rates: { call: { BASE: price } } }
    await insertEntity(catalog, 'rates', call)
    const refused = insertEntity(catalog, collection, fields)
    await expect(refused).rejects.toThrow(FieldError)
    await expect(refused).rejects.toThrow(`${path} is a usage type that ${rates} has no price for`)
  })
})

describe('a document is accepted', () => {
  it.each([
    ['plans', { ...groups(['DATA']), rates: { DATA: { data: price } } }],
    ['plans', groups('ALL_RATES')],
    ['plans', groups('/^CALL/')],
    ['plans', { include: { services: ['TV'], groups: [] }, rates: [] }],
    ['subscribers', { services: [{ name: 'TV' }], overrides: [] }],
    // A deleted revision has no references.
    ['plans', { ...groups(['NO']), deleted: true }],
    ['subscribers', { plan: 'NOT_THERE_YET' }],
  ] as const)('in %s %j', async (collection, fields) => {
    const catalog = await store.open()
    // The revisions need not overlap: a name refers to all revisions.
    await insertEntity(catalog, 'rates', { from: '2036-01-01' })
    await insertEntity(catalog, 'services')
    expect(await insertEntity(catalog, collection, fields)).toMatchObject(fields)
  })
})
