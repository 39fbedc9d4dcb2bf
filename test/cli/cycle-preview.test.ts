import { beforeAll, describe, expect, it } from 'vitest'
import { addAccounts, FROM, KEY, TO } from '../support/billing/cycle-fixture.ts'
import { useTollgate } from '../support/cli/tollgate.ts'

describe('tollgate cycle preview', () => {
  const product = useTollgate()

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
    expect(text.stdout).toContain('account 2: 120, stored 100, difference 20\n')
    expect(text.stdout).toContain('total 120, stored 100, difference 20')
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
