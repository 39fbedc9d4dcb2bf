/** Sends a charge to its gateway, and asks for its outcome. */
import type { GatewayChargeDocument } from '../../catalog/records/money/payment-documents.ts'
import type { Sealer } from '../../catalog/sealing/sealing.ts'
import type { CurrentSettings } from '../../catalog/settings/current-settings.ts'
import { PAYMENTS } from '../../catalog/settings/money/payment-settings.ts'
import {
  GatewayRefusedError,
  GatewayUnansweredError,
  type SavedCard,
} from '../../external/payment/gateway.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Gateways } from '../cards/gateways.ts'
import type { MoneyFormat } from '../currency.ts'
import type { CustomerLookup } from '../customer-lookup.ts'
import { applyEvent, ChargeChangedError, type ChargeStores, readCharge } from './charge-store.ts'
import { type ChargeEvent, ChargeTransitionError } from './transitions.ts'

export interface ChargeDeps extends ChargeStores {
  readonly clock: Clock
  readonly settings: CurrentSettings
  readonly gateways: Gateways
  /** Amounts in errors. */
  readonly money: MoneyFormat
  readonly sealer: Pick<Sealer, 'seal' | 'open'>
  readonly log: Pick<Logger, 'warn'>
  readonly lookup: CustomerLookup
}

type ChargeCard = Pick<SavedCard, 'cardToken' | 'customerId'>

export function sealedCard({ cardToken, customerId }: ChargeCard, sealer: Pick<Sealer, 'seal'>) {
  return sealer.seal(JSON.stringify({ cardToken, customerId }))
}

/** Refunds refer to a charge, not to a card. */
const NO_CARD: ChargeCard = { cardToken: '', customerId: '' }

/** Null if the key of the secret is not known. */
function openedCard(sealed: string, sealer: Pick<Sealer, 'open'>): ChargeCard | null {
  const text = sealed === '' ? null : sealer.open(sealed)
  return text === null ? null : (JSON.parse(text) as ChargeCard)
}

/**
 * Sends a created charge, once: `sent` is stored before the request leaves. Returns the charge
 * after the answer; null if another process sends it.
 */
export async function sendCharge(
  deps: ChargeDeps,
  created: GatewayChargeDocument,
): Promise<GatewayChargeDocument | null> {
  const submitted = await applyOrNull(deps, created, { type: 'send' })
  if (submitted === null) return null
  const event = await request(deps, submitted)
  return applyToLatest(deps, submitted, event)
}

/** Asks for the outcome. Returns the charge after the answer; null if it was changed meanwhile. */
export async function askForCharge(
  deps: ChargeDeps,
  charge: GatewayChargeDocument,
): Promise<GatewayChargeDocument | null> {
  return applyOrNull(deps, charge, await query(deps, charge))
}

async function request(deps: ChargeDeps, charge: GatewayChargeDocument): Promise<ChargeEvent> {
  const { _id: key, aid } = charge
  const amount = String(charge.amount)
  try {
    const gateway = await deps.gateways.get(charge.gateway)
    const nowMs = deps.clock.nowMs()
    const { refunds } = charge
    if (gateway !== null && refunds !== undefined) {
      const { reference } = refunds
      return { type: 'answer', outcome: await gateway.refund({ key, reference, amount, nowMs }) }
    }
    const card = openedCard(charge.card, deps.sealer)
    // Nothing has left: the charge may be repeated.
    if (gateway === null || card === null) return refusal('gateway_unavailable')
    return { type: 'answer', outcome: await gateway.charge({ key, aid, amount, card, nowMs }) }
  } catch (error) {
    if (error instanceof GatewayRefusedError) return refusal(error.code)
    // After any other error the request may have arrived.
    report(deps, error, key, 'a charge was not answered')
    return { type: 'unanswered' }
  }
}

function refusal(code: string): ChargeEvent {
  const outcome = { stage: 'rejected', reference: '', status: 'refused', isFinal: false } as const
  return { type: 'answer', outcome: { ...outcome, code } }
}

async function query(deps: ChargeDeps, charge: GatewayChargeDocument): Promise<ChargeEvent> {
  const { _id: key, reference, sent, refunds } = charge
  try {
    const gateway = await deps.gateways.get(charge.gateway)
    const card = refunds === undefined ? openedCard(charge.card, deps.sealer) : NO_CARD
    if (gateway === null || card === null) return { type: 'not asked' }
    const nowMs = deps.clock.nowMs()
    const sentMs = sent?.getTime() ?? nowMs
    const refundOf = refunds?.reference
    const chargeQuery = { key, reference, card, sentMs, nowMs, ...(refundOf && { refundOf }) }
    const outcome = await gateway.query(chargeQuery)
    return outcome === 'absent' ? { type: 'absent' } : { type: 'answer', outcome }
  } catch (error) {
    report(deps, error, key, 'the outcome of a charge cannot be asked for')
    return { type: 'not asked' }
  }
}

/** Errors of gateways name no secrets; others are logged with their type only. */
function report({ log }: ChargeDeps, error: unknown, charge: string, text: string): void {
  const isOurs = error instanceof GatewayUnansweredError || error instanceof GatewayRefusedError
  const reason = isOurs ? error.message : error instanceof Error ? error.name : 'error'
  log.warn({ charge, reason }, text)
}

/** Null if another process was faster. */
export async function applyOrNull(
  deps: ChargeDeps,
  charge: GatewayChargeDocument,
  event: ChargeEvent,
): Promise<GatewayChargeDocument | null> {
  const { retry_days: retryDays } = await deps.settings.get(PAYMENTS)
  try {
    return await applyEvent(deps, charge, event, deps.clock.nowMs(), { retryDays })
  } catch (error) {
    if (error instanceof ChargeChangedError) return null
    throw error
  }
}

const ATTEMPTS_MAX = 5

/** An answer must not be lost because another process has taken the charge for unanswered. */
async function applyToLatest(
  deps: ChargeDeps,
  submitted: GatewayChargeDocument,
  event: ChargeEvent,
): Promise<GatewayChargeDocument | null> {
  let charge: GatewayChargeDocument | null = submitted
  for (let attempt = 0; charge !== null && attempt < ATTEMPTS_MAX; attempt += 1) {
    try {
      const done = await applyOrNull(deps, charge, event)
      if (done !== null) return done
    } catch (error) {
      // It is decided already, or already unknown.
      if (error instanceof ChargeTransitionError) return charge
      throw error
    }
    charge = await readCharge(deps.catalog, submitted._id)
  }
  return charge
}
