import { beforeAll, describe, expect, it } from 'vitest'
import { addAccounts, FROM, KEY, TO } from '../support/billing/cycle-fixture.ts'
import { useTollgate } from '../support/cli/tollgate.ts'

describe('tollgate cycle preview', () => {
  const product = useTollgate({ TOLLGATE_RATING_CURRENCY_CODE: '826' })

  beforeAll(async () => {
    const catalog = product.catalog()
    await catalog.ensureIndexes()
    await catalog.plans.insertOne({
      from: FROM,
      to: TO,
      rev: 1,
      name: 'GOLD',
      connection_type: 'postpaid',
      price: [{ from: 0, to: 'UNLIMITED', price: 100 }],
      recurrence: { frequency: 1, start: 1 },
      tax: [{ type: 'vat', taxation: 'no' }],
      upfront: false,
    } as never)
    await addAccounts(catalog, 3)
    await product.run('cycle', 'run', '--key', KEY, '--threads', '1')
  })

  const stored = () => {
    const { lines, billrun, audit } = product.catalog()
    return Promise.all([lines.countDocuments(), billrun.countDocuments(), audit.countDocuments()])
  }
  const preview = async (...args: string[]) => {
    const { code, stdout, stderr } = await product.run('cycle', 'preview', '--json', ...args)
    const documents = stdout
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((each) => JSON.parse(each))
    return { code, stderr, documents }
  }

  it('of a cycle that was run has no differences, and stores nothing', async () => {
    const before = await stored()
    const { code, documents } = await preview('--key', KEY)
    expect(code).toBe(0)
    expect(documents).toEqual([
      expect.objectContaining({ key: KEY, status: 'finished', compared: KEY }),
      {
        accounts: 3,
        invoices: 3,
        changed: 0,
        failed: 0,
        total: '300',
        stored: '300',
        difference: '0',
        price_changes: 0,
        not_returned: '0',
      },
    ])
    expect(await stored()).toEqual(before)
  })

  it('shows what a new price changes', async () => {
    const price = [{ from: 0, to: 'UNLIMITED', price: 120 }]
    const change = JSON.stringify({ plans: [{ name: 'GOLD', from: '2026-05-01', price }] })
    const path = product.file('price.json', change)
    const { documents } = await preview('--key', KEY, '--assume', path)
    expect(documents).toHaveLength(5)
    expect(documents[1]).toMatchObject({
      aid: 1,
      total: '120',
      stored: '100',
      changes: [{ stored: '100', wanted: '120', difference: '20' }],
    })
    expect(documents[4]).toMatchObject({ changed: 3, difference: '60' })
    const text = await product.run('cycle', 'preview', '--key', KEY, '--aid', '2', '--assume', path)
    expect(text.stdout).toContain('account 2: 120 GBP, stored 100 GBP, difference 20 GBP\n')
    expect(text.stdout).toContain('total 120 GBP, stored 100 GBP, difference 20 GBP')
  })

  it('shows the end of a subscriber and a changed plan', async () => {
    const price = [{ from: 0, to: 'UNLIMITED', price: 31 }]
    const plan = { name: 'SMALL', from: '2026-01-01', connection_type: 'postpaid', price }
    const recurrence = { frequency: 1, start: 1 }
    const tax = [{ type: 'vat', taxation: 'no' }]
    const change = {
      plans: [{ ...plan, recurrence, tax, upfront: false }],
      subscribers: [
        { sid: 10_001, to: '2026-05-01' },
        { sid: 10_002, from: '2026-05-01', plan: 'SMALL' },
      ],
    }
    const path = product.file('change.json', JSON.stringify(change))
    const { documents } = await preview('--key', KEY, '--assume', path)
    expect(documents.slice(1)).toMatchObject([
      { aid: 1, total: null, stored: '100', changes: [{ stored: '100', wanted: null }] },
      { aid: 2, total: '31', stored: '100' },
      { accounts: 3, invoices: 2, changed: 2, difference: '-169' },
    ])
  })

  it('of a future cycle is compared with the one before, and says what it assumes', async () => {
    const after = await preview('--key', '202607')
    expect(after.documents).toMatchObject([
      { compared: KEY, previous: { key: KEY, assumption: 'its lines as stored' } },
      { changed: 0, total: '300', stored: '300' },
    ])
    const { documents } = await preview('--key', '203001', '--aid', '1')
    expect(documents).toMatchObject([
      {
        status: 'future',
        previous: { key: '202912', assumption: 'not run: only lines that are stored already' },
      },
      { aid: 1, total: '100', stored: null, changes: [{ stored: null, wanted: '100' }] },
      { accounts: 1 },
    ])
  })

  it('shows what was paid ahead with another tax than that at the end of the supply', async () => {
    const { lines, plans, subscribers, taxes } = product.catalog()
    const common = { from: FROM, to: TO, rev: 1 }
    await taxes.insertOne({ ...common, key: 'VAT', description: 'VAT', rate: 0.25 } as never)
    const tax = [{ type: 'vat', taxation: 'custom', custom_tax: 'VAT', custom_logic: 'override' }]
    const price = [{ from: 0, to: 'UNLIMITED', price: 100 }]
    await plans.insertOne({ ...common, name: 'AHEAD', price, tax, upfront: true } as never)
    const subscriber = { aid: 9, sid: 10_009, plan: 'AHEAD' }
    await subscribers.insertMany([
      { ...common, type: 'account', aid: 9 },
      { ...common, type: 'subscriber', ...subscriber },
    ] as never[])
    const [start, end] = [new Date('2026-06-01T00:00:00Z'), new Date('2026-07-01T00:00:00Z')]
    await lines.insertOne({
      ...{ stamp: 'ahead', source: 'billrun', billrun: KEY, type: 'flat', usaget: 'flat' },
      ...{ ...subscriber, name: 'AHEAD', aprice: 100, is_upfront: true, start, end, urt: start },
      tax_data: { taxes: [{ key: 'VAT', description: 'VAT', type: 'vat', tax: 0.19 }] },
    } as never)
    const { documents } = await preview('--key', '202607', '--aid', '9')
    expect(documents[1]).toMatchObject({
      aid: 9,
      total: '125',
      tax_changes: [
        {
          ...{ sid: 10_009, kind: 'plan', name: 'AHEAD', cycle: '202607' },
          ...{ charged: '119', in_force: '125', difference: '6' },
        },
      ],
    })
    const { stdout } = await product.run('cycle', 'preview', '--key', '202607', '--aid', '9')
    expect(stdout).toContain(
      '  tax of plan AHEAD has changed in cycle 202607: subscriber 10009 keeps 119 GBP, ' +
        'by the tax in force 125 GBP (6 GBP)',
    )
    await subscribers.deleteMany({ aid: 9 } as never)
    await lines.deleteMany({ aid: 9 } as never)
  })

  it('shows a price that changes within the charged period, by both rules', async () => {
    const price = [{ from: 0, to: 'UNLIMITED', price: 120 }]
    const change = JSON.stringify({ plans: [{ name: 'GOLD', from: '2026-06-16', price }] })
    const path = product.file('within.json', change)
    const { documents } = await preview('--key', '202607', '--aid', '1', '--assume', path)
    expect(documents[1]).toMatchObject({
      aid: 1,
      total: '120',
      price_changes: [
        {
          ...{ sid: 10_001, kind: 'plan', name: 'GOLD', cycle: '202607' },
          ...{ since: '2026-06-16T00:00:00.000Z', rule: 'at_end' },
          ...{ amount: '120', other_amount: '110' },
        },
      ],
    })
    const all = await product.run('cycle', 'preview', '--key', '202607', '--assume', path)
    expect(all.stdout).toContain(
      '  price of plan GOLD changes on 2026-06-16 in cycle 202607: ' +
        'subscriber 10001 pays 120 GBP (at_end), otherwise 110 GBP (by_day)\n',
    )
    expect(all.stdout).toContain('with changed prices 3, not corrected 0 GBP')
  })

  it('shows usage and credits that came after the run', async () => {
    const { lines } = product.catalog()
    await lines.insertOne({
      ...{
        stamp: 'credit',
        aid: 3,
        sid: 10_003,
        type: 'credit',
        source: 'credit',
        usaget: 'charge',
      },
      ...{ billrun: KEY, urt: new Date('2026-05-20'), aprice: 5, final_charge: 5, usagev: 1 },
      exact: { aprice: '5', tax: '0', final_charge: '5' },
      tax_data: { total_amount: 0, total_tax: 0, taxes: [] },
    } as never)
    try {
      const { documents } = await preview('--key', KEY)
      expect(documents.slice(1)).toMatchObject([
        { aid: 3, total: '105', stored: '100', changes: [], others: { wanted: '5', stored: '0' } },
        { changed: 0, difference: '5' },
      ])
      const text = await product.run('cycle', 'preview', '--key', KEY)
      expect(text.stdout).toContain('  usage and credits: 0 GBP -> 5 GBP (5 GBP)\n')
    } finally {
      await lines.deleteOne({ stamp: 'credit' })
    }
  })

  it('shows charges of confirmed invoices that no run corrects', async () => {
    const change = { subscribers: [{ sid: 10_001, to: '2026-05-17' }] }
    const path = product.file('past.json', JSON.stringify(change))
    const before = await preview('--key', '202607', '--assume', path)
    expect(before.documents.at(-1)).toMatchObject({ not_returned: '0' })
    expect((await product.run('cycle', 'confirm', '--key', KEY)).code).toBe(0)
    const { documents } = await preview('--key', '202607', '--assume', path)
    expect(documents[1]).toMatchObject({
      aid: 1,
      total: null,
      not_returned: [
        {
          ...{ cycle: KEY, stored: '100', wanted: expect.stringMatching(/^51\.6/) },
          difference: expect.stringMatching(/^-48\.3/),
        },
      ],
    })
    expect(documents.at(-1)).toMatchObject({ not_returned: expect.stringMatching(/^-48\.3/) })
    const off = await preview('--key', '202607', '--assume', path, '--back', '0')
    expect(off.documents.at(-1)).toMatchObject({ not_returned: '0' })
    const text = await product.run('cycle', 'preview', '--key', '202607', '--assume', path)
    expect(text.stdout).toContain(`  not corrected in cycle ${KEY}: 10001/flat/GOLD/`)
    expect((await preview('--key', '202607', '--back', 'x')).code).toBe(2)
  })

  it.each([
    ['{', 'Expected'],
    ['[]', 'must be an object with lists of revisions'],
    ['{"rates": []}', 'rates is not one of account, subscribers, plans'],
    ['{"plans": {}}', 'plans must be a list of at most 1000 revisions'],
    ['{"plans": [{}]}', 'plans.0.name is missing'],
    ['{"plans": [{"name": "GOLD"}]}', 'plans.0.from is missing'],
    ['{"plans": [{"name": "GOLD", "from": "soon"}]}', "plans.0.from must be a date, is 'soon'"],
    ['{"plans": [{"name": "GOLD", "from": "2026-05-01", "price": 3}]}', 'plans.0.price'],
    ['{"plans": [{"name": "NONE", "to": "2026-05-01"}]}', 'plans.0.name is not stored: NONE'],
    ['{"account": [{"aid": 9, "type": "account", "from": "2026-05-01"}]}', 'account 9 does not'],
  ])('refuses %s', async (text, message) => {
    const path = product.file('wrong.json', text)
    const { code, stderr } = await preview('--key', KEY, '--assume', path)
    expect(stderr).toContain(message)
    expect(code).toBe(message.startsWith('account') ? 1 : 2)
  })
})
