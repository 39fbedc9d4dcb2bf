/** Set-ups of bills, invoices and prices. */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { ACTIONS } from '../../../../../src/admin/actions/table.ts'
import { ObjectId } from '../../../../../src/catalog/collections.ts'
import { Exact } from '../../../../../src/catalog/records/money/exact-amount.ts'
import { auditBooks } from '../../../../../src/cli/audit/books.ts'
import { finalChargeOf } from '../../../../../src/rating/line-tax.ts'
import { useBillingServer } from '../../../billing/billing-server.ts'
import { addAccounts } from '../../../billing/cycle-fixture.ts'
import { ALL_TYPES, eventsOf, storeEventRules } from '../../../billing/money-rules.ts'
import { type Fields, useActionServer } from '../action-server.ts'
import { addTenant, TAXED } from '../credit-tenant.ts'
import { emptied, type SetUp } from './set-up.ts'
import { shown, type World } from './steps.ts'
import { requireMatch } from './tags.ts'

const DAY_MS = 86_400_000

/** Bills of accounts that no other case uses: `$aid`, `$aid2`… */
export function billing(env: Record<string, string> = {}): SetUp {
  const server = useBillingServer(ACTIONS, env)
  const accounts = ['aid', 'aid2', 'aid3', 'aid4']
  return {
    server,
    variablesOf: () => ({
      ...Object.fromEntries(accounts.map((name) => [name, server.newAccount()])),
      past: new Date(server.now() - DAY_MS),
    }),
    verbs: {
      /** A confirmed invoice; its number in a variable. */
      async invoice(
        { variables }: World,
        name: string,
        amount: number | string,
        more: Fields = {},
      ) {
        const { aid = variables.get('aid'), ...others } = more
        variables.set(name, await server.invoice(Number(aid), amount, others))
      },
      /** A payment; its number in a variable. */
      async paid({ variables }: World, name: string, amount: number, more: Fields = {}) {
        const { aid = variables.get('aid'), ...others } = more
        variables.set(name, await server.pay(Number(aid), amount, others))
      },
      async billed(_world: World, filter: Fields, expected: Fields) {
        requireMatch(shown(await server.bill(filter)), expected, `bill ${JSON.stringify(filter)}`)
      },
      async balance({ variables }: World, expected: Fields) {
        const { balance } = await server.details('bill', { aid: variables.get('aid') })
        requireMatch(balance, expected, 'balance')
      },
      /** The books of all accounts agree. */
      async booksAgree() {
        expect((await auditBooks(server.catalog(), null)).differences).toEqual([])
      },
    },
  }
}

/** A rule for each type of money event; before each case. */
export function moneyEvents(): SetUp {
  const setUp = billing({ ...TAXED, TOLLGATE_RATING_CURRENCY_CODE: '376' })
  const catalog = () => setUp.server.catalog()
  const rules = (money: readonly object[]) => storeEventRules(catalog(), { money })
  const eventsAre = async (aid: number, expected: Fields[]) =>
    requireMatch(shown(await eventsOf(catalog(), aid)), expected, `events of ${aid}`)
  return {
    ...setUp,
    prepare: () => addTenant(catalog()),
    reset: () => rules(ALL_TYPES),
    verbs: {
      ...setUp.verbs,
      rules: (_world: World, money: object[]) => rules(money),
      rulesBut: (_world: World, type: string) =>
        rules(ALL_TYPES.filter(({ event_type }) => event_type !== type)),
      events: ({ variables }: World, expected: Fields[]) =>
        eventsAre(Number(variables.get('aid')), expected),
      eventsOf: (_world: World, aid: number, expected: Fields[]) => eventsAre(aid, expected),
      async distinctStamps({ variables }: World, count: number) {
        const found = await eventsOf(catalog(), Number(variables.get('aid')))
        expect(new Set(found.map(({ stamp }) => stamp)).size).toBe(count)
      },
    },
  }
}

/** Invoices of accounts 1 and 2, of which the oldest and a half of the next one are paid. */
export function accountInvoices(): SetUp {
  const server = useBillingServer(ACTIONS)
  async function invoice(aid: number, billrun_key: string, more: object = {}) {
    const invoice_id = await server.invoice(aid, 10)
    const document = { aid, billrun_key, invoice_id, subs: [], due_date: new Date(0), ...more }
    await server.catalog().billrun.insertOne(document)
  }
  return {
    server,
    async prepare() {
      for (const key of ['202605', '202606', '202607']) await invoice(1, key)
      await invoice(1, '20260610120000', { invoice_type: 'immediate' })
      await invoice(2, '202607')
      await server.catalog().billrun.insertOne({ aid: 2, billrun_key: '202608', invoice_id: 999 })
      await server.pay(1, 15)
    },
    verbs: { accounts: (_world: World, count: number) => addAccounts(server.catalog(), count) },
  }
}

export function credit(): SetUp {
  const server = useActionServer(ACTIONS, TAXED)
  const reset = emptied(server, 'lines', 'billrun', 'config')
  return { server, prepare: () => addTenant(server.catalog()), reset }
}

/** Invoices with files in a folder. */
export function onetime(): SetUp {
  const folder = mkdtempSync(join(tmpdir(), 'tg-onetime-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const server = useActionServer(ACTIONS, {
    ...TAXED,
    TOLLGATE_INVOICES_FOLDER: folder,
    TOLLGATE_INVOICES_FILES: 'at_confirmation',
    TOLLGATE_INVOICES_FORMATS: 'json',
  })
  return {
    server,
    prepare: () => addTenant(server.catalog()),
    verbs: {
      /** A file of the folder contains texts. */
      file(_world: World, path: string, ...texts: string[]) {
        const content = readFileSync(join(folder, path), 'utf8')
        for (const text of texts) expect(content, path).toContain(text)
      },
      noFile(_world: World, path: string) {
        expect(existsSync(join(folder, path)), path).toBe(false)
      },
      /** The invoice that an answer is named after has a PDF in the folder. */
      async storedPdf(_world: World, disposition: string) {
        const [, id = ''] = /filename="invoice-(\d+)\.pdf"/.exec(disposition) ?? []
        const found = await server.catalog().billrun.findOne({ invoice_id: Number(id) })
        const path = join(folder, String(found?.billrun_key), '001', `1001-${id}.pdf`)
        expect(readFileSync(path).toString()).toContain('%PDF-')
      },
    },
  }
}

export function charges(): SetUp {
  const server = useActionServer(ACTIONS, TAXED)
  const first = { to: 2, from: 0 }
  const offer = (name: string, price: number | string, more: object = {}) => ({
    ...{ _id: new ObjectId(), rev: 1, from: new Date('2020-01-01'), to: new Date('2170-01-01') },
    ...{ name, description: name },
    price: [
      { ...first, price },
      { from: 2, to: 'UNLIMITED', price: 99 },
    ],
    ...more,
  })
  const rounding = (rounding_stage: string, rounding_decimals: number) => ({
    rounding_rules: { rounding_type: 'up', rounding_decimals, rounding_stage },
  })
  const custom = { taxation: 'custom', custom_tax: 'REDUCED', custom_logic: 'override' }
  return {
    server,
    async prepare() {
      const { plans, services } = server.catalog()
      await addTenant(server.catalog())
      await plans.insertMany([
        offer('MONTHLY', '12.345', rounding('before_tax', 2)),
        offer('PAST', 5, { to: new Date('2021-01-01') }),
      ] as never)
      await services.insertMany([
        offer('PLAIN', 20),
        offer('FREE_OF_TAX', 20, { vatable: false }),
        offer('UNTAXED', 20, { tax: [{ type: 'vat', taxation: 'no' }] }),
        offer('REDUCED', 20, { tax: [{ type: 'vat', ...custom }] }),
        offer('ROUNDED', 1.5, rounding('after_tax', 0)),
        offer('UNPRICED', 1, { price: [] }),
      ] as never)
    },
  }
}

/** Invoices of March 2026 with two lines of 10 each. */
export function invoiceDocuments(): SetUp {
  const server = useActionServer(ACTIONS)
  const VAT = { key: 'VAT', description: 'VAT', type: 'vat', rate: '0.2', isEmbedded: false }
  const line = (aid: number, fields: object) => ({
    ...{ stamp: randomUUID(), v: 1, aid, sid: 2, billrun: '202603', usagev: 1, plan: 'GOLD' },
    ...finalChargeOf(new Exact(10), [VAT], null),
    ...fields,
  })
  return {
    server,
    reset: emptied(server, 'billrun', 'lines'),
    verbs: {
      async invoice(_world: World, aid: number) {
        const { billrun, lines } = server.catalog()
        await billrun.insertOne({
          ...{ aid, billrun_key: '202603', invoice_id: aid * 10 },
          ...{ invoice_date: new Date('2026-03-01'), due_date: new Date('2026-03-14') },
          account: { firstname: 'Dana', country: 'FR' },
          seller: { name: 'Tel', country: 'DE', vat_id: 'DE123456789' },
          totals: { before_vat: 20, after_vat_rounded: 24, exact: { before_vat: '20' } },
        })
        const call = { usaget: 'call', arate_key: 'CALL', urt: new Date('2026-02-10') }
        await lines.insertMany([
          line(aid, { type: 'flat', name: 'GOLD' }),
          line(aid, { type: 'realtime', ...call }),
        ] as never)
      },
      line: (_world: World, aid: number, fields: Fields) =>
        server.catalog().lines.insertOne(line(aid, fields) as never),
    },
  }
}
