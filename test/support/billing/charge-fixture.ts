/** Accounts with cards and invoices on a real store, charged by the sandbox or a fake Stripe. */
import { afterAll, beforeAll } from 'vitest'
import type { AccountRun } from '../../../src/billing/charges/account-run.ts'
import type { ChargeDeps } from '../../../src/billing/charges/attempt.ts'
import { chargeAccount } from '../../../src/billing/charges/run.ts'
import { createSandboxStore } from '../../../src/billing/charges/sandbox-store.ts'
import { type Catalog, openCatalog } from '../../../src/catalog/connection.ts'
import { sealGatewayFields } from '../../../src/catalog/sealing/payment-gateway.ts'
import type { SandboxBehaviour } from '../../../src/external/payment/sandbox/cards.ts'
import { startTestMongo, type TestMongo } from '../mongo.ts'
import { useOpened } from '../opened.ts'
import {
  chargeDeps,
  DAY_MS,
  type DepsOptions,
  NOW_MS,
  runOf,
  SEALER,
  storeGateways,
} from './charge-deps.ts'
import { storeInvoice } from './store-invoice.ts'

export interface ChargeWorld {
  catalog(): Catalog
  mongo(): TestMongo
  now: number
  deps(more?: Partial<DepsOptions>): ChargeDeps
  /** An account with a card of the sandbox. */
  account(aid: number, behaviour: SandboxBehaviour): Promise<void>
  /** An account with this card. */
  card(aid: number, active: Record<string, unknown>): Promise<void>
  invoice(aid: number, invoiceId: number, due: string): Promise<void>
  charge(
    aid: number,
    more?: Partial<AccountRun>,
    deps?: ChargeDeps,
  ): ReturnType<typeof chargeAccount>
  /** `left_to_pay` and `paid` of an invoice. */
  left(invoiceId: number): Promise<[string, string | undefined]>
  /** How often the sandbox has charged. */
  charged(aid: number): Promise<number>
}

export function useCharges(params: Record<string, unknown> = {}): ChargeWorld {
  let catalog: Catalog
  const mongo = useOpened(startTestMongo)
  beforeAll(async () => {
    const { url, database } = mongo()
    catalog = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'test' })
    await catalog.ensureIndexes()
    await storeGateways(catalog, [
      { name: 'sandbox', params: { timeout_seconds: 1, ...params } },
      { name: 'stripe', params: { api_key: 'sk_SECRET', currency: 'eur', timeout_seconds: 20 } },
    ])
  })
  afterAll(async () => {
    await catalog.close()
  })
  const world: ChargeWorld = {
    catalog: () => catalog,
    mongo: () => mongo(),
    now: NOW_MS,
    deps: (more = {}) => chargeDeps({ catalog, now: () => world.now, ...more }),
    async account(aid, behaviour) {
      const token = `sbx_SECRET_${aid}`
      await createSandboxStore(catalog).add(`card/${token}`, {
        kind: 'card',
        state: 'saved',
        madeMs: NOW_MS,
        fields: { behaviour, expiresMs: NOW_MS + 365 * DAY_MS, fourDigits: '4242', personalId: '' },
      })
      await world.card(aid, { name: 'sandbox', card_token: token })
    },
    async card(aid, active) {
      const made = new Date(NOW_MS - DAY_MS)
      const plain = { active: { ...active, generate_token_time: made } }
      await catalog.subscribers.insertOne({
        type: 'account',
        aid,
        from: new Date(NOW_MS - 30 * DAY_MS),
        to: new Date(NOW_MS + 3650 * DAY_MS),
        payment_gateway: sealGatewayFields(plain, new Set(), SEALER),
      } as never)
    },
    async invoice(aid, invoiceId, due) {
      const dueDate = new Date(NOW_MS - DAY_MS)
      await storeInvoice(catalog, { aid, invoiceId, due, nowMs: NOW_MS, dueDate })
    },
    charge: (aid, more, deps = world.deps()) => chargeAccount(deps, runOf(aid, more)),
    async left(invoiceId) {
      const bill = await catalog.bills.findOne({ invoice_id: invoiceId })
      return [String(bill?.left_to_pay), bill?.paid]
    },
    charged: (aid) => catalog.sandbox.countDocuments({ kind: 'charge', 'fields.aid': aid }),
  }
  return world
}
