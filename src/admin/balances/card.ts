/**
 * Prepaid cards. A card is claimed for its owner before anything is credited, and credited under
 * its own operation id, so that repeating an interrupted call completes it.
 */
import { createHash } from 'node:crypto'
import type { WithId } from '../../catalog/collections.ts'
import type { CardDocument } from '../../catalog/entities/card.ts'
import { EntityRuleError } from '../entities/errors.ts'
import type { BalanceDeps, BalanceTarget } from './loads.ts'

/** Claim stored on a card. */
interface Claim {
  aid: number
  /** 0 if only an account was named. */
  sid: number
  /** Operation id of the call that claimed the card. */
  operation_id: string
  at: Date
  /** All of it has been credited. */
  credited?: boolean
}

export interface FoundCard {
  document: WithId<CardDocument>
  /** The card is claimed for the same owner: what is missing may be credited. */
  isClaimed: boolean
  /** The only operation id under which the card is credited. */
  operationId: string
}

const NO_CARD = 'there is no active card with this secret'

/** Finds the card that this call may load. Throws `EntityRuleError`. */
export async function findCard(
  { catalog, config }: BalanceDeps,
  { secret, target, operationId }: { secret: unknown; target: BalanceTarget; operationId: string },
  nowMs: number,
): Promise<FoundCard> {
  const filter = { secret: hashOf(secret) }
  const found = await catalog.run('find card', () => catalog.cards.find(filter).toArray())
  const active = found.find(({ status }) => statusOf(status) === 'active')
  if (active !== undefined) {
    if (active.to instanceof Date && active.to.getTime() <= nowMs) {
      throw new EntityRuleError(`the card has expired on ${active.to.toISOString()}`)
    }
    return { document: active, isClaimed: false, operationId: idOf(active) }
  }
  const mine = found.find((one) => isSameOwner(claimOf(one), target))
  const claim = mine === undefined ? null : claimOf(mine)
  if (mine === undefined || claim === null) throw new EntityRuleError(NO_CARD)
  if (claim.credited === true && claim.operation_id !== operationId)
    throw new EntityRuleError(NO_CARD)
  // Results of operations are deleted after a time; a repetition would then credit again.
  if (nowMs - claim.at.getTime() > config.ledger.operationKeepMs / 2) {
    if (claim.credited === true) throw new EntityRuleError(NO_CARD)
    const since = claim.at.toISOString()
    throw new EntityRuleError(`the card was claimed on ${since}: its lines show what was credited`)
  }
  return { document: mine, isClaimed: true, operationId: idOf(mine) }
}

/** False if another call was faster. */
export async function claimCard(
  { catalog }: BalanceDeps,
  { document }: FoundCard,
  target: BalanceTarget,
  operationId: string,
  nowMs: number,
): Promise<boolean> {
  const claim: Claim = {
    aid: target.account ?? 0,
    sid: target.sid ?? 0,
    operation_id: operationId,
    at: new Date(nowMs),
  }
  const { _id, status } = document
  const claimed = await catalog.run('claim card', () =>
    catalog.cards.findOneAndUpdate(
      { _id, status },
      { $set: { status: 'Used', used_by: claim } },
      { returnDocument: 'after' },
    ),
  )
  return claimed !== null
}

/** Marks the card as completely credited. */
export async function finishCard({ catalog }: BalanceDeps, { document }: FoundCard): Promise<void> {
  await catalog.run('finish card', () =>
    catalog.cards.updateOne({ _id: document._id }, { $set: { 'used_by.credited': true } }),
  )
}

/** Operation ids under which the cards with this secret are credited. */
export async function cardOperationIds({ catalog }: BalanceDeps, secret: unknown) {
  const filter = { secret: hashOf(secret) }
  const found = await catalog.run('find card', () => catalog.cards.find(filter).toArray())
  return found.map(idOf)
}

function hashOf(secret: unknown): string {
  return createHash('sha512').update(String(secret)).digest('hex')
}

function idOf({ _id }: WithId<CardDocument>): string {
  return `card-${_id.toHexString()}`
}

function statusOf(status: unknown): string {
  return typeof status === 'string' ? status.toLowerCase() : ''
}

function claimOf(card: CardDocument): Claim | null {
  const claim = card['used_by'] as Claim | undefined
  return statusOf(card.status) === 'used' && claim?.at instanceof Date ? claim : null
}

function isSameOwner(claim: Claim | null, target: BalanceTarget): boolean {
  return claim !== null && claim.aid === (target.account ?? 0) && claim.sid === (target.sid ?? 0)
}
