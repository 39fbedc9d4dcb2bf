import { describe, expect, it } from 'vitest'
import {
  FIELD_CATEGORIES,
  type FieldSettings,
  readConfigRevision,
  readFieldSettings,
  readStoredConfig,
  writeStoredConfig,
} from '../../../src/catalog/settings/stored-config.ts'
import { FieldError } from '../../../src/domain/fields.ts'
import { DEFINITIONS } from '../../../src/entities/definitions/collections.ts'
import {
  categoryOf,
  fieldsOf,
  storedList,
  withStoredList,
} from '../../../src/entities/fields/configured.ts'
import { DEFAULT_FIELDS } from '../../../src/entities/fields/defaults.ts'
import { useStore } from '../../support/catalog/store.ts'

const store = useStore()

const EMPTY = Object.fromEntries(FIELD_CATEGORIES.map((name) => [name, {}])) as FieldSettings

const definition = (name: string) => {
  const found = DEFINITIONS.get(name)
  if (found === undefined) throw new Error(name)
  return found
}

const configurable = [...DEFINITIONS.values()].filter(
  ({ configuredFieldsPath }) => configuredFieldsPath !== null,
)

const accounts = (fields: unknown) =>
  fieldsOf(definition('accounts'), { ...EMPTY, subscribers: { account: { fields } } })

describe('the fields of a collection', () => {
  it.each(configurable)('can all be used with their defaults: $name', (each) => {
    const fields = fieldsOf(each, EMPTY)
    expect(fields).toEqual(DEFAULT_FIELDS[each.name])
    const all = withStoredList(each, {}, fields)
    expect(storedList(each, all)).toEqual(fields)
    expect(fields.every(({ system }) => system === true)).toBe(true)
  })

  it('exist for the collections that have a configuration for them, and no others', () => {
    expect(Object.keys(DEFAULT_FIELDS).sort()).toEqual(configurable.map(({ name }) => name).sort())
    expect(new Set(configurable.map(categoryOf))).toEqual(new Set(FIELD_CATEGORIES))
    expect(fieldsOf(definition('lines'), EMPTY)).toEqual([])
  })

  it('require of accounts and subscribers what the entity API requires', () => {
    const mandatory = (name: string) =>
      (DEFAULT_FIELDS[name] ?? []).filter((one) => one.mandatory).map((one) => one.field_name)
    const person = ['firstname', 'lastname']
    expect(mandatory('accounts')).toEqual([...person, 'email', 'country', 'address', 'zip_code'])
    expect(mandatory('subscribers')).toEqual(['sid', 'aid', ...person, 'plan', 'address'])
  })

  it('have stored ones in the place of their defaults, and further ones at the end', () => {
    const address = { field_name: 'address', mandatory: false, title: 'Street' }
    const fields = accounts([{ field_name: 'vat_number' }, address])
    const names = fields.map(({ field_name }) => field_name)
    expect(names).toEqual([...accounts([]).map((one) => one.field_name), 'vat_number'])
    expect(fields.find((one) => one.field_name === 'address')).toEqual({
      ...address,
      system: true,
      // The default stays unless the stored field changes it.
      personal: true,
      type: 'text',
    })
  })

  it('of subscribers keep the form of their numbers until another one is set', () => {
    const numberings = (stored: readonly object[]) => {
      const settings = { ...EMPTY, subscribers: { subscriber: { fields: stored } } }
      const fields = fieldsOf(definition('subscribers'), settings)
      return fields.flatMap(({ field_name: name, numbering }) =>
        numbering === undefined ? [] : [`${name} ${numbering}`],
      )
    }
    expect(numberings([])).toEqual(['msisdn msisdn', 'imsi imsi'])
    const msisdn = { field_name: 'msisdn', validation: '44\\d*' }
    expect(numberings([msisdn])).toEqual(['msisdn msisdn', 'imsi imsi'])
    const others = [
      { ...msisdn, numbering: 'any' },
      { field_name: 'imsi_2', numbering: 'imsi' },
    ]
    expect(numberings(others)).toEqual(['msisdn any', 'imsi imsi', 'imsi_2 imsi'])
  })

  it.each([[{}], [{ fields: [] }], [[]], [null]])(
    'are the defaults if nothing is stored (%j)',
    (value) => {
      expect(fieldsOf(definition('plans'), { ...EMPTY, plans: value })).toEqual(
        DEFAULT_FIELDS['plans'],
      )
    },
  )
})

describe('a stored field that cannot be used', () => {
  const at = 'subscribers.account.fields'

  it.each([
    ['x', `${at} must be a list`],
    [[5], `${at}.0 must be an object`],
    [[{}], `${at}.0.field_name is missing`],
    [[{ field_name: '$where' }], `${at}.0.field_name must be letters`],
    [[{ field_name: 'a..b' }], `${at}.0.field_name must be letters`],
    [[{ field_name: 'a.__proto__' }], `${at}.0.field_name must be letters`],
    [[{ field_name: 'constructor.x' }], `${at}.0.field_name must be letters`],
    [[{ field_name: 'rev' }], `${at}.0.field_name 'rev' cannot be configured`],
    [[{ field_name: '_id' }], `${at}.0.field_name must be letters`],
    [[{ field_name: 'a', type: 'colour' }], `${at}.0.type must be one of text,`],
    [[{ field_name: 'a', mandatory: 'yes' }], `${at}.0.mandatory must be true or false`],
    [[{ field_name: 'a', mandatry: true }], `${at}.0.mandatry is not known`],
    [[{ field_name: 'a', title: 5 }], `${at}.0.title must be a text`],
    [[{ field_name: 'a', plays: 'x' }], `${at}.0.plays must be a list`],
    [[{ field_name: 'a', generated: true }], `${at}.0.generated must not be true`],
    [[{ field_name: 'a', type: 'select' }], `${at}.0.select_options must have at least one`],
    [[{ field_name: 'a', select_options: [1] }], `${at}.0.select_options.0 must be a text`],
    [[{ field_name: 'a', validation: '(' }], `${at}.0.validation is not a regular`],
    [[{ field_name: 'a', validation: 'a)(b' }], `${at}.0.validation is not a regular`],
    [[{ field_name: 'a', validation: '(a+)+(?=b)' }], `${at}.0.validation cannot be run`],
    [
      [{ field_name: 'a', numbering: 'imei' }],
      `${at}.0.numbering must be one of msisdn, imsi, any`,
    ],
    [[{ field_name: 'a', validation: 5 }], `${at}.0.validation must be a regular`],
    [[{ field_name: 'a', type: 'date', default_value: 'x' }], `${at}.0.default_value must be a`],
    [
      [{ field_name: 'a', select_options: 'b', default_value: 'c' }],
      `${at}.0.default_value must be one of select_options`,
    ],
    [[{ field_name: 'email', type: 'text' }], `${at}.0.type must keep its built-in value`],
    [[{ field_name: 'aid', generated: false }], `${at}.0.generated must keep its built-in value`],
    [[{ field_name: 'address', multiple: true }], `${at}.0.multiple must keep its built-in value`],
    [[{ field_name: 'a' }, { field_name: 'a' }], `${at}.1.field_name 'a' occurs twice`],
  ])('%j is reported by its path', (list, message) => {
    const read = () => accounts(list)
    expect(read).toThrow(FieldError)
    expect(read).toThrow(message)
  })
})

describe('stored fields', () => {
  it('do not change the configuration revision that charging follows', async () => {
    const catalog = await store.open()
    const before = await readConfigRevision(catalog)
    expect(await readFieldSettings(catalog)).toEqual(EMPTY)
    const change = { nowMs: 0, by: 'test' }
    const put = (value: unknown) =>
      withStoredList(definition('plans'), value, [{ field_name: 'a' }])
    await writeStoredConfig(catalog, 'plans', put, change)
    expect((await readFieldSettings(catalog)).plans).toEqual({ fields: [{ field_name: 'a' }] })
    expect(await readConfigRevision(catalog)).toBe(before)
    expect(await readStoredConfig(catalog)).toEqual({
      ...{ file_types: [], peers: [] },
      ...{ taxation: {}, subscribers: {}, events: {} },
    })
  })
})
