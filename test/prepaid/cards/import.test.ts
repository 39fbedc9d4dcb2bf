/** Cards of an existing system. */
import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { cardSecretsOf } from '../../../src/catalog/sealing/card-secrets.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { importCards } from '../../../src/prepaid/cards/import.ts'
import { insertEntity, useStore } from '../../support/catalog/store.ts'
import { useMadeEach } from '../../support/opened.ts'

const store = useStore()
const NOW_MS = Date.UTC(2026, 10, 26, 12)
const config = loadConfig({
  env: { TOLLGATE_SECRETS_KEY: 'a key of these tests, long enough for it' },
})
const actor = { by: 'cli', id: '', name: 'tester', address: '' } as const
const sha512 = (text: string) => createHash('sha512').update(text).digest('hex')

const catalog = useMadeEach(() => store.open())
beforeEach(async () => {
  await catalog().ensureIndexes()
  await insertEntity(catalog(), 'prepaidgroups', { name: 'LOAD' })
})

/** As `mongoexport` writes it. */
const document = (serial: number, more: Record<string, unknown> = {}) => ({
  _id: { $oid: '5f0000000000000000000001' },
  secret: sha512(String(serial).padStart(12, '0')),
  batch_number: 7,
  serial_number: { $numberLong: String(serial) },
  charging_plan_name: 'LOAD',
  service_provider: 'ACME',
  from: { $date: '2025-01-01T00:00:00Z' },
  to: { $date: '2030-01-01T00:00:00Z' },
  creation_time: { $date: { $numberLong: '1735689600000' } },
  status: 'Active',
  additional_information: 'north',
  ...more,
})
const load = (documents: readonly unknown[], isDry = false) => {
  const secrets = cardSecretsOf(catalog(), config)
  const parts = {
    catalog: catalog(),
    actor,
    nowMs: NOW_MS,
    secrets,
    timeZone: 'Europe/Berlin',
    isDry,
  }
  return importCards(
    parts,
    documents.map((value, index) => ({ row: index + 1, value })),
  )
}
const stored = () =>
  catalog()
    .cards.find({}, { projection: { _id: 0 } })
    .sort({ serial_number: 1 })
    .toArray()
const digest = async (secret: string) =>
  (await cardSecretsOf(catalog(), config).digests([secret]))[0]

describe('cards', () => {
  it('are stored with keyed digests of their secrets, and what they have loaded', async () => {
    const used = { status: 'Used', sid: 18, activation_datetime: { $date: '2026-02-03T04:05:06Z' } }
    const documents = [
      document(1),
      document(2, { secret: '000000000002', to: '2030-01-01' }),
      document(3, { ...used, charging_plan_name: 'GONE', additional_information: null }),
      document(4, { status: 'Expired', expired_on: { $date: '2026-01-02T00:00:00Z' } }),
      document(5, { status: 'Disqualified', secret: 123456789012 }),
    ]
    expect(await load(documents)).toEqual({ imported: 5, failed: [] })
    const common = {
      batch_number: 7,
      charging_plan_name: 'LOAD',
      service_provider: 'ACME',
      to: new Date('2030-01-01T00:00:00Z'),
      creation_time: new Date('2025-01-01T00:00:00Z'),
      additional_information: 'north',
    }
    const secret = async (serial: number) => digest(String(serial).padStart(12, '0'))
    expect(await stored()).toEqual([
      { ...common, serial_number: 1, status: 'Active', secret_hmac: await secret(1) },
      {
        ...common,
        ...{ serial_number: 2, status: 'Active', secret_hmac: await secret(2) },
        to: new Date('2029-12-31T23:00:00Z'),
      },
      {
        ...common,
        ...{ serial_number: 3, status: 'Used', secret_hmac: await secret(3), sid: 18 },
        activation_datetime: new Date('2026-02-03T04:05:06Z'),
        charging_plan_name: 'GONE',
        additional_information: '',
      },
      {
        ...common,
        ...{ serial_number: 4, status: 'Expired', secret_hmac: await secret(4) },
        expired_on: new Date('2026-01-02T00:00:00Z'),
      },
      {
        ...common,
        ...{ serial_number: 5, status: 'Cancelled', secret_hmac: await digest('123456789012') },
      },
    ])
    const records = await catalog().audit.find().toArray()
    expect(records.map(({ type, key, new: made }) => [type, key, made])).toEqual([
      ['import', '7', expect.objectContaining({ count: 5, serial_numbers: { from: 1, to: 5 } })],
    ])
    expect(JSON.stringify([records, await stored()])).not.toContain('000000000002')
  })

  it('that were imported before stay as they are', async () => {
    await load([document(1), document(2)])
    await catalog().cards.updateOne({ serial_number: 1 }, { $set: { status: 'Used' } })
    expect(await load([document(1), document(2), document(3)])).toEqual({ imported: 3, failed: [] })
    expect((await stored()).map(({ status }) => status)).toEqual(['Used', 'Active', 'Active'])
  })

  it('whose numbers or secret another card has fail', async () => {
    await load([document(1)])
    const documents = [
      document(1, { secret: '000000000009' }),
      document(2, { secret: '000000000001' }),
      document(3),
      document(3, { secret: '000000000008' }),
      document(4, { secret: '000000000003' }),
    ]
    expect(await load(documents)).toEqual({
      imported: 1,
      failed: [
        { row: 1, text: 'card 7/1 exists already' },
        { row: 2, text: 'a card with this secret exists already' },
        { row: 4, text: 'card 7/3 exists already' },
        { row: 5, text: 'a card with this secret exists already' },
      ],
    })
  })

  it('are only checked in a dry run', async () => {
    expect(await load([document(1), document(2, { to: 'soon' })], true)).toEqual({
      imported: 1,
      failed: [{ row: 2, text: 'to must be a date' }],
    })
    expect(await stored()).toEqual([])
    expect(await catalog().audit.countDocuments()).toBe(0)
  })
})

describe('a document', () => {
  const SECRET = 'secret must have 12 digits, or be their SHA-512 in hexadecimal'

  it.each([
    ['text', 'must be an object'],
    [[], 'must be an object'],
    [document(1, { secret: undefined }), SECRET],
    [document(1, { secret: '12345678901' }), SECRET],
    [document(1, { secret: { digits: 12 } }), SECRET],
    [document(1, { secret: 'x'.repeat(128) }), SECRET],
    [document(1, { batch_number: 0 }), 'batch_number must be an integer from 1 to 2^53'],
    [document(1, { serial_number: undefined }), 'serial_number is missing'],
    [document(1, { serial_number: 1.5 }), 'serial_number must be an integer from 1 to 2^53'],
    [document(1, { service_provider: '' }), 'service_provider must be a text that is not empty'],
    [document(1, { to: undefined }), 'to is missing'],
    [document(1, { creation_time: {} }), 'creation_time must be a date'],
    [document(1, { sid: 'x' }), 'sid must be an integer from 1 to 2^53'],
    [document(1, { additional_information: 5 }), 'additional_information must be a text'],
    [document(1, { status: 'Sold' }), 'status must be one of Idle, Shipped, active'],
    [
      document(1, { charging_plan_name: 'GONE' }),
      'charging_plan_name: there is no charging plan GONE now',
    ],
  ])('%j fails', async (invalid, text) => {
    expect(await load([invalid, document(2)])).toEqual({
      imported: 1,
      failed: [{ row: 1, text: expect.stringContaining(text) }],
    })
    expect((await stored()).map(({ serial_number }) => serial_number)).toEqual([2])
  })
})
