import { describe, expect, it } from 'vitest'
import {
  ACCOUNT_COLUMNS,
  ACCOUNT_HEADER,
  accountLine,
  accountsCsv,
  insertAccounts,
  insertPlan,
  SUBSCRIBER_HEADER,
  subscriberLine,
  subscriberSettings,
  useImports,
} from '../../support/entities/import/import-fixture.ts'

const scene = useImports()
const accounts = () =>
  scene.catalog().subscribers.find({ type: 'account' }).sort({ aid: 1 }).toArray()

describe('accounts', () => {
  it('are stored as by create, and reported by line number of the file', async () => {
    const result = await scene.run({
      collection: 'accounts',
      text: accountsCsv(3),
      update: { map: ACCOUNT_COLUMNS, default_values: { salutation: 'Ms' } },
    })
    expect(result.details).toEqual({ 2: true, 3: true, 4: true })
    const found = await accounts()
    expect(found.map(({ aid }) => aid)).toEqual([1, 2, 3])
    expect(found[0]).toMatchObject({
      firstname: 'Ada',
      lastname: 'Byron 0',
      salutation: 'Ms',
      invoice_language: 'en_GB',
      activation_date: new Date(Date.UTC(2026, 5, 1)),
    })
  })

  it('reports a bad row by its line, and imports all others', async () => {
    const text = [ACCOUNT_HEADER, accountLine(1), 'Ada,Byron,nomail,UK,1 Mill,AB', accountLine(2)]
    const result = await scene.run({
      collection: 'accounts',
      text: text.join('\n'),
      update: { map: ACCOUNT_COLUMNS },
    })
    expect(result.details).toEqual({ 2: true, 3: expect.stringContaining('email'), 4: true })
    expect(await accounts()).toHaveLength(2)
  })
})

describe('subscribers', () => {
  it('with a number that a spreadsheet has changed are read or refused', async () => {
    await insertPlan(scene.catalog())
    await insertAccounts(scene.catalog(), 1)
    const numbers = ['4.477E+11', '+44 7700 900-123', '447700900199.0', '0044.1']
    const lines = numbers.map((text, index) => subscriberLine(index, 'A0').replace(/\+\d+/, text))
    const result = await scene.run({
      collection: 'subscribers',
      text: [SUBSCRIBER_HEADER, ...lines].join('\n'),
      update: subscriberSettings(),
    })
    expect(result.details).toEqual({
      2: expect.stringMatching(/msisdn must be .*scientific/),
      3: true,
      4: expect.stringMatching(/msisdn must be .*decimals/),
      5: expect.stringMatching(/msisdn must be .*decimals/),
    })
    const found = await scene.catalog().subscribers.find({ type: 'subscriber' }).toArray()
    expect(found).toMatchObject([{ msisdn: '447700900123' }])
  })

  it('are linked to their accounts', async () => {
    await insertPlan(scene.catalog())
    await insertAccounts(scene.catalog(), 2)
    const lines = [subscriberLine(1, 'A0'), subscriberLine(2, 'A1'), subscriberLine(3, 'A9')]
    const text = [SUBSCRIBER_HEADER, ...lines, subscriberLine(4, 'A1').replace('GOLD', 'NONE')]
    const result = await scene.run({
      collection: 'subscribers',
      text: text.join('\r\n'),
      update: subscriberSettings(),
    })
    expect(result.details).toEqual({
      2: true,
      3: true,
      4: "no account has account_import_id 'A9'",
      5: expect.stringContaining('there is no plan NONE'),
    })
    const found = await scene.catalog().subscribers.find({ type: 'subscriber' }).toArray()
    expect(found.map(({ aid }) => aid)).toEqual([100, 101])
    expect(found[0]).toMatchObject({
      plan_activation: new Date(Date.UTC(2026, 4, 1)),
      services: [],
    })
  })

  it('are linked by a number of the account in any notation', async () => {
    const catalog = scene.catalog()
    const field = { field_name: 'contact', type: 'text', numbering: 'msisdn' }
    const value = { account: { fields: [field] } }
    await catalog.config.insertOne({ _id: 'subscribers', rev: 1, value } as never)
    await insertPlan(catalog)
    await insertAccounts(catalog, 1)
    const stored = { $set: { contact: '447700900123' } } as never
    await catalog.subscribers.updateOne({ aid: 100 }, stored)
    const result = await scene.run({
      collection: 'subscribers',
      text: [SUBSCRIBER_HEADER, subscriberLine(1, '+44 7700 900-123')].join('\n'),
      update: { ...subscriberSettings(), linker: { field: 'contact', value: '__csvindex__6' } },
    })
    expect(result.details).toEqual({ 2: true })
  })

  it('that begin before their account move its begin', async () => {
    await insertPlan(scene.catalog())
    await insertAccounts(scene.catalog(), 1, '2026-04-01')
    const lines = [subscriberLine(1, 'A0', '2026-05-01'), subscriberLine(2, 'A0', '2026-02-01')]
    const result = await scene.run({
      collection: 'subscribers',
      text: [SUBSCRIBER_HEADER, ...lines].join('\n'),
      update: subscriberSettings(),
    })
    expect(result.details).toEqual({ 2: true, 3: true })
    const [account] = await accounts()
    expect(account?.from).toEqual(new Date(Date.UTC(2026, 1, 1)))
  })
})
