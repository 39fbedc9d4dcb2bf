/** Composition of charges and cards: stores, gateways, books. */
import { createGateways, type Gateways } from '../billing/cards/gateways.ts'
import type { TokenizeDeps } from '../billing/cards/tokenize.ts'
import type { ChargeDeps } from '../billing/charges/attempt.ts'
import { createPaymentBooks } from '../billing/charges/payment-books.ts'
import { createSandboxStore } from '../billing/charges/sandbox-store.ts'
import { moneyFormat } from '../billing/currency.ts'
import type { CustomerLookup } from '../billing/customer-lookup.ts'
import type { Actor } from '../catalog/actor.ts'
import type { Catalog } from '../catalog/connection.ts'
import { sealerOf } from '../catalog/sealing/secret-keys.ts'
import type { CurrentSettings } from '../catalog/settings/current-settings.ts'
import type { Config } from '../config/schema.ts'
import { answerCall, type EntityApi, type EntityCall, resolveAction } from '../entities/api.ts'
import { type Clock, realTimeOf } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'

export interface Payments {
  readonly gateways: Gateways
  readonly tokens: TokenizeDeps
  readonly charges: ChargeDeps
}

export interface ChargesOptions {
  readonly catalog: Catalog
  readonly clock: Clock
  readonly config: Config
  readonly settings: CurrentSettings
  readonly log: Pick<Logger, 'warn'>
  readonly lookup: CustomerLookup
}

/** The parts for charges. */
export function createCharges(options: ChargesOptions): ChargeDeps {
  const { catalog, clock, config, settings, log, lookup } = options
  const sealer = sealerOf(config)
  const sandboxStore = createSandboxStore(catalog)
  const gateways = createGateways({ settings, sealer, sandboxStore })
  const { currencyCode } = config.rating
  const books = createPaymentBooks(catalog, currencyCode)
  const money = moneyFormat(currencyCode)
  return { catalog, clock, settings, gateways, money, books, sealer, log, lookup }
}

export function createPayments(
  options: ChargesOptions & { readonly entityApi: EntityApi },
): Payments {
  const { catalog, clock, entityApi } = options
  const charges = createCharges(options)
  const { gateways } = charges
  const saveCard: TokenizeDeps['saveCard'] = (aid, active, caller, claim) =>
    saveActiveCard(entityApi, { aid, active, caller, claim })
  return {
    gateways,
    tokens: { catalog, clock: realTimeOf(clock), gateways, saveCard },
    charges,
  }
}

interface SavedCard {
  readonly aid: number
  readonly active: Readonly<Record<string, unknown>>
  readonly caller: Actor
  readonly claim: NonNullable<EntityCall['claim']>
}

/** A permanent change of the account from now on, with its audit record. */
async function saveActiveCard(
  api: EntityApi,
  { aid, active, caller, claim }: SavedCard,
): Promise<void> {
  const now = new Date(api.stores.clock.nowMs()).toISOString()
  const raw = new Map<string, unknown>([
    ['query', { aid, effective_date: now }],
    ['update', { from: now, payment_gateway: { active } }],
  ])
  const resolved = resolveAction('accounts', 'permanentchange')
  await answerCall(api, { ...resolved, raw, caller, operationId: null, claim })
}
