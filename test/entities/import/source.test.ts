import { describe, expect, it } from 'vitest'
import { rangeIn, rangesIn, setAlong } from '../../../src/entities/import/cells.ts'
import {
  ACCOUNT_COLUMNS,
  ACCOUNT_HEADER,
  accountLine,
  accountsCsv,
  useImports,
} from '../../support/entities/import/import-fixture.ts'

const scene = useImports()

const lastnames = async () => {
  const found = await scene.catalog().subscribers.find({}).sort({ aid: 1 }).toArray()
  return found.map((account) => (account as unknown as { lastname: string }).lastname)
}

const run = (text: string | Buffer, more: Record<string, unknown> = {}, name = 'rows.csv') =>
  scene.run({ collection: 'accounts', text, name, update: { map: ACCOUNT_COLUMNS, ...more } })

/** The error of a row that has only a first name. */
const MISSING = ['lastname', 'email', 'country', 'address', 'zip_code']
  .map((field) => `${field} is mandatory`)
  .join('; ')

describe('CSV', () => {
  it.each([
    ['line feeds', '\n', ','],
    ['carriage returns and line feeds', '\r\n', ','],
    ['semicolons', '\n', ';'],
    ['tabs', '\r\n', '\t'],
  ])('%s', async (_name, end, delimiter) => {
    const lines = [ACCOUNT_HEADER, accountLine(1), accountLine(2)].join(end)
    const text = lines.replaceAll(',', delimiter)
    expect((await run(text, { delimiter })).details).toEqual({ 2: true, 3: true })
    expect(await lastnames()).toEqual(['Byron 1', 'Byron 2'])
  })

  it('may have quotes, line ends in cells, a byte order mark and empty lines', async () => {
    const cell = '"Byron ""the\nCountess"", Ada"'
    const text = `\uFEFF${ACCOUNT_HEADER}\n${accountLine(1).replace('Byron 1', cell)}\n\n`
    expect((await run(`${text}${accountLine(2)}\n\n`)).details).toEqual({ 2: true, 4: true })
    expect(await lastnames()).toEqual(['Byron "the\nCountess", Ada', 'Byron 2'])
  })

  it('may have mixed line ends: no row is merged into another', async () => {
    const text = `${ACCOUNT_HEADER}\r\n${accountLine(1)}\n${accountLine(2)}\r\n`
    expect((await run(text)).details).toEqual({ 2: true, 3: true })
    expect(await lastnames()).toEqual(['Byron 1', 'Byron 2'])
  })

  it('with fields that the collection does not have is reported', async () => {
    const map = { ...ACCOUNT_COLUMNS, phoen: '__csvindex__0', comment: null }
    const text = [ACCOUNT_HEADER, accountLine(1)].join('\n')
    const { details, ignored } = await run(text, { map, delimiter: null })
    expect([details, ignored]).toEqual([{ 2: true }, ['phoen']])
  })

  it('rows may end early, but not exceed the header', async () => {
    const text = [ACCOUNT_HEADER, 'Ada', `${accountLine(1)},,`, `${accountLine(2)},more`]
    expect((await run(text.join('\n'))).details).toEqual({
      2: MISSING,
      3: true,
      4: 'the row has 7 cells, the header 6',
    })
  })

  it.each([
    ['', 'the file has no rows'],
    [`${ACCOUNT_HEADER}\n`, 'the file has no rows'],
    [`${ACCOUNT_HEADER}\n${accountLine(1)}\nAda,"Byron`, 'is not valid CSV'],
    [Buffer.from(`${ACCOUNT_HEADER}\nAda,\xe9`, 'latin1'), 'is not UTF-8'],
  ])('%# is refused as a whole, and nothing is written', async (text, message) => {
    await expect(run(text)).rejects.toThrow(message)
    expect(await lastnames()).toEqual([])
    expect(await scene.catalog().imports.countDocuments()).toBe(0)
  })

  it('is refused if it has more rows than allowed', async () => {
    const { entities } = scene.api().stores.config
    const api = scene.api({ config: { entities: { ...entities, importRowsMax: 2 } } })
    const update = { map: ACCOUNT_COLUMNS }
    const imported = { collection: 'accounts', text: accountsCsv(3), update, api }
    await expect(scene.run(imported)).rejects.toThrow('the file has more than 2 rows')
  })

  it('loses the apostrophes that an export adds against formulas, and no others', async () => {
    const lines = [`'=SUM(A1)`, `''=x`, `'quoted`, '=plain'].map((name) =>
      accountLine(1).replace('Byron 1', name),
    )
    await run([ACCOUNT_HEADER, ...lines].join('\n'))
    expect(await lastnames()).toEqual(['=SUM(A1)', `'=x`, `'quoted`, '=plain'])
  })
})

describe('settings', () => {
  it.each([
    [{ map: {} }, 'update.map is empty'],
    [{ map: { lastname: '__csvindex__6' } }, 'lastname refers to __csvindex__6'],
    [{ map: { __proto__x: 1, 'a.__proto__.b': 'x' } }, 'is a name that is not allowed'],
    [{ delimiter: ',,' }, 'update.delimiter must be one character'],
    [{ linkr: {} }, "linkr is not a setting of an import: 'linker' is"],
    [{ linker: { field: 'aid', value: '1' } }, 'update.linker is only for subscribers'],
    [{ multi_field_action: { a: 'add' } }, 'must be append, remove or replace'],
    [{ importType: 'magic' }, 'importType must be one of'],
  ])('%j are refused', async (more, message) => {
    await expect(run(accountsCsv(1), more)).rejects.toThrow(message)
  })

  it('with an operation that the collection does not have are refused', async () => {
    const imported = { collection: 'accounts', text: accountsCsv(1), operation: 'delete' }
    await expect(scene.run(imported)).rejects.toThrow(
      'operation delete is not allowed for accounts',
    )
  })

  it('override cells with predefined values, and fill empty ones with defaults', async () => {
    const text = `${ACCOUNT_HEADER},title\n${accountLine(1)},\n${accountLine(2)},Dr`
    const map = { ...ACCOUNT_COLUMNS, salutation: '__csvindex__6', personal_id: 'P1' }
    const given = { default_values: { salutation: 'Ms', country: 'FR' } }
    await run(text, { map, ...given, predefined_values: { lastname: 'Lovelace' } })
    const found = await scene.catalog().subscribers.find({}).sort({ aid: 1 }).toArray()
    expect(found).toMatchObject([
      { salutation: 'Ms', lastname: 'Lovelace', country: 'UK', personal_id: 'P1' },
      { salutation: 'Dr', lastname: 'Lovelace', country: 'UK', personal_id: 'P1' },
    ])
  })
})

describe('lines of JSON', () => {
  it('are an update each', async () => {
    const account = { firstname: 'Ada', lastname: 'B\u2028C', email: 'a@b.cd', country: 'UK' }
    const good = JSON.stringify({ ...account, address: '1', zip_code: 2 })
    const text = `\uFEFF${good}\r\n\n[1]\n{"a":\n${good}`
    expect((await run(text, {}, 'rows.ndjson')).details).toEqual({
      1: true,
      3: 'the line must be an object',
      4: expect.stringContaining('the line is not JSON'),
      5: true,
    })
    expect(await lastnames()).toEqual(['B\u2028C', 'B\u2028C'])
  })
})

describe('large files', () => {
  it('of 3 MB are imported; above 10,000 rows only failures are reported one by one', async () => {
    const count = 10_200
    const filler = 'x'.repeat(250)
    const lines = Array.from({ length: count }, (_, index) =>
      accountLine(index).replace('Mill Rd', index === 7 ? filler : `Mill ${filler}`),
    )
    lines[5000] = lines[5000]?.replace('@', '') ?? ''
    const text = [ACCOUNT_HEADER, ...lines].join('\n')
    expect(text.length).toBeGreaterThan(3_000_000)
    const { total, succeeded, failed, details } = await run(text)
    expect({ total, succeeded, failed }).toEqual({ total: count, succeeded: count - 1, failed: 1 })
    expect(Object.keys(details)).toEqual(['5002'])
    expect(await scene.catalog().subscribers.countDocuments()).toBe(count - 1)
  })
})

describe('a dry run', () => {
  it('reports all errors, also conflicts between rows, and writes nothing', async () => {
    const value = { account: { fields: [{ field_name: 'vat', unique: true }] } }
    const stored = { _id: 'subscribers', value, rev: 1, changed: new Date(0), changed_by: 'test' }
    await scene.catalog().config.insertOne(stored)
    const cells = ['A', 'B', 'A']
    const lines = cells.map((vat, index) => accountLine(index, `,${vat}`))
    const text = [`${ACCOUNT_HEADER},vat`, ...lines, 'Ada'].join('\n')
    const update = { map: { ...ACCOUNT_COLUMNS, vat: '__csvindex__6' } }
    const imported = { collection: 'accounts', text, update: { ...update, dry_run: true } }
    const result = await scene.run(imported)
    const details = {
      2: true,
      3: true,
      4: 'vat must be unique: A belongs to row 2',
      5: MISSING,
    }
    expect(result).toMatchObject({ importId: null, details, succeeded: 2, failed: 2 })
    const { subscribers, imports, outbox, counters } = scene.catalog()
    for (const each of [subscribers, imports, outbox, counters]) {
      expect(await each.countDocuments()).toBe(0)
    }
    const real = await scene.run({ ...imported, update })
    expect(real.details).toEqual({ ...details, 4: expect.stringContaining('vat must be unique') })
  })
})

describe('cells', () => {
  it('with a range are split at the dash between its ends', () => {
    expect(rangesIn('1-5, 10 - 12,7', 'x')).toEqual([
      { from: '1', to: '5' },
      { from: '10', to: '12' },
      { from: '7', to: '7' },
    ])
    expect(rangeIn('2026-01-01-2026-02-01', 'x')).toEqual({ from: '2026-01-01', to: '2026-02-01' })
    expect(() => rangeIn('1-2-3', 'x')).toThrow('x must be ranges')
    expect(() => rangeIn('1-', 'x')).toThrow('x must be ranges')
  })

  it('with dotted names become members of objects and lists, never of a prototype', () => {
    const target = { price: [{ from: 0 }] }
    const given = target.price
    setAlong(target, 'price.0.price', 5)
    setAlong(target, 'tax.0.type', 'vat')
    expect(target).toEqual({ price: [{ from: 0, price: 5 }], tax: [{ type: 'vat' }] })
    expect(given).toEqual([{ from: 0 }])
    expect(() => setAlong({}, 'a.__proto__.b', 1)).toThrow('not allowed')
    expect(() => setAlong({ list: [] }, 'list.length', 1)).toThrow('not an index into a list')
  })
})
