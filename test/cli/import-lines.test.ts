/** `tollgate import lines`: the first run after a migration charges nothing twice. */
import { beforeEach, describe, expect, it } from 'vitest'
import { addAccounts, KEY } from '../support/billing/cycle-fixture.ts'
import { useTollgate } from '../support/cli/tollgate.ts'

const product = useTollgate()
const FROM = new Date('2026-01-01')
const TO = new Date('2170-01-01')

beforeEach(async () => {
  const catalog = product.catalog()
  await catalog.ensureIndexes()
  for (const name of ['plans', 'services', 'discounts', 'subscribers', 'lines'] as const) {
    await catalog[name].deleteMany({})
  }
  for (const name of ['billrun', 'cycleruns', 'cyclepages'] as const) {
    await catalog[name].deleteMany({})
  }
  const common = { from: FROM, to: TO, rev: 1, upfront: true }
  const untaxed = { tax: [{ type: 'vat', taxation: 'no' }] }
  const price = (amount: number) => [{ from: 0, to: 'UNLIMITED', price: amount }]
  await catalog.plans.insertMany([
    { ...common, ...untaxed, name: 'GOLD', price: price(100) },
    {
      ...common,
      ...untaxed,
      name: 'YEAR',
      price: price(1200),
      recurrence: { frequency: 12, start: 1 },
    },
  ] as never[])
  await catalog.services.insertOne({ ...common, ...untaxed, name: 'TV', price: price(31) } as never)
  await catalog.discounts.insertOne({
    ...common,
    key: 'TENTH',
    subject: { plan: { GOLD: { value: 0.1 } } },
  } as never)
})

/** Cycle 202606 is May, which the run of 202605 has charged ahead. */
const line = (aid: number, more: object = {}) => ({
  type: 'flat',
  aid,
  sid: 10_000 + aid,
  plan: 'GOLD',
  name: 'GOLD',
  billrun: '202605',
  aprice: 100,
  full_price: 100,
  is_upfront: true,
  charge_op: 'charge',
  stamp: `gold-${aid}`,
  start: '2026-05-01T00:00:00Z',
  end: { $date: '2026-06-01T00:00:00Z' },
  tax_data: { total_amount: 17 },
  ...more,
})
const discount = (aid: number) => ({
  type: 'credit',
  usaget: 'discount',
  aid,
  sid: { $numberLong: String(10_000 + aid) },
  key: 'TENTH',
  billrun: '202605',
  aprice: { $numberDouble: '-10.0' },
  is_upfront: true,
  eligible_line: `gold-${aid}`,
})
const jsonl = (...rows: object[]) => rows.map((row) => JSON.stringify(row)).join('\n')
const importLines = (text: string, ...more: string[]) =>
  product.run('import', 'lines', product.file('lines.jsonl', text), ...more)

/** Amounts of the lines of the run, by account. */
async function written(): Promise<Record<number, string[]>> {
  const found = (await product
    .catalog()
    .lines.find({ billrun: KEY, source: 'billrun' } as never)
    .sort({ aid: 1 })
    .toArray()) as unknown as Record<string, unknown>[]
  const all: Record<number, string[]> = {}
  for (const { aid, name, key, charge_op, charge_amount } of found) {
    const text = `${key ?? name} ${charge_op} ${Number(charge_amount).toFixed(2)}`
    all[Number(aid)] = [...(all[Number(aid)] ?? []), text].sort()
  }
  return all
}

async function runCycle() {
  const { code, stderr } = await product.run('cycle', 'run', '--key', KEY, '--threads', '1')
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('paused')])
}

describe('the first run after an import of the last lines', () => {
  it('charges ahead only; without the import it charges the cycle too', async () => {
    const catalog = product.catalog()
    await addAccounts(catalog, 5)
    await catalog.subscribers.updateOne({ sid: 10_003 } as never, {
      $set: { to: new Date('2026-05-16'), deactivation_date: new Date('2026-05-16') },
    })
    await catalog.subscribers.updateOne({ sid: 10_004 } as never, {
      $set: { services: [{ name: 'TV', from: FROM, to: TO }] },
    })
    await catalog.subscribers.updateOne({ sid: 10_005 } as never, { $set: { plan: 'YEAR' } })
    const tv = { type: 'service', name: 'TV', aprice: 31, full_price: 31, stamp: 'tv-4' }
    const year = {
      plan: 'YEAR',
      name: 'YEAR',
      billrun: '202601',
      aprice: 1200,
      stamp: 'year-5',
      start: '2026-01-01',
      end: '2027-01-01',
    }
    const rows = [
      ...[1, 3, 4].flatMap((aid) => [line(aid), discount(aid)]),
      line(4, tv),
      line(5, year),
    ]
    const { code, stdout } = await importLines(jsonl(...rows))
    expect([code, stdout]).toEqual([0, '8 of 8 rows imported, 0 failed\n'])
    // Again: nothing is doubled.
    expect((await importLines(jsonl(...rows))).code).toBe(0)
    expect(await catalog.lines.countDocuments()).toBe(8)
    await runCycle()
    const ahead = ['GOLD charge 100.00', 'TENTH charge -10.00']
    expect(await written()).toEqual({
      1: ahead,
      2: [...ahead, ...ahead].sort(),
      // It ended on 15 May: 16 of 31 days are returned.
      3: ['GOLD refund -51.61', 'TENTH refund 5.16'],
      4: [...ahead, 'TV charge 31.00'],
    })
    // The year that was paid is not charged again.
    expect(await catalog.billrun.countDocuments({ aid: 5 })).toBe(1)
  })
})

describe('tollgate import lines', () => {
  it('names the rows that are invalid, imports the others, and checks with --dry-run', async () => {
    await product.catalog().lines.insertOne({ stamp: 'usage', type: 'realtime' } as never)
    const rows = [
      jsonl(line(1)),
      '{',
      jsonl(
        line(2, { aprice: undefined }),
        line(3, { type: 'usage' }),
        line(4, { stamp: 'usage' }),
        line(1),
        line(6, { end: '2026-04-01' }),
      ),
    ].join('\n')
    const dry = await importLines(rows, '--dry-run')
    expect([dry.code, dry.stdout]).toEqual([1, '1 of 7 rows would be imported, 6 failed\n'])
    expect(await product.catalog().lines.countDocuments()).toBe(1)
    const failed = product.file('failed.jsonl', '')
    const { stdout, stderr } = await importLines(rows, '--failed', failed, '--json')
    expect(JSON.parse(stdout)).toEqual({ rows: 7, imported: 1, failed: 6 })
    for (const text of [
      'row 2: is not JSON',
      'row 3: aprice is missing',
      'row 4: type must be flat, service or credit',
      'row 5: stamp is that of a line which was not imported',
      'row 6: stamp is that of row 1',
      'row 7: end must be after the start',
    ]) {
      expect(stderr).toContain(text)
    }
    expect(await product.catalog().lines.countDocuments()).toBe(2)
  })

  it('refuses lines of a cycle after which another one was run here', async () => {
    await addAccounts(product.catalog(), 1)
    await runCycle()
    const { code, stderr } = await importLines(jsonl(line(1)))
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('lines of cycle 202605 come too late: cycle 202606 was run here'),
    ])
  })

  it.each(['--operation', '--settings', '--resume'])('refuses %s', async (option) => {
    const { code, stderr } = await importLines(jsonl(line(1)), option, 'x')
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${option} is not for lines`)])
  })
})
