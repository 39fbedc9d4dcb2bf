/** Payers of credits that the customer system keeps. */
import { type Fields, wholeAt } from '../../domain/fields.ts'
import type { CustomerLookup } from '../customer-lookup.ts'
import type { CreditData, Period } from './credit-data.ts'

interface Payer {
  readonly aid: number
  /** 0: the account. */
  readonly sid: number
  readonly atMs: number
}

export type CreditCustomers = Pick<CreditData, 'subscribers' | 'accounts'>

/**
 * Null if MongoDB has accounts and subscribers. One that is unknown now is asked for at the time of
 * its credit. Rejects with `CustomerSystemError`.
 */
export async function creditCustomers(
  lookup: CustomerLookup,
  payers: readonly Payer[],
  nowMs: number,
): Promise<CreditCustomers | null> {
  const sids = payers.filter(({ sid }) => sid !== 0).map(({ sid }) => sid)
  const aids = payers.filter(({ sid, aid }) => sid === 0 && aid !== 0).map(({ aid }) => aid)
  const accounts = await lookup.accounts(aids, nowMs)
  const subscribers = await lookup.subscribers(sids, nowMs)
  if (accounts === null || subscribers === null) return null
  const [foundAccounts, foundSubscribers] = [new Map(accounts), new Map(subscribers)]
  for (const { aid, sid, atMs } of payers) {
    if (sid === 0 && aid !== 0 && !foundAccounts.has(aid)) {
      merge(foundAccounts, await lookup.accounts([aid], atMs))
    }
    if (sid !== 0 && !foundSubscribers.has(sid)) {
      merge(foundSubscribers, await lookup.subscribers([sid], atMs))
    }
  }
  return {
    accounts: new Set(foundAccounts.keys()),
    subscribers: new Map([...foundSubscribers].map(([sid, fields]) => [sid, [periodOf(fields)]])),
  }
}

function merge(into: Map<number, Fields>, more: ReadonlyMap<number, Fields> | null): void {
  for (const [number, fields] of more ?? []) into.set(number, fields)
}

function periodOf(fields: Fields): Period {
  const { from, to } = fields as { from: Date; to: Date }
  return { aid: wholeAt(fields['aid'], 'aid', 1), fromMs: from.getTime(), toMs: to.getTime() }
}
