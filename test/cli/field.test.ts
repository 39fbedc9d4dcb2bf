import { describe, expect, it } from 'vitest'
import { readFieldSettings } from '../../src/catalog/settings/stored-config.ts'
import { useTollgate } from '../support/cli/tollgate.ts'

const tollgate = useTollgate()

const settings = () => readFieldSettings(tollgate.catalog())

function storeDirectly(_id: string, value: unknown) {
  const more = { rev: 1, changed: new Date(0), changed_by: 'hand' }
  return tollgate.catalog().config.insertOne({ _id, value, ...more })
}

const COLOUR = { field_name: 'colour', type: 'select', select_options: 'red,green' }

const put = (collection: string, value: unknown) =>
  tollgate.pipe(JSON.stringify(value), 'field', 'set', collection, '-')

describe('tollgate field set', () => {
  it('creates and replaces a field, and reports which', async () => {
    const file = tollgate.file('field.json', JSON.stringify(COLOUR))
    const first = await tollgate.run('field', 'set', 'plans', file)
    expect([first.code, first.stdout, first.stderr]).toEqual([0, 'created colour\n', ''])
    const second = await put('plans', { fields: [{ ...COLOUR, mandatory: true }] })
    expect([second.code, second.stdout]).toEqual([0, 'replaced colour\n'])
    expect((await settings()).plans).toEqual({ fields: [{ ...COLOUR, mandatory: true }] })
    const { changed_by: by } = (await tollgate.catalog().config.findOne({})) ?? {}
    expect(by).toBe('cli')
  })

  it('accepts YAML, and keeps everything else of the category', async () => {
    const other = { field_name: 'other', changeable_props: ['title'] }
    const subscriber = { external_url: 'x', fields: [{ field_name: 'size' }] }
    await storeDirectly('subscribers', { subscriber, account: { fields: [other] }, billable: {} })
    const yaml = 'field_name: vat_number\nunique: true\n'
    const { code, stdout } = await tollgate.pipe(yaml, 'field', 'set', 'accounts', '-')
    expect([code, stdout]).toEqual([0, 'created vat_number\n'])
    const account = { fields: [other, { field_name: 'vat_number', unique: true }] }
    expect((await settings()).subscribers).toEqual({ subscriber, account, billable: {} })
  })

  it('reports when it replaces a built-in field', async () => {
    const { stdout } = await put('accounts', { field_name: 'address', mandatory: false })
    expect(stdout).toBe('created address, replacing the default field\n')
  })

  it.each([
    ['plans', [], '- has no fields'],
    ['plans', [COLOUR, 5], '-: plans.fields.1 must be an object: nothing was changed'],
    ['plans', { field_name: 'a b' }, '-: plans.fields.0.field_name must be letters'],
    ['subscribers', { field_name: 'msisdn', type: 'integer' }, 'type must keep its built-in value'],
    ['accounts', [COLOUR, COLOUR], "subscribers.account.fields.1.field_name 'colour' occurs twice"],
  ])('refuses %s %j with the path, and stores nothing', async (collection, value, message) => {
    const { code, stdout, stderr } = await put(collection, value)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(message)
    expect(await tollgate.catalog().config.countDocuments()).toBe(0)
  })

  it.each(['lines', 'prepaidincludes', 'nothing'])('finds no fields of %s', async (collection) => {
    const { code, stderr } = await put(collection, COLOUR)
    expect([code, stderr]).toEqual([2, expect.stringContaining('accounts, subscribers, plans,')])
    expect(stderr).toContain(`not for '${collection}'`)
  })
})

describe('tollgate field list', () => {
  it('shows built-in and stored fields', async () => {
    await put('accounts', [COLOUR, { field_name: 'address', type: 'text', editable: false }])
    const table = await tollgate.run('field', 'list', 'accounts')
    expect(table.stdout).toMatch(/aid +start +integer +unique generated/)
    expect(table.stdout).toMatch(/address +stored, in place of the one from the start +text +fixed/)
    expect(table.stdout).toMatch(/colour +stored +select/)
    const json = JSON.parse((await tollgate.run('field', 'list', 'accounts', '--json')).stdout)
    expect(json).toContainEqual({ ...COLOUR, from: 'stored' })
  })

  it('names stored fields that cannot be used', async () => {
    await storeDirectly('rates', { fields: [{ field_name: 'x', mandatry: true }] })
    const { code, stderr } = await tollgate.run('field', 'list', 'rates')
    const expected = 'tollgate: stored: rates.fields.0.mandatry is not known\n'
    expect([code, stderr]).toEqual([1, expected])
  })
})

describe('tollgate field remove', () => {
  it('removes a stored field', async () => {
    await put('rates', [COLOUR, { field_name: 'invoice_label', mandatory: true }])
    const [first, second] = [
      await tollgate.run('field', 'remove', 'rates', 'colour'),
      await tollgate.run('field', 'remove', 'rates', 'invoice_label'),
    ]
    expect([first.code, first.stdout]).toEqual([0, 'removed colour\n'])
    const back = 'removed invoice_label: the default field applies again\n'
    expect([second.code, second.stdout]).toEqual([0, back])
    expect((await settings()).rates).toEqual({ fields: [] })
  })

  it.each([
    ['invoice_label', 'invoice_label is a default field and cannot be removed'],
    ['none', "rates have no field none: see 'tollgate field list rates'"],
  ])('of %s reports why it cannot be removed', async (name, message) => {
    const { code, stderr } = await tollgate.run('field', 'remove', 'rates', name)
    expect([code, stderr]).toEqual([1, `tollgate: ${message}\n`])
  })

  it('repairs a configuration that cannot be used', async () => {
    await storeDirectly('rates', { fields: [{ field_name: 'x', mandatry: true }] })
    const { code } = await tollgate.run('field', 'remove', 'rates', 'x')
    expect([code, (await settings()).rates]).toEqual([0, { fields: [] }])
  })
})
