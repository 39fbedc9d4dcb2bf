/** Usage that is recorded after the confirmation of its cycle is invoiced once, by the next run. */
import { describe, expect, it } from 'vitest'
import { resetRun } from '../../../src/billing/run/runs.ts'
import { type Catalog, withGuards } from '../../../src/catalog/connection.ts'
import type { InvoiceDocument } from '../../../src/catalog/records/money/invoice-document.ts'
import type { Fields } from '../../../src/domain/fields.ts'
import type { TaxData } from '../../../src/domain/tax.ts'
import { ACTOR } from '../../support/billing/books.ts'
import { cycleOf, RUN_MS, useCycle } from '../../support/billing/cycle-fixture.ts'
import { addPlan, usageOf, useLateUsage } from '../../support/billing/late-usage.ts'

const LOW = { key: 'LOW', description: 'Low', type: 'vat', rate: '0.07', isEmbedded: false }
type Exacts = Record<'aprice' | 'tax' | 'final_charge', string>

const cycle = useCycle()
const { record, run, runAccount, confirm, total, invoiced, line, source } = useLateUsage(cycle)
const [JUNE, JULY, AUGUST] = ['202606', '202607', '202608']
const BEFORE_END = Date.UTC(2026, 4, 31, 21)
const JULY_MS = Date.UTC(2026, 6, 2)
const AUGUST_MS = Date.UTC(2026, 7, 2)
const REFUSED = { confirmed: 0, refused: [{ invoice_id: expect.any(Number) }] }

async function begin(more: object = {}): Promise<void> {
  await addPlan(cycle.catalog(), more)
  await cycle.addAccounts(1)
  cycle.at(BEFORE_END)
}

async function runAndConfirm(key: string): Promise<void> {
  await run(key)
  expect(await confirm(key)).toMatchObject({ confirmed: 1, refused: [] })
}

describe('usage that is recorded after its invoice was confirmed', () => {
  it('is invoiced by the next run, once, and keeps its key', async () => {
    await begin()
    await record(usageOf('a', 1, 2))
    cycle.at(RUN_MS)
    await runAndConfirm(JUNE)
    const before = await cycle.invoices()
    await record(usageOf('b', 1, 3))
    expect(await line('b')).toMatchObject({ billrun: JUNE, uninvoiced: { former: null } })
    expect(await cycle.invoices()).toEqual(before)
    cycle.at(JULY_MS)
    await runAndConfirm(JULY)
    expect([await total(JUNE), await total(JULY)]).toEqual(['2', '3'])
    const copies = (await cycle.lines()).filter(({ type }) => type === 'usage')
    expect(copies).toMatchObject([
      {
        late_of: 'b',
        billrun: JULY,
        charged_billrun: JUNE,
        usagev: 30,
        aprice: 3,
        final_charge: 3.51,
        tax_data: { taxes: [{ key: 'VAT', amount: 0.51 }] },
      },
    ])
    const stored = await line('b')
    expect(stored).toMatchObject({ billrun: JUNE, aprice: 3 })
    expect(stored).not.toHaveProperty('uninvoiced')
    cycle.at(AUGUST_MS)
    await runAndConfirm(AUGUST)
    expect([await total(AUGUST), await invoiced()]).toEqual(['0', 5])
    for (const key of [JUNE, JULY, AUGUST]) await source(key)
  })

  it('is the difference for a session that began before, each time it grows', async () => {
    await begin()
    await record(usageOf('a', 1, 2))
    cycle.at(RUN_MS)
    await runAndConfirm(JUNE)
    await record(usageOf('a', 2, 5))
    expect(await line('a')).toMatchObject({ aprice: 5, uninvoiced: { former: { aprice: 2 } } })
    await record(usageOf('a', 3, 6))
    expect(await line('a')).toMatchObject({ aprice: 6, uninvoiced: { former: { aprice: 2 } } })
    cycle.at(JULY_MS)
    await runAndConfirm(JULY)
    await record(usageOf('a', 4, 6.5))
    expect(await line('a')).toMatchObject({ uninvoiced: { former: { aprice: 6 } } })
    cycle.at(AUGUST_MS)
    await runAndConfirm(AUGUST)
    expect([await total(JUNE), await total(JULY), await total(AUGUST)]).toEqual(['2', '4', '0.5'])
    for (const [key, usage] of [
      [JUNE, '20'],
      [JULY, '40'],
      [AUGUST, '5'],
    ] as const) {
      const { lines } = await source(key)
      expect(lines.find(({ type }) => type === 'usage')?.quantity.toString()).toBe(usage)
    }
    expect((await cycle.invoices())[1]).toMatchObject({ totals: { after_vat_rounded: 4.68 } })
  })

  it('is not marked if the last version charges nothing more', async () => {
    await begin()
    await record(usageOf('a', 1, 2))
    cycle.at(RUN_MS)
    await runAndConfirm(JUNE)
    await record(usageOf('a', 2, 2, { state: 'expired' }))
    const stored = await line('a')
    expect(stored).toMatchObject({ v: 2, state: 'expired' })
    expect(stored).not.toHaveProperty('uninvoiced')
  })

  it('is credited if its price has fallen', async () => {
    await begin()
    await record(usageOf('a', 1, 5))
    cycle.at(RUN_MS)
    await runAndConfirm(JUNE)
    await record(usageOf('a', 2, 4))
    cycle.at(JULY_MS)
    await runAndConfirm(JULY)
    expect([await total(JULY), await invoiced()]).toEqual(['-1', 4])
  })

  it('returns the former charge, and charges the new one, if its taxes are others', async () => {
    await begin()
    await record(usageOf('a', 1, 5), usageOf('b', 1, 5))
    cycle.at(RUN_MS)
    await runAndConfirm(JUNE)
    const june = await source(JUNE)
    const same = { used: 50, chargedUnits: 50 }
    await record(
      usageOf('a', 2, 5, { ...same, taxes: [LOW] }),
      // Its total is that of the former one, 5.85.
      usageOf('b', 2, 5.85, { ...same, taxes: [] }),
    )
    cycle.at(JULY_MS)
    await runAndConfirm(JULY)
    const copies = (await cycle.lines()).filter(({ type }) => type === 'usage')
    const texts = copies.map(({ late_of: stamp, charge_op: op, usagev, exact, tax_data }) => {
      const { aprice, tax, final_charge } = exact as Exacts
      const keys = (tax_data as TaxData).taxes.map(({ key, amount }) => `${key} ${amount}`)
      return [stamp, op, usagev, aprice, tax, final_charge, ...keys].join(' ')
    })
    expect(texts.sort()).toEqual([
      'a charge 50 5 0.35 5.35 LOW 0.35',
      'a refund -50 -5 -0.85 -5.85 VAT -0.85',
      'b charge 50 5.85 0 5.85',
      'b refund -50 -5 -0.85 -5.85 VAT -0.85',
    ])
    const rule = 'usage whose price changed after its cycle'
    expect(new Set(copies.map(({ explain }) => (explain as Fields)['rule']))).toEqual(
      new Set([rule]),
    )
    const [, july] = await cycle.invoices()
    expect(july).toMatchObject({ totals: { before_vat: 0.85, after_vat_rounded: -0.5 } })
    await source(JULY)
    expect((await source(JUNE)).lines).toEqual(june.lines)
  })

  it('is the same line in a repeated run, also after a reset', async () => {
    await begin()
    cycle.at(RUN_MS)
    await runAndConfirm(JUNE)
    await record(usageOf('b', 1, 3))
    cycle.at(JULY_MS)
    await run(JULY)
    const lines = await cycle.lines()
    await run(JULY, true)
    expect(await cycle.lines()).toEqual(lines)
    expect(await resetRun(cycle.deps(), cycleOf(JULY), ACTOR)).toBe(true)
    await run(JULY, true)
    expect(await cycle.lines()).toEqual(lines)
    expect(await confirm(JULY)).toMatchObject({ confirmed: 1 })
    expect(await invoiced()).toBe(3)
  })

  it('is invoiced although its account had no invoice in that cycle', async () => {
    await begin()
    await cycle.catalog().subscribers.updateMany({}, { $set: { from: new Date(JULY_MS) } })
    const other = { aid: 2, type: 'account', from: new Date(0), to: new Date(JULY_MS + 1e12) }
    await cycle
      .catalog()
      .subscribers.insertMany([
        other,
        { ...other, type: 'subscriber', sid: 10_002, plan: 'GOLD' },
      ] as never)
    cycle.at(RUN_MS)
    await runAndConfirm(JUNE)
    expect(await total(JUNE)).toBeNull()
    await record(usageOf('b', 1, 3))
    cycle.at(JULY_MS + 40 * 86_400_000)
    await run(AUGUST)
    expect(await total(AUGUST)).toBe('3')
    await confirm(AUGUST)
    // It is not invoiced again if the cycle is computed for the account after all.
    await runAccount(JUNE)
    expect(await total(JUNE)).toBeNull()
  })

  it('of a prepaid plan is on no invoice, and does not wait for one', async () => {
    await begin({ connection_type: 'prepaid' })
    cycle.at(RUN_MS)
    await runAndConfirm(JUNE)
    await record(usageOf('b', 1, 3))
    cycle.at(JULY_MS)
    await runAndConfirm(JULY)
    expect(await invoiced()).toBe(0)
    expect(await line('b')).not.toHaveProperty('uninvoiced')
  })
})

describe('usage that is recorded before its invoice is confirmed', () => {
  it('is in the invoice of its own cycle, not in the next one', async () => {
    await begin()
    await record(usageOf('a', 1, 2))
    cycle.at(RUN_MS)
    await run(JUNE)
    await record(usageOf('a', 2, 5), usageOf('b', 1, 1))
    cycle.at(JULY_MS)
    await run(JULY)
    expect(await total(JULY)).toBe('0')
    expect(await confirm(JUNE)).toMatchObject(REFUSED)
    await run(JUNE, true)
    expect(await confirm(JUNE)).toMatchObject({ confirmed: 1 })
    expect([await total(JUNE), await line('a')]).toEqual([
      '6',
      expect.not.objectContaining({ uninvoiced: expect.anything() }),
    ])
    expect(await confirm(JULY)).toMatchObject({ confirmed: 1 })
    expect(await invoiced()).toBe(6)
  })

  it('is waited for by a run that was computed without it', async () => {
    await begin()
    cycle.at(RUN_MS)
    await runAndConfirm(JUNE)
    cycle.at(JULY_MS)
    await run(JULY)
    await record(usageOf('b', 1, 3))
    expect(await confirm(JULY)).toMatchObject(REFUSED)
    await runAccount(JULY)
    expect(await confirm(JULY)).toMatchObject({ confirmed: 1 })
    expect([await total(JULY), await invoiced()]).toEqual(['3', 3])
  })
})

/** A catalogue that calls `act` once, when the transaction reaches the operation. */
function interrupted(catalog: Catalog, at: string, act: () => Promise<void>): Catalog {
  let isDone = false
  const run: Catalog['run'] = async (what, operation) => {
    if (what === at && !isDone) {
      isDone = true
      await act()
    }
    return catalog.run(what, operation)
  }
  return withGuards(catalog, { run })
}

describe('a recorder beside a confirmation', () => {
  it('that stores a newer version of an invoiced line leaves the rest to the next', async () => {
    await begin()
    await record(usageOf('a', 1, 2))
    cycle.at(RUN_MS)
    await run(JUNE)
    const newer = () => record(usageOf('a', 2, 5), usageOf('b', 1, 1))
    const during = interrupted(cycle.catalog(), 'write billrun', newer)
    expect(await confirm(JUNE, during)).toMatchObject({ confirmed: 1 })
    expect(await line('a')).toMatchObject({ v: 2, uninvoiced: { former: { aprice: 2 } } })
    cycle.at(JULY_MS)
    await runAndConfirm(JULY)
    expect([await total(JUNE), await total(JULY)]).toEqual(['2', '4'])
  })

  it('that stores a newer version of a late line makes it refuse', async () => {
    await begin()
    await record(usageOf('a', 1, 2))
    cycle.at(RUN_MS)
    await record(usageOf('a', 2, 3))
    await run(JUNE)
    const newer = () => record(usageOf('a', 3, 5))
    const during = interrupted(cycle.catalog(), 'write lines', newer)
    expect(await confirm(JUNE, during)).toMatchObject(REFUSED)
    await run(JUNE, true)
    expect(await confirm(JUNE)).toMatchObject({ confirmed: 1 })
    expect([await total(JUNE), await invoiced()]).toEqual(['5', 5])
  })

  it.each([1, 2, 3, 4, 5, 6])('at any time: every amount is invoiced once (%i)', async (seed) => {
    await begin()
    let random = seed
    const next = (below: number) => {
      random = (random * 48_271) % 2_147_483_647
      return random % below
    }
    const versions = new Map([
      ['a', 0],
      ['b', 0],
      ['c', 0],
    ])
    const charges = new Map<string, number>()
    const rates = new Map<string, number>()
    const grow = async () => {
      const stamp = 'abc'[next(3)] ?? 'a'
      const version = (versions.get(stamp) ?? 0) + 1
      versions.set(stamp, version)
      charges.set(stamp, (charges.get(stamp) ?? 0) + next(4))
      const low = next(3) === 0 && version > 1 ? { taxes: [LOW] } : {}
      rates.set(stamp, low.taxes === undefined ? 17 : 7)
      const newest = usageOf(stamp, version, charges.get(stamp) ?? 0, low)
      // Two recorders write it; one is late with the version before.
      const older = usageOf(stamp, version - 1, (charges.get(stamp) ?? 0) - 1)
      await Promise.all([
        record(newest),
        record(newest),
        ...(version > 1 ? [record({ ...older, version: 0 })] : []),
      ])
    }
    const points = ['write billrun', 'write lines', 'read the lines of a page', '']
    await grow()
    for (const [key, atMs] of [
      [JUNE, RUN_MS],
      [JULY, JULY_MS],
      [AUGUST, AUGUST_MS],
    ] as const) {
      cycle.at(atMs)
      await run(key)
      for (let step = next(3); step > 0; step -= 1) await grow()
      const during = interrupted(cycle.catalog(), points[next(4)] ?? '', grow)
      while ((await confirm(key, during)).confirmed === 0) await runAccount(key)
      for (let step = next(3); step > 0; step -= 1) await grow()
    }
    cycle.at(Date.UTC(2026, 8, 2))
    await runAndConfirm('202609')
    const charged = [...charges.values()].reduce((sum, charge) => sum + charge, 0)
    expect(await invoiced()).toBe(charged)
    const taxed = [...charges].map(([stamp, charge]) => charge * (100 + (rates.get(stamp) ?? 0)))
    const invoices = (await cycle.invoices()) as unknown as InvoiceDocument[]
    const cents = invoices.map(({ totals }) => Math.round(totals.after_vat_rounded * 100))
    const sum = (all: readonly number[]) => all.reduce((total, each) => total + each, 0)
    expect(sum(cents)).toBe(sum(taxed))
    for (const key of [JUNE, JULY, AUGUST, '202609']) await source(key)
    expect(
      await cycle.catalog().lines.countDocuments({ uninvoiced: { $exists: true } } as never),
    ).toBe(0)
  })
})
