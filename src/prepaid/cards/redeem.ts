/**
 * Redeems prepaid cards. The claim of a card and the outbox entry that loads its charging plan are
 * one transaction, and the load is one commit of the ledger under an operation id of the card: it
 * is loaded once, even if processes end in between.
 */
import { type Actor, plainActor } from '../../catalog/actor.ts'
import { appendDocuments, unwrittenRecords } from '../../catalog/audit/append.ts'
import { appendAudit } from '../../catalog/audit/audit.ts'
import type { ClientSession, ObjectId, WithId } from '../../catalog/collections.ts'
import type { CardClaim, CardDocument } from '../../catalog/records/card.ts'
import type { OutboxDocument } from '../../catalog/records/outbox-document.ts'
import { cardSecretsOf } from '../../catalog/sealing/card-secrets.ts'
import { enqueueOutbox, type OutboxEntry, settleOutbox } from '../../catalog/transactions/outbox.ts'
import type { Fields } from '../../domain/fields.ts'
import { balancesOf } from '../../entities/follow-ups.ts'
import { EntityRuleError } from '../../requests/errors.ts'
import type { Logger } from '../../runtime/log.ts'
import { findChargingPlan, loadsOfPlan } from '../balances/charging-plan.ts'
import { type BalanceUpdated, REFUSED } from '../balances/committed.ts'
import { wasExecuted } from '../balances/executed.ts'
import {
  type BalanceDeps,
  type BalanceTarget,
  isRefused,
  resolveTarget,
} from '../balances/loads.ts'
import { operationRecords, recordFromLedger } from '../balances/operation-audit.ts'
import { loadPlan } from '../balances/plan-load.ts'
import { type PlanOptions, planOptionsOf } from '../balances/update.ts'
import { type CardGuesses, NoCardError } from './guesses.ts'

export interface Redemption {
  /** 12 digits. */
  secret: unknown
  /** The subscriber (`sid`), or the account (`aid`) for plans with shared buckets only. */
  query: Fields
  /** Used where the charging plan leaves them open: `operation`, `expiration_date`. */
  update: Fields
  /** Details for the record; takes precedence over `update.additional`. */
  additional?: unknown
  /** Repeating the same operation changes nothing and returns the same answer. */
  operationId: string
  actor: Actor
}

/** Payload of the outbox entry of a redemption. */
export interface CardLoad {
  actor: Actor
  card: ObjectId
  aid: number
  sid: number
  /** Operation id of the call. */
  operationId: string
  options: PlanOptions
}

type Card = WithId<CardDocument>

/** `cardGuesses`: absent in a command. */
export type RedeemDeps = BalanceDeps & { cardGuesses?: CardGuesses | undefined }

const NO_CARD = 'there is no active card with this secret'

/**
 * Loads the charging plan of a card, once. Not done (`details` false) if the limits of the
 * subscriber's plan refuse it: the card stays active. Rejects with `EntityRuleError`, and like
 * `updateBalance`.
 */
export async function redeemCard(
  deps: RedeemDeps,
  redemption: Redemption,
): Promise<BalanceUpdated> {
  const { catalog, clock } = deps
  const { secret, query, actor, operationId } = redemption
  const nowMs = clock.nowMs()
  const target = wholeTarget(await resolveTarget(deps, query, nowMs))
  const options = planOptionsOf(redemption)
  const [aid, sid] = ownerOf(target)
  const find = () => findCard(deps, { secret, target, operationId }, nowMs)
  const subject = sid === 0 ? `aid ${aid}` : `sid ${sid}`
  const card = await (deps.cardGuesses?.attempt({ actor, subject }, find) ?? find())
  const isNew = card.used_by === undefined
  if (isNew && (await isLoadRefused(deps, card, target, options, nowMs))) {
    return REFUSED
  }
  const owner = { actor: plainActor(actor), aid, sid }
  const load: CardLoad = { ...owner, card: card._id, operationId, options }
  const pending = isNew ? null : await findPending(deps, load)
  if (pending !== null) {
    await catalog.dispatcher.complete(pending)
    return redeemCard(deps, redemption)
  }
  const stored = await catalog.transaction('redeem a card', async (session) => {
    if (isNew && !(await claim(deps, session, card, load))) return null
    return enqueueOutbox(session, { ...entryOf(load), isHeld: true })
  })
  if (stored === null) return redeemCard(deps, redemption)
  const done = await catalog.dispatcher.perform(stored, () => loadClaimed(deps, load, stored))
  // The card is loaded: a count that cannot be reset only delays later attempts.
  if (isNew && done.details) await deps.cardGuesses?.loaded(subject).catch(() => undefined)
  return done
}

function entryOf(payload: CardLoad): OutboxEntry & { payload: CardLoad } {
  const { sid, card } = payload
  return { kind: 'card', payload, subject: sid === 0 ? operationIdOf(card) : balancesOf(sid) }
}

/** The entry of an earlier call, which repetitions wait for: each would add another one. */
function findPending(
  { catalog }: BalanceDeps,
  load: CardLoad,
): Promise<WithId<OutboxDocument> | null> {
  const { kind, subject = null } = entryOf(load)
  return catalog.outbox.findOne({ subject, kind, 'payload.card': load.card } as object)
}

/** Shared buckets of the plan are those of the subscriber's account. */
function wholeTarget(target: BalanceTarget): BalanceTarget {
  return { ...target, aid: target.account }
}

function ownerOf({ account, sid }: BalanceTarget): [aid: number, sid: number] {
  return [account ?? 0, sid ?? 0]
}

/** The card that this call may load: an active one, or one that the same owner has claimed. */
async function findCard(
  deps: BalanceDeps,
  { secret, target, operationId }: { secret: unknown; target: BalanceTarget; operationId: string },
  nowMs: number,
): Promise<Card> {
  const { catalog, config } = deps
  const [digest = ''] = await cardSecretsOf(catalog, config).digests([String(secret)])
  const card = await catalog.cards.findOne({ secret_hmac: digest })
  if (card === null) throw new NoCardError(NO_CARD)
  if (card.status === 'Active') {
    if (card.to.getTime() > nowMs) return card
    throw new EntityRuleError(`the card has expired on ${card.to.toISOString()}`, 'refused')
  }
  const { used_by: claimed } = card
  const [aid, sid] = ownerOf(target)
  if (claimed === undefined || !mayLoad(claimed, { aid, sid, operationId })) {
    throw new NoCardError(NO_CARD)
  }
  // Results of operations are deleted after a time: a repetition would credit again.
  if (nowMs - claimed.at.getTime() <= config.ledger.operationKeepMs / 2) return card
  if (claimed.credited === true) throw new EntityRuleError(NO_CARD, 'refused')
  const since = claimed.at.toISOString()
  throw new EntityRuleError(
    `the card was claimed on ${since}: its lines show what was credited`,
    'refused',
  )
}

/** Whether the claim is that of the call, or of one that was never answered. */
function mayLoad(
  claimed: CardClaim,
  { aid, sid, operationId }: Pick<CardLoad, 'aid' | 'sid' | 'operationId'>,
): boolean {
  if (claimed.aid !== aid || claimed.sid !== sid) return false
  return claimed.answered !== true || claimed.operation_id === operationId
}

async function isLoadRefused(
  deps: BalanceDeps,
  card: Card,
  target: BalanceTarget,
  options: PlanOptions,
  nowMs: number,
): Promise<boolean> {
  const plan = await findChargingPlan(deps.catalog, card.charging_plan_name, nowMs)
  const loads = await loadsOfPlan(deps, plan, { target, ...options }, nowMs)
  return isRefused(deps.ledger, loads, nowMs)
}

/** False if another call was faster, or the card has changed. */
async function claim(
  { catalog, clock }: BalanceDeps,
  session: ClientSession,
  card: Card,
  { aid, sid, operationId, actor }: CardLoad,
): Promise<boolean> {
  const nowMs = clock.nowMs()
  const at = new Date(nowMs)
  const used_by: CardClaim = { aid, sid, operation_id: operationId, at }
  const { matchedCount } = await catalog.cards.updateOne(
    { _id: card._id, status: 'Active', secret_hmac: card.secret_hmac },
    { $set: { status: 'Used', used_by, sid, activation_datetime: at } },
    { session },
  )
  if (matchedCount === 0) return false
  appendAudit(session, actor, nowMs, {
    collection: 'cards',
    type: 'redeem',
    key: cardKey(card),
    old: { status: card.status },
    new: { status: 'Used', aid, sid },
    operationId,
  })
  return true
}

export function cardKey({ batch_number, serial_number }: CardDocument): string {
  return `${batch_number}/${serial_number}`
}

async function loadClaimed(
  deps: BalanceDeps,
  load: CardLoad,
  stored: OutboxDocument,
): Promise<BalanceUpdated> {
  const { catalog } = deps
  const done = await creditClaimed(deps, load)
  if (done === null) throw new EntityRuleError(NO_CARD, 'refused')
  const records = operationRecords({ actor: load.actor, type: 'update' }, done.operations)
  await catalog.transaction('record a redeemed card', async (session) => {
    if (done.details) await markCredited(deps, session, load, true)
    else await release(deps, session, load)
    appendDocuments(session, await unwrittenRecords(catalog, records))
    await settleOutbox(catalog, session, stored)
  })
  return done
}

/** Null if the card is not claimed by this call any more. */
async function creditClaimed(deps: BalanceDeps, load: CardLoad): Promise<BalanceUpdated | null> {
  const { catalog, clock } = deps
  const { card: id, sid, options } = load
  const nowMs = clock.nowMs()
  const card = await catalog.cards.findOne({ _id: id })
  if (card?.used_by === undefined || !mayLoad(card.used_by, load)) return null
  // The subscriber may have moved to another account since.
  const query = sid === 0 ? { aid: load.aid } : { sid }
  const target = wholeTarget(await resolveTarget(deps, query, nowMs))
  const plan = await findChargingPlan(catalog, card.charging_plan_name, nowMs)
  const note = { chargingType: 'Secret', sourceRef: id.toHexString() } as const
  const operationId = operationIdOf(id)
  return loadPlan(deps, { plan, target, ...options, operationId, note }, nowMs)
}

function operationIdOf(card: ObjectId): string {
  return `card-${card.toHexString()}`
}

function claimedBy({ card, aid, sid }: CardLoad) {
  return { _id: card, 'used_by.aid': aid, 'used_by.sid': sid }
}

async function markCredited(
  { catalog }: BalanceDeps,
  session: ClientSession,
  load: CardLoad,
  isAnswered: boolean,
): Promise<void> {
  const set = { 'used_by.credited': true, ...(isAnswered && { 'used_by.answered': true }) }
  await catalog.cards.updateOne(claimedBy(load), { $set: set }, { session })
}

/** Nothing was credited: the card can be redeemed again. */
async function release(
  { catalog, clock }: BalanceDeps,
  session: ClientSession,
  load: CardLoad,
): Promise<void> {
  const card = await catalog.cards.findOneAndUpdate(
    { ...claimedBy(load), 'used_by.credited': { $ne: true } },
    { $set: { status: 'Active' }, $unset: { used_by: '', sid: '', activation_datetime: '' } },
    { session },
  )
  if (card === null) return
  const changed = { old: { status: 'Used' }, new: { status: 'Active' } }
  const entry = { collection: 'cards', type: 'release', key: cardKey(card), ...changed }
  appendAudit(session, load.actor, clock.nowMs(), entry)
}

/**
 * Handler of the outbox entries of processes that have ended: completes the load. A refusal
 * releases the card.
 */
export async function completeRedemption(
  deps: BalanceDeps & { log: Pick<Logger, 'warn'> },
  load: CardLoad,
): Promise<void> {
  const { catalog, log } = deps
  const { actor, aid, sid, card } = load
  const operationId = operationIdOf(card)
  const isDone = await wasExecuted(deps, { aid, sid, operationId })
  const isLoaded = isDone || (await isCredited(deps, load, log))
  await catalog.transaction('finish a redeemed card', async (session) => {
    await (isLoaded ? markCredited(deps, session, load, false) : release(deps, session, load))
  })
  await recordFromLedger(deps, { actor, type: 'update', operationIds: [operationId], aid, sid })
}

/** False if it cannot be credited, or is not claimed by this call any more. */
async function isCredited(
  deps: BalanceDeps,
  load: CardLoad,
  log: Pick<Logger, 'warn'>,
): Promise<boolean> {
  const operationId = operationIdOf(load.card)
  try {
    return (await creditClaimed(deps, load))?.details === true
  } catch (error) {
    if (!(error instanceof EntityRuleError)) throw error
    log.warn({ err: error, operationId }, 'a claimed card cannot be loaded: it is released')
    return false
  }
}
