/** Confirmed invoices of the real calculation: bills in the currency, seller, files. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { confirmInvoices } from '../../../src/billing/run/confirm.ts'
import { type Catalog, withGuards } from '../../../src/catalog/connection.ts'
import { CatalogUnavailableError, EntityConflictError } from '../../../src/catalog/errors.ts'
import { patienceOf } from '../../../src/catalog/patience.ts'
import { exactAmount } from '../../../src/catalog/records/money/exact-amount.ts'
import { changeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { ACTOR } from '../../support/billing/books.ts'
import { cycleOf, useCycle } from '../../support/billing/cycle-fixture.ts'
import { inlineDocuments } from '../../support/billing/invoices.ts'
import { runReal, storeSeller } from '../../support/billing/real-cycle.ts'

const cycle = useCycle()
const invoice = async () => {
  const found = await cycle.catalog().billrun.findOne({ invoice_id: 101 })
  if (found === null) throw new Error('there is no invoice')
  return found
}
const dueOfBill = async () => {
  const bill = await cycle.catalog().bills.findOne({ invoice_id: 101 })
  return bill === null ? null : exactAmount(bill.due).toFixed()
}

describe('the bill of an invoice', () => {
  it.each([
    ['yen', 392, 100.5, '101'],
    ['dinars', 414, 10.0055, '10.006'],
    ['euro', 978, 10.005, '10.01'],
  ])('is in units of the currency: %s', async (_name, code, price, due) => {
    const { confirm } = await runReal(cycle, price, { TOLLGATE_RATING_CURRENCY_CODE: `${code}` })
    expect(await confirm()).toEqual({ confirmed: 1, not_for_bill: 0, refused: [] })
    expect(await dueOfBill()).toBe(due)
  })

  it('is refused with parts of a yen', async () => {
    const { confirm } = await runReal(cycle, 100, { TOLLGATE_RATING_CURRENCY_CODE: '392' })
    const change = { $set: { 'totals.after_vat_rounded': 100.5 } } as never
    const reason = 'invoice 101: 100.5 JPY is not an amount of the currency'
    await cycle.catalog().billrun.updateOne({ invoice_id: 101 }, change)
    expect(await confirm()).toMatchObject({
      confirmed: 0,
      refused: [{ invoice_id: 101, reason }],
    })
    expect(await dueOfBill()).toBeNull()
    expect((await invoice()).billed).toBeUndefined()
  })
})

describe('a confirmation that MongoDB interrupts', () => {
  const COUNT = 21
  const patience = { ...patienceOf(60_000, () => undefined), pauseMs: 1 }

  /** The first and third transaction, and those operations of a name, have no answer. */
  function interrupted(when: 'before' | 'after', error: Error): Catalog {
    const catalog = cycle.catalog()
    const calls = new Map<string, number>()
    const lost = async <T>(what: string, act: () => Promise<T>, thrown: Error): Promise<T> => {
      const call = (calls.get(what) ?? 0) + 1
      calls.set(what, call)
      if (call !== 1 && call !== 3) return act()
      if (when === 'after') await act()
      throw thrown
    }
    const away = new CatalogUnavailableError('away')
    const run: Catalog['run'] = (what, act) => lost(what, () => catalog.run(what, act), away)
    const transaction: Catalog['transaction'] = (what, act) =>
      lost(what, () => catalog.transaction(what, act), error)
    return { ...withGuards(catalog, { run }), transaction, patience }
  }

  it.each([
    ['before', new CatalogUnavailableError('away')],
    ['after', new CatalogUnavailableError('away')],
    ['before', new EntityConflictError('lost to others')],
  ] as const)('goes on, and counts each invoice once: %s it is stored', async (when, error) => {
    await cycle.addAccounts(COUNT)
    await cycle.run()
    const stores = { catalog: interrupted(when, error), config: loadConfig({ env: {} }) }
    const own = { ...cycle.deps(), ...stores }
    const deps = { ...own, documents: inlineDocuments(own) }
    const done = await confirmInvoices(deps, { cycle: cycleOf(), invoices: null, actor: ACTOR })
    expect(done).toEqual({ confirmed: COUNT, not_for_bill: 0, refused: [] })
    expect(await cycle.catalog().bills.countDocuments()).toBe(COUNT)
  })
})

describe('the seller', () => {
  it('on an invoice is that of the run', async () => {
    await storeSeller(cycle, 'Old Tel')
    await runReal(cycle, 10, {})
    await storeSeller(cycle, 'New Tel')
    expect((await invoice())['seller']).toEqual({ name: 'Old Tel' })
  })

  it('is left out if none is configured', async () => {
    await runReal(cycle, 10, {})
    expect(await invoice()).not.toHaveProperty('seller')
  })
})

describe('files of confirmed invoices', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tg-confirm-'))
    mkdirSync(join(folder, 'templates', 'texts'), { recursive: true })
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))
  const file = (extension: string) => join(folder, '202606', '001', `1-101.${extension}`)
  const draft = () => join(folder, '202606', '001', '1-101-draft.pdf')
  const settings = (more: Record<string, string> = {}) => ({
    TOLLGATE_INVOICES_FOLDER: folder,
    TOLLGATE_INVOICES_TEMPLATES: join(folder, 'templates'),
    TOLLGATE_INVOICES_FILES: 'at_confirmation',
    TOLLGATE_INVOICES_FORMATS: 'json,pdf',
    ...more,
  })

  it('are written when they are confirmed, with their due date', async () => {
    await storeSeller(cycle, 'Tel')
    const { confirm, logged } = await runReal(cycle, 10.5, settings())
    expect(existsSync(file('json'))).toBe(false)
    await confirm()
    expect(JSON.parse(readFileSync(file('json'), 'utf8'))).toMatchObject({
      invoice_id: 101,
      due_date: '2026-06-15',
      seller: { name: 'Tel' },
      totals: { payable: '10.50' },
    })
    expect(readFileSync(file('pdf')).subarray(0, 5).toString()).toBe('%PDF-')
    expect(logged).toEqual([])
  })

  it('are not written before they are requested, unless the settings say so', async () => {
    const on = settings({ TOLLGATE_INVOICES_FILES: 'on_demand' })
    await (await runReal(cycle, 10, on)).confirm()
    expect([existsSync(file('json')), await dueOfBill()]).toEqual([false, '10'])
  })

  const onDemand = () => settings({ TOLLGATE_INVOICES_FILES: 'on_demand' })

  it('are PDF drafts of a run with generate_pdf, and final after the confirmation', async () => {
    const { confirm, logged } = await runReal(cycle, 10, onDemand(), true)
    expect(readFileSync(draft()).subarray(0, 5).toString()).toBe('%PDF-')
    expect(existsSync(file('pdf'))).toBe(false)
    await confirm()
    expect([existsSync(draft()), existsSync(file('pdf')), existsSync(file('json'))]).toEqual([
      ...[false, true, false],
    ])
    expect(logged).toEqual([])
  })

  it.each([
    ['the confirmation says so', false, true, true],
    ['the run does, but the confirmation does not', true, false, false],
    ['neither does', false, undefined, false],
  ])('are PDF files if %s', async (_name, ofRun, ofConfirmation, isWritten) => {
    const { confirm } = await runReal(cycle, 10, onDemand(), ofRun)
    await confirm(ofConfirmation)
    expect([existsSync(draft()), existsSync(file('pdf'))]).toEqual([false, isWritten])
  })

  it('are PDF files by the setting, for a cycle without the progress of a run', async () => {
    const { confirm } = await runReal(cycle, 10, onDemand())
    const { catalog } = cycle.deps()
    await catalog.cycleruns.deleteMany({})
    const by = { by: 'test', nowMs: cycle.now() }
    await changeStoredConfig(catalog, 'billrun', () => ({ generate_pdf: true }), by)
    await confirm()
    expect(existsSync(file('pdf'))).toBe(true)
  })

  it('are no drafts if they cannot be made, which the log says', async () => {
    const texts = join(folder, 'templates', 'texts', 'en.yaml')
    writeFileSync(texts, 'title: [')
    const { logged } = await runReal(cycle, 10, onDemand(), true)
    expect(existsSync(draft())).toBe(false)
    expect(logged.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { invoice: 101, err: { message: expect.stringContaining(`${texts}, line 1`) } },
    ])
  })

  it('that cannot be made do not hinder the confirmation, and are made on demand', async () => {
    const texts = join(folder, 'templates', 'texts', 'en.yaml')
    writeFileSync(texts, 'title: [')
    const on = settings({ TOLLGATE_INVOICES_FORMATS: 'pdf' })
    const { confirm, deps, logged } = await runReal(cycle, 10, on)
    expect(await confirm()).toMatchObject({ confirmed: 1, refused: [] })
    expect([(await invoice()).billed, await dueOfBill()]).toEqual([1, '10'])
    expect(logged.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { invoice: 101, err: { message: expect.stringContaining(`${texts}, line 1`) } },
    ])
    rmSync(texts)
    await deps.documents.writeConfirmed(await invoice(), ['pdf'])
    expect(existsSync(file('pdf'))).toBe(true)
  })

  it('that lack data are logged by format', async () => {
    const on = settings({ TOLLGATE_INVOICES_FORMATS: 'ubl,json' })
    const { confirm, logged } = await runReal(cycle, 10, on)
    expect(await confirm()).toMatchObject({ confirmed: 1 })
    expect(logged.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { invoice: 101, format: 'ubl', reason: expect.stringContaining('invoices.seller.name') },
    ])
    expect([existsSync(file('xml')), existsSync(file('json'))]).toEqual([false, true])
  })
})
