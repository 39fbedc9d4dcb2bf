/** `kill -9` of the admin process, the store, or both, while clients pay. */
// covers: src/billing/payments/ src/admin/payments/
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { storeInvoice } from '../../support/billing/store-invoice.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { type Product, startProduct } from '../../support/product/product.ts'
import { seedOf } from '../../support/system/audited.ts'
import {
  ACCOUNTS,
  ask,
  finish,
  type MoneyCall,
  payUntilCut,
} from '../../support/system/billing/payers.ts'
import { tollgate } from '../../support/system/command.ts'
import { withCatalog } from '../../support/system/exchange.ts'
import { Random } from '../../support/system/random.ts'
import { withRecentLogs } from '../../support/system/recent-logs.ts'
import { waitUntil } from '../../support/wait.ts'

const seed = seedOf()
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 3)
const CLIENTS = 12
const KILLED = [['admin'], ['mongo'], ['mongo', 'admin']] as const
/** Shorter than usual: clients wait for it when the store is killed. */
const TIMEOUT = { TOLLGATE_MONGO_TIMEOUT_MS: '5000' }

let product: Product

beforeAll(async () => {
  product = await startProduct({ environment: TIMEOUT })
  await withCatalog(product, async (catalog) => {
    await catalog.ensureIndexes()
    await insertEntity(catalog, 'taxes')
    await insertEntity(catalog, 'rates', { key: 'FEE' })
    await insertEntity(catalog, 'subscribers')
    for (const aid of ACCOUNTS) {
      await storeInvoice(catalog, { aid, invoiceId: 100 + aid, due: 500, nowMs: Date.now() })
    }
  })
  await product.start('admin')
})
afterAll(() => product?.stop())

/** How many records of money carry the key. */
async function recordsOf(catalog: Catalog, { key, action }: MoneyCall): Promise<number> {
  if (action === 'credit') return catalog.lines.countDocuments({ type: 'credit', reason: key })
  const bills = await catalog.bills.countDocuments({ note: key })
  const event = { $in: ['payment', 'refund', 'deposit'] }
  const postings = await catalog.journal.countDocuments({ reason: key, event })
  expect([key, postings]).toEqual([key, bills])
  return bills
}

async function check(calls: readonly MoneyCall[]): Promise<void> {
  await withCatalog(product, async (catalog) => {
    for (const call of calls) {
      expect(call.text, call.key).toMatch(/^\{"status":1/)
      expect([call.key, await recordsOf(catalog, call)]).toEqual([call.key, call.records])
    }
    const numbers = await catalog.bills.distinct('txid', {})
    const payments = await catalog.bills.countDocuments({ type: 'rec' })
    expect(numbers.filter((txid) => txid !== null)).toHaveLength(payments)
  })
  expect(await tollgate(product, ['audit'])).toMatchObject({ code: 0, stderr: '' })
}

describe(`kill -9 while clients pay, seed ${seed}`, () => {
  for (let round = 1; round <= ROUNDS; round += 1) {
    const killed = KILLED[(round - 1) % KILLED.length] ?? ['admin']
    it(`round ${round}, ${killed.join(' and ')}: each key moves money exactly once`, async () => {
      const random = new Random(seed + round)
      let answered = 0
      const payers = Array.from({ length: CLIENTS }, (_, index) =>
        payUntilCut(
          product.adminUrl,
          new Random(random.below(2 ** 31)),
          `${seed}-${round}-${index}`,
          () => {
            answered += 1
          },
        ),
      )
      const kill = (async () => {
        await waitUntil('some payments', () => answered > 3 * CLIENTS)
        await pause(random.between(0, 1_000))
        for (const part of killed) await product.kill9(part)
      })()
      const work = Promise.all([kill, ...payers]).then(([, ...calls]) => calls.flat())
      const calls = await withRecentLogs(product, work)
      for (const part of killed) await product.start(part)
      await product.ready('admin')
      const cut = calls.filter(({ text }) => text === null)
      expect(cut).toHaveLength(CLIENTS)
      // All at once, as clients do after an outage.
      const repeated = Promise.all(cut.map((call) => finish(product.adminUrl, call)))
      await withRecentLogs(product, repeated)
      await check(calls)
      for (const call of calls.slice(0, 20)) {
        expect(await ask(product.adminUrl, call)).toBe(call.text)
      }
      await check(calls.slice(0, 20))
    })
  }
})
