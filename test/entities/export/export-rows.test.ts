import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { type Catalog, withGuards } from '../../../src/catalog/connection.ts'
import { DEFINITIONS } from '../../../src/entities/definitions/collections.ts'
import type { CollectionDefinition } from '../../../src/entities/definitions/definition.ts'
import { type ExportRequest, exportRows } from '../../../src/entities/export/export-rows.ts'
import { neutralCell, originalCell } from '../../../src/entities/export/formula.ts'
import { currentRevisionPages } from '../../../src/entities/export/revision-pages.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { NOW_MS, useImports } from '../../support/entities/import/import-fixture.ts'

const scene = useImports()
const CONDITION = { field: 'aid', op: 'in', value: [17] }

afterEach(async () => {
  for (const name of ['charges', 'users'] as const) await scene.catalog()[name].deleteMany({})
})

async function exported(name: string, more: Partial<ExportRequest> = {}): Promise<string> {
  const definition = DEFINITIONS.get(name) as CollectionDefinition
  const fields = await scene.api().fields.of(definition)
  let text = ''
  const request: ExportRequest = {
    definition,
    fields,
    filter: {},
    states: [0, 1],
    format: 'csv',
    hasHeader: true,
    delimiter: ',',
    timeZone: 'UTC',
    nowMs: NOW_MS,
    ...more,
  }
  for await (const part of exportRows(scene.catalog(), request)) text += part
  return text
}

const discount = (fields: Record<string, unknown>) =>
  insertEntity(scene.catalog(), 'discounts', fields)

describe('CSV of discounts', () => {
  it('has the columns that clients know, by name', async () => {
    await discount({
      key: 'TEN',
      description: '=1+1',
      type: 'percentage',
      excludes: ['A', 'B'],
      priority: 5,
      params: { cycles: 12, conditions: [{ account: { fields: [CONDITION] } }] },
    })
    const [header, row, ...rest] = (await exported('discounts')).split('\n')
    expect(header).toBe(
      'creation_time,description,excludes,from,key,limit,params.conditions,params.cycles,' +
        'params.max_subscribers,params.min_subscribers,priority,prorated_end,prorated_start,' +
        'proration,simultaneous_limit,subject.matched_plans.value,subject.matched_services.value,' +
        'subject.monthly_fees.value,subject.plan,subject.service,to,type',
    )
    expect(row).toBe(
      `,'=1+1,"A, B",2026-01-01T00:00:00+0000,TEN,,"[{""account"":{""fields"":[{""field"":` +
        '""aid"",""op"":""in"",""value"":[17]}]}}]",12,,,5,,,,,,,,' +
        '"{""GOLD"":{""value"":0.1}}",,2170-01-01T00:00:00+0000,percentage',
    )
    expect(rest).toEqual([''])
  })

  it('has the current revision of each key', async () => {
    const periods = [
      ['A', '2026-01-01', '2026-03-01'],
      ['A', '2026-03-01', '2026-07-01'],
      ['A', '2026-07-01', '2027-01-01'],
      ['B', '2025-01-01', '2025-02-01'],
      ['C', '2026-08-01', '2027-01-01'],
    ]
    for (const [key, from, to] of periods) await discount({ key, from, to })
    const begins = async (more: Partial<ExportRequest>) => {
      const lines = await exported('discounts', { hasHeader: false, ...more })
      return lines.split('\n').flatMap((line) => line.split(',')[3]?.slice(0, 10) ?? [])
    }
    expect(await begins({})).toEqual(['2026-03-01', '2026-08-01'])
    expect(await begins({ states: [1] })).toEqual(['2026-08-01'])
    expect(await begins({ states: [2] })).toEqual(['2025-01-01'])
    expect(
      await begins({ filter: { key: 'A', to: { $lte: new Date(NOW_MS) } }, states: [2] }),
    ).toEqual(['2026-01-01'])
  })

  it('spans several pages, also if one key has many revisions', async () => {
    const dayOf = (index: number) => new Date(Date.UTC(2020, 0, 1 + index))
    const revisions = Array.from({ length: 1100 }, (_, index) => {
      return { key: 'MANY', from: dayOf(index), to: dayOf(index + 1), rev: index }
    })
    const others = Array.from({ length: 600 }, (_, index) => {
      return { key: `Z${index}`, from: new Date(0), to: dayOf(100_000), rev: index }
    })
    await scene.catalog().discounts.insertMany([...revisions, ...others] as never)
    const lines = await exported('discounts', { states: [0, 1, 2], format: 'jsonl' })
    const keys = lines
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { key: string }).key)
    expect(keys).toHaveLength(601)
    expect(new Set(keys).size).toBe(601)
  })

  it('reads only as far as the consumer reads', async () => {
    const many = Array.from({ length: 1600 }, (_, index) => {
      return { key: `K${index}`, from: new Date(0), to: new Date(NOW_MS * 2), rev: index }
    })
    await scene.catalog().discounts.insertMany(many as never)
    let reads = 0
    const run: Catalog['run'] = (what, act) => {
      reads += 1
      return scene.catalog().run(what, act)
    }
    const pages = currentRevisionPages(
      withGuards(scene.catalog(), { run, read: run as Catalog['read'] }),
      {
        definition: DEFINITIONS.get('discounts') as CollectionDefinition,
        filter: {},
        states: [0],
        nowMs: NOW_MS,
      },
    )
    const stream = Readable.from(pages)
    const first = await stream[Symbol.asyncIterator]().next()
    expect(first.value).toHaveLength(499)
    stream.destroy()
    await finished(stream).catch(() => undefined)
    expect((await pages.next()).done).toBe(true)
    expect(reads).toBeLessThan(4)
  })

  it('can be imported again unchanged', async () => {
    await discount({ key: 'TEN', description: "'-x", excludes: ['A', 'B, C'], type: 'percentage' })
    await discount({
      key: 'TWO',
      params: { min_subscribers: 3 },
      subject: { service: { TV: { value: 0.2 } } },
    })
    const text = await exported('discounts')
    await scene.catalog().discounts.deleteMany({})
    const update = { importType: 'predefined_mapping' }
    const result = await scene.run({ collection: 'discounts', text, update, name: 'd.csv' })
    expect(result.details).toEqual({ 'd.csv-0': true, 'd.csv-1': true })
    expect(await exported('discounts')).toBe(text.replaceAll(/^,/gm, '2026-01-01T00:00:00+0000,'))
  })
})

describe('CSV of rates', () => {
  const display = { range: 'minutes', interval: 'seconds' }
  const tiers = [
    { from: 0, to: 120, interval: 30, price: 0.5, uom_display: display },
    { from: 120, to: 'UNLIMITED', interval: 60, price: 0.1, uom_display: display },
  ]

  async function plant() {
    const call = { BASE: { rate: tiers } }
    await insertEntity(scene.catalog(), 'rates', {
      key: 'CALL',
      rates: { call },
      tax: [{ type: 'vat' }],
    })
    const price = { rate: [{ from: 0, to: 'UNLIMITED', interval: 1, price: 2 }] }
    await insertEntity(scene.catalog(), 'plans', { rates: { CALL: { call: price } } })
    await insertEntity(scene.catalog(), 'services', { rates: { CALL: { call: price } } })
  }

  it('has a row for each price, with its steps in one cell', async () => {
    await plant()
    const lines = (await exported('rates')).split('\n')
    expect(lines[0]).toBe(
      'key,description,usaget,plan,price.from,price.to,price.interval,price.price,' +
        'price.uom_display.range,price.uom_display.interval,tax.0.type,tax.0.custom_tax,' +
        'tax.0.taxation,tax.0.custom_logic,pricing_method,add_to_retail,from,to,' +
        'tariff_category,invoice_label,play',
    )
    const dates = '2026-01-01T00:00:00+0000,2170-01-01T00:00:00+0000'
    expect(lines.slice(1)).toEqual([
      'CALL,,call,BASE,"0, 2","2, UNLIMITED","30, 60","0.5, 0.1",minutes,seconds,vat,,,,,,' +
        `${dates},,,`,
      `CALL,,call,GOLD,0,UNLIMITED,1,2,,,vat,,,,,,${dates},,,`,
      `CALL,,call,service:TV,0,UNLIMITED,1,2,,,vat,,,,,,${dates},,,`,
      '',
    ])
  })

  it('can be imported again', async () => {
    await plant()
    const exportText = await exported('rates')
    const [header = '', ...lines] = exportText.trim().split('\n')
    // An export of rates lacks it, but a create requires it.
    const text = [header, ...lines.map((line) => line.replace('vat,,,,,,', 'vat,,,,tiered,,'))]
    await scene.catalog().rates.deleteMany({})
    await scene.catalog().plans.updateMany({}, { $set: { rates: {} } })
    const update = { importType: 'predefined_mapping' }
    const { details } = await scene.run({ collection: 'rates', text: text.join('\n'), update })
    expect(details).toEqual({ 'rows.csv-0': true, 'rows.csv-1': true, 'rows.csv-2': true })
    const rate = await scene.catalog().rates.findOne({})
    expect(rate?.rates['call']?.['BASE']?.rate).toEqual(tiers)
    const plan = await scene.catalog().plans.findOne({})
    expect(plan).toMatchObject({ rates: { CALL: { call: { rate: [{ price: 2 }] } } } })
  })
})

describe('a hidden field', () => {
  it('is in no column and no row', async () => {
    await insertEntity(scene.catalog(), 'users', { password: 'secret-hash' })
    const fields = [
      { field_name: 'colour', exportable: false },
      { field_name: 'size' },
      { field_name: 'cost', type: 'json' },
      { field_name: 'cost.buy', exportable: false },
    ]
    const cost = { buy: 'secret-price', sell: 5 }
    await insertEntity(scene.catalog(), 'charges', { colour: 'secret-red', size: 'XL', cost })
    for (const format of ['csv', 'jsonl'] as const) {
      const users = await exported('users', { format })
      expect(users).toContain('ops@example.org')
      const charges = await exported('charges', { format, fields })
      expect(charges).toContain('XL')
      expect(users + charges).not.toContain('secret')
    }
  })
})

describe('formulas', () => {
  it.each([
    ['=1', "'=1"],
    ['+cmd', "'+cmd"],
    ['-x', "'-x"],
    ['@a', "'@a"],
    ['\n=1', "'\n=1"],
    ['＝1', "'＝1"],
    ['\tx', "'\tx"],
    ['\rx', "'\rx"],
    ["'=1", "''=1"],
    ["''+1x", "'''+1x"],
    ['-5', '-5'],
    ['+44201', '+44201'],
    ['-0.5', '-0.5'],
    ["'text", "'text"],
    ['a=b', 'a=b'],
    ['-5+cmd', "'-5+cmd"],
  ])('%j is written as %j, and imported as it was', (text, cell) => {
    expect(neutralCell(text)).toBe(cell)
    expect(originalCell(cell)).toBe(text)
  })
})
