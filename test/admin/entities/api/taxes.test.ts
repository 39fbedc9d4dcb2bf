/** The tax of a rate that names none: the default of the settings, otherwise none. */
import { afterEach, describe, expect, it } from 'vitest'
import { writeStoredConfig } from '../../../../src/catalog/settings/stored-config.ts'
import { type Fields, idOf, useApiServer } from '../../../support/admin/entities/api/api-server.ts'
import { make } from '../../../support/admin/entities/api/creators.ts'

const world = useApiServer()

function nameDefault(value: Fields): Promise<unknown> {
  const change = { nowMs: world.now(), by: 'test' }
  return writeStoredConfig(world.stores().catalog, 'taxation', () => value, change)
}

afterEach(() => nameDefault({}))

describe('a rate without a tax', () => {
  it('causes one warning in the answer to each write', async () => {
    const created = await make(world, 'rates')
    const key = created.entity['key']
    const text = `rate ${key} has no tax, and there is no default tax: it is not taxed`
    expect(created.warnings).toEqual([expect.stringContaining(text)])
    const query = { _id: idOf(created) }
    const update = { from: '2026-08-01', description: 'x', colour: 'red' }
    const next = await world.ok('rates', 'closeandnew', { query, update })
    expect(next.warnings).toEqual([
      expect.stringContaining('colour'),
      expect.stringContaining(text),
    ])
    const changed = await world.ok('rates', 'permanentchange', { query, update })
    expect(changed.warnings.filter((warning) => warning.includes(text))).toHaveLength(1)
  })

  it('causes no warning if it says so, has a tax, or a default is configured', async () => {
    const tax = await make(world, 'taxes')
    const taxed = [{ type: 'vat', taxation: 'custom', custom_tax: tax.entity['key'] }]
    for (const hints of [[{ type: 'vat', taxation: 'no' }], taxed]) {
      expect((await make(world, 'rates', { tax: hints })).warnings).toBeUndefined()
    }
    await nameDefault({ default: { key: tax.entity['key'] } })
    expect((await make(world, 'rates')).warnings).toBeUndefined()
    await nameDefault({
      mapping: { priorities: [{ filters: [{ tax_field: 'key', rate_field: 'params.vat' }] }] },
    })
    const mapped = await make(world, 'rates', { params: { vat: tax.entity['key'] } })
    expect(mapped.warnings).toBeUndefined()
    expect((await make(world, 'rates')).warnings).toHaveLength(1)
  })
})

describe('a tax', () => {
  it('is not a default by its existence, and its answer says so', async () => {
    const { warnings, entity } = await make(world, 'taxes')
    expect(warnings).toEqual([expect.stringContaining('there is no default tax')])
    await nameDefault({ default: entity['key'] })
    expect((await make(world, 'taxes')).warnings).toBeUndefined()
  })

  it('that is the default is neither deleted nor closed', async () => {
    const tax = await make(world, 'taxes')
    const query = { _id: idOf(tax) }
    await nameDefault({ default: tax.entity['key'] })
    await world.refused('taxes', 'delete', { query })
    const close = { query, update: { to: '2026-08-01' } }
    const { message } = await world.refused('taxes', 'close', close)
    expect(message).toContain('all that have no tax of their own')
    await world.ok('taxes', 'close', { ...close, force: true })
  })
})
