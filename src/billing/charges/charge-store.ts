/** Documents of charges in MongoDB; every change of state is one transaction with its posting. */
import { randomUUID } from 'node:crypto'
import type { Actor } from '../../catalog/actor.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { type Exact, exactAmount, storedAmount } from '../../catalog/records/money/exact-amount.ts'
import type {
  GatewayChargeDocument,
  RefundedCharge,
} from '../../catalog/records/money/payment-documents.ts'
import { processIdentity } from '../../runtime/process-identity.ts'
import { sumOf } from '../amount.ts'
import type { OpenBill, PaymentBooks } from './books.ts'
import {
  type ChargeEvent,
  type ChargeFacts,
  type ChargeRules,
  createdCharge,
  transition,
} from './transitions.ts'

export interface ChargeStores {
  readonly catalog: Catalog
  readonly books: PaymentBooks
}

export interface NewCharge {
  readonly aid: number
  readonly gateway: string
  /** The bills that it pays; a charge of more becomes credit. */
  readonly bills: readonly OpenBill[]
  /** The sum of the bills if absent. */
  readonly amount?: Exact | undefined
  /** A rejection is not repeated. */
  readonly isOnce?: boolean | undefined
  /** The charge that it refunds. */
  readonly refunds?: RefundedCharge | undefined
  readonly uf?: Readonly<Record<string, unknown>> | undefined
  /** The card to charge, sealed; empty for a refund. */
  readonly card: string
  readonly attempt: number
  readonly first: string | null
  readonly firstRejected: Date | null
  readonly run: string
  readonly actor: Actor
  readonly reason: string
  /** The rejected charges that this one replaces: they are not repeated any more. */
  readonly replaces: readonly string[]
}

/** Another process has changed the charge: what was read is outdated. */
export class ChargeChangedError extends Error {
  override name = 'ChargeChangedError'
}

/**
 * Creates a charge and reserves its bills, in the transaction of the session. Call it under the
 * lease of the account. Returns its id.
 */
export async function createCharge(
  { catalog, books }: ChargeStores,
  session: ClientSession,
  charge: NewCharge,
  nowMs: number,
): Promise<string> {
  const { aid, gateway, bills, first, reason, replaces, firstRejected, attempt } = charge
  const { refunds, uf = {} } = charge
  const id = `tg_${randomUUID().replaceAll('-', '')}`
  const amount = charge.amount ?? sumOf(bills.map(({ left }) => left))
  const paid = bills.map(({ type, id: bill, left }) => ({ type, id: bill, amount: left }))
  const { actor } = charge
  const mode = refunds === undefined ? 'charge' : 'refund'
  const payment = { mode, aid, gateway, amount, bills: paid, chargeId: id, actor, reason } as const
  const txid = await books.reserve(session, { ...payment, uf, nowMs })
  const document: GatewayChargeDocument = {
    _id: id,
    rev: 1,
    aid,
    gateway,
    amount: storedAmount(amount),
    ...(refunds !== undefined && { refunds }),
    ...(charge.isOnce === true && { once: true as const }),
    bills: paid.map((bill) => ({ ...bill, amount: storedAmount(bill.amount) })),
    txid,
    card: charge.card,
    first: first ?? id,
    run: charge.run,
    actor: charge.actor,
    reason,
    holder: processIdentity(),
    created: new Date(nowMs),
    changed: new Date(nowMs),
    ...fieldsOf(createdCharge(nowMs, attempt, firstRejected?.getTime() ?? null)),
  }
  await catalog.gatewaycharges.insertOne(document, { session })
  if (replaces.length > 0) {
    await catalog.gatewaycharges.updateMany(
      { _id: { $in: [...replaces] }, state: 'rejected' },
      { $set: { due: null, changed: new Date(nowMs) }, $inc: { rev: 1 } },
      { session },
    )
  }
  return id
}

/**
 * Applies an event, with the posting that belongs to it, in a transaction of its own or `within`
 * that of the caller. Rejects with `ChargeChangedError` if the
 * document has changed since it was read, or with `ChargeTransitionError`.
 */
export async function applyEvent(
  { catalog, books }: ChargeStores,
  charge: GatewayChargeDocument,
  event: ChargeEvent,
  nowMs: number,
  rules: ChargeRules,
  within?: { readonly session: ClientSession },
): Promise<GatewayChargeDocument> {
  const { retryDays } = charge.once === true ? { retryDays: [] } : rules
  const facts = transition(factsOf(charge), event, nowMs, { retryDays })
  const isDecided = facts.state === 'completed' || facts.state === 'rejected'
  const fields = {
    ...fieldsOf(facts),
    ...(event.type === 'send' && { holder: processIdentity() }),
    // Nobody has to be asked about a decided charge.
    ...(isDecided && { card: '', holder: null }),
    changed: new Date(nowMs),
    rev: charge.rev + 1,
  }
  const write = async (session: ClientSession) => {
    const { matchedCount } = await catalog.gatewaycharges.updateOne(
      { _id: charge._id, rev: charge.rev },
      { $set: fields },
      { session },
    )
    if (matchedCount === 0)
      throw new ChargeChangedError(`charge ${charge._id} was changed by others`)
    const after: GatewayChargeDocument = { ...charge, ...fields }
    if (after.state !== charge.state) await post(books, session, after, nowMs)
    return after
  }
  return within === undefined
    ? catalog.transaction('change a charge', write)
    : write(within.session)
}

async function post(
  books: PaymentBooks,
  session: ClientSession,
  { state, aid, txid, gateway, reference, status, code }: GatewayChargeDocument,
  nowMs: number,
): Promise<void> {
  const payment = { aid, txid, gateway, reference, status, code, nowMs }
  if (state === 'completed') await books.complete(session, payment)
  if (state === 'rejected') await books.reject(session, payment)
}

export function factsOf(charge: GatewayChargeDocument): ChargeFacts {
  const { state, reference, status, code, isFinal, attempt, asked } = charge
  return {
    state,
    reference,
    status,
    code,
    isFinal,
    attempt,
    queries: asked,
    sentMs: charge.sent?.getTime() ?? null,
    firstRejectedMs: charge.firstRejected?.getTime() ?? null,
    dueMs: charge.due?.getTime() ?? null,
    taskMs: charge.task?.getTime() ?? null,
  }
}

function fieldsOf(facts: ChargeFacts) {
  const { state, reference, status, code, isFinal, attempt, queries: asked } = facts
  return {
    state,
    reference,
    status,
    code,
    isFinal,
    attempt,
    asked,
    sent: dateOf(facts.sentMs),
    firstRejected: dateOf(facts.firstRejectedMs),
    due: dateOf(facts.dueMs),
    task: dateOf(facts.taskMs),
  }
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}

/** The charges of an account that concern what may be charged now, newest first. */
export function chargesOf(catalog: Catalog, aid: number): Promise<GatewayChargeDocument[]> {
  return catalog.gatewaycharges.find({ aid }).sort({ created: -1 }).limit(RECENT_MAX).toArray()
}

const RECENT_MAX = 100

/** A completed charge of which something may be refunded. */
export interface RefundableCharge extends RefundedCharge {
  readonly gateway: string
  /** Not refunded, and not under a refund; above 0. */
  readonly rest: Exact
}

/** Newest first. */
export async function refundableCharges(
  catalog: Catalog,
  aid: number,
): Promise<RefundableCharge[]> {
  const completed = { aid, state: 'completed', refunds: { $exists: false } } as const
  const charges = await catalog.gatewaycharges
    .find(completed)
    .sort({ created: -1 })
    .limit(RECENT_MAX)
    .toArray()
  const ids = charges.map(({ _id }) => _id)
  const refunds = await catalog.gatewaycharges
    .find({ aid, 'refunds.charge': { $in: ids }, state: { $ne: 'rejected' } })
    .toArray()
  return charges
    .map(({ _id: charge, reference, gateway, amount }) => {
      const refunded = refunds.filter((refund) => refund.refunds?.charge === charge)
      const sum = sumOf(refunded.map((refund) => exactAmount(refund.amount)))
      return { charge, reference, gateway, rest: exactAmount(amount).minus(sum) }
    })
    .filter(({ reference, rest }) => reference !== '' && rest.greaterThan(0))
}

export function readCharges(
  catalog: Catalog,
  ids: readonly string[],
): Promise<GatewayChargeDocument[]> {
  return catalog.gatewaycharges
    .find({ _id: { $in: [...ids] } })
    .sort({ _id: 1 })
    .toArray()
}

export function readCharge(catalog: Catalog, id: string): Promise<GatewayChargeDocument | null> {
  return catalog.gatewaycharges.findOne({ _id: id })
}
