import { afterEach, describe, expect, it } from 'vitest'
import { seedDemoCatalogue, seedDemoSettings } from '../../src/catalog/demo.ts'
import { DEMO_BY, insertEntity } from '../support/catalog/store.ts'
import { useTollgate } from '../support/cli/tollgate.ts'

const tollgate = useTollgate()

afterEach(async () => {
  const { subscribers, plans, rates, taxes, services } = tollgate.catalog()
  for (const each of [subscribers, plans, rates, taxes, services]) await each.deleteMany({})
})

interface Report {
  ok: boolean
  problems: { kind: string; collection: string; key: string; text: string }[]
  counts: Record<string, number>
}

async function checked(): Promise<{ code: number | null; report: Report }> {
  const { code, stdout, stderr } = await tollgate.run('check', '--json')
  expect(stderr).toBe('')
  return { code, report: JSON.parse(stdout) as Report }
}

function store(_id: string, value: unknown) {
  const more = { rev: 1, changed: new Date(0), changed_by: 'hand' }
  return tollgate.catalog().config.insertOne({ _id, value, ...more })
}

const NO_TAX = { tax: [{ type: 'vat', taxation: 'no' }] }

describe('tollgate check', () => {
  it('finds no problem in the demo catalogue', async () => {
    await seedDemoCatalogue(tollgate.catalog(), DEMO_BY)
    await seedDemoSettings(tollgate.catalog(), DEMO_BY)
    const { code, stdout } = await tollgate.run('check')
    expect([code, stdout]).toEqual([0, 'ok: nothing is wrong\n'])
    expect(await checked()).toEqual({ code: 0, report: { ok: true, problems: [], counts: {} } })
  })

  it('reports identifiers that several subscribers have at the same time', async () => {
    const catalog = tollgate.catalog()
    await insertEntity(catalog, 'plans')
    const one = { sid: 21, msisdn: '4917000001', imsi: ['262011', '262012'] }
    await insertEntity(catalog, 'subscribers', { ...one, to: '2026-06-01' })
    await insertEntity(catalog, 'subscribers', { ...one, from: '2026-06-01' })
    const two = { sid: 22, msisdn: '4917000001', imsi: ['262013'] }
    await insertEntity(catalog, 'subscribers', { ...two, from: '2026-05-01', to: '2026-07-01' })
    const later = { sid: 23, msisdn: '4917000009', imsi: ['262012'] }
    await insertEntity(catalog, 'subscribers', later)
    const { code, report } = await checked()
    expect(code).toBe(1)
    expect(report.ok).toBe(false)
    const texts = report.problems.map(({ text }) => text).sort()
    expect(texts).toEqual([
      'imsi 262012 belongs to several subscribers at the same time: sid 21, 23',
      'msisdn 4917000001 belongs to several subscribers at the same time: sid 21, 22',
    ])
    expect(report.counts).toEqual({ duplicate_identifier: 2 })
  })

  it('reports no number that was reassigned or may be shared', async () => {
    const catalog = tollgate.catalog()
    await insertEntity(catalog, 'plans')
    const number = { msisdn: '4917000001', imsi: [] }
    await insertEntity(catalog, 'subscribers', { ...number, sid: 21, to: '2026-06-01' })
    await insertEntity(catalog, 'subscribers', { ...number, sid: 22, from: '2026-06-01' })
    expect((await checked()).code).toBe(0)
    await insertEntity(catalog, 'subscribers', { ...number, sid: 23, from: '2026-06-01' })
    expect((await checked()).code).toBe(1)
    await store('subscribers', {
      subscriber: { fields: [{ field_name: 'msisdn', unique: false }] },
    })
    expect((await checked()).code).toBe(0)
  })

  it('reports numbers in a form that requests do not have, unless that is configured', async () => {
    const catalog = tollgate.catalog()
    await insertEntity(catalog, 'plans')
    const fine = { sid: 21, msisdn: '4917000001', imsi: ['262011'] }
    await insertEntity(catalog, 'subscribers', fine)
    await insertEntity(catalog, 'subscribers', { ...fine, sid: 22, msisdn: '4.477E+11', imsi: [] })
    const imsi = ['26201', '262012']
    await insertEntity(catalog, 'subscribers', { ...fine, sid: 23, msisdn: '+49 17', imsi })
    const { report } = await checked()
    expect(
      report.problems.map(({ key, text }) => [key, text.replace(/ must be .*, is /, ' ')]),
    ).toEqual([
      ['22', `subscribers 22: msisdn '4.477E+11': charging does not find it`],
      ['23', `subscribers 23: msisdn '+49 17': charging does not find it`],
      ['23', `subscribers 23: imsi '26201': charging does not find it`],
    ])
    expect(report.counts).toEqual({ number: 3 })
    const fields = ['msisdn', 'imsi'].map((name) => ({ field_name: name, numbering: 'any' }))
    await store('subscribers', { subscriber: { fields } })
    expect((await checked()).code).toBe(0)
  })

  it('reports rates without a tax, and taxes that are named but missing', async () => {
    const catalog = tollgate.catalog()
    await insertEntity(catalog, 'rates', { key: 'BARE' })
    await insertEntity(catalog, 'rates', { key: 'FREE', ...NO_TAX })
    const custom = { type: 'vat', taxation: 'custom', custom_tax: 'GONE', custom_logic: 'override' }
    await insertEntity(catalog, 'rates', { key: 'CUSTOM', tax: [custom] })
    const first = await checked()
    expect(first.report.problems.map(({ kind, key }) => [kind, key]).sort()).toEqual([
      ['missing_tax', 'CUSTOM'],
      ['rate_without_tax', 'BARE'],
    ])
    await store('taxation', { default: { key: 'VAT' } })
    const named = await checked()
    expect(named.report.counts).toEqual({ missing_default_tax: 1, missing_tax: 1 })
    await insertEntity(catalog, 'taxes', { key: 'VAT' })
    expect((await checked()).report.counts).toEqual({ missing_tax: 1 })
  })

  it('reports documents that charging cannot read, and settings that cannot be used', async () => {
    const catalog = tollgate.catalog()
    const period = { from: new Date(0), to: new Date('2100-01-01') }
    await catalog.rates.insertOne({ key: 'BROKEN', rev: 1, ...period, rates: 7 } as never)
    const { _id } = await insertEntity(catalog, 'subscribers', { sid: 31 })
    await catalog.subscribers.updateOne({ _id } as never, { $set: { plan: 'NOWHERE' } } as never)
    await store('taxation', { default: 7 })
    const { code, report } = await checked()
    expect(code).toBe(1)
    expect(report.counts).toEqual({ damaged: 1, reference: 1, settings: 1 })
    const { stdout } = await tollgate.run('check')
    expect(stdout).toContain('rates BROKEN: cannot be used: rates')
    expect(stdout).toContain('plan names a plan that does not exist: NOWHERE')
    expect(stdout).toContain('settings taxation: taxation.default')
    expect(stdout).toMatch(/3 problems\n$/)
  })
})
