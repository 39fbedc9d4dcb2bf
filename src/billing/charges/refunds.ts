/** Plans refunds: credit of an account is paid back by the charges that brought money before. */
import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import { least, sumOf, ZERO } from '../amount.ts'
import { BillingError } from '../errors.ts'
import type { AccountRun, ChargePlan } from './account-run.ts'
import type { ChargeDeps } from './attempt.ts'
import type { OpenBill } from './books.ts'
import {
  chargesOf,
  type NewCharge,
  type RefundableCharge,
  refundableCharges,
} from './charge-store.ts'

/**
 * One refund for each charge whose money is needed, newest first; with `multiple_payments` one for
 * each credit. Credit that no charge has brought stays. Throws `BillingError`.
 */
export async function refundPlan(deps: ChargeDeps, accountRun: AccountRun): Promise<ChargePlan> {
  const { aid, amount, card, run, actor, reason, uf, payMode } = accountRun
  const credits = await creditsToRefund(deps, accountRun)
  const sum = sumOf(credits.map(({ left }) => left))
  if (amount?.greaterThan(sum) === true) {
    const requested = deps.money(amount)
    throw new BillingError(`amount ${requested} is bigger than the credit of account ${aid}`, {
      path: 'amount',
    })
  }
  if (credits.length === 0) return { charges: [], skipped: 'no bills' }
  const found = await refundableCharges(deps.catalog, aid)
  const sources = found.filter(({ gateway }) => card === undefined || gateway === card.gateway)
  const parts = refundParts(credits, sources, amount ?? sum)
  if (parts.length === 0) return { charges: [], skipped: 'no charge' }
  const first = { attempt: 1, first: null, firstRejected: null, replaces: [], isOnce: true }
  const terms = { aid, run, actor, reason, uf, card: '', ...first }
  const groups = payMode === 'one_payment' ? byCharge(parts) : parts.map((part) => [part])
  const charges = groups.flatMap((group): NewCharge[] => {
    const [one] = group
    if (one === undefined) return []
    const { charge, reference, gateway } = one.source
    const bills = group.map(({ credit }) => credit)
    return [{ ...terms, gateway, bills, refunds: { charge, reference } }]
  })
  return { charges, skipped: null }
}

/** A run over many accounts leaves out credit whose refund was rejected. */
async function creditsToRefund(
  { books, catalog, clock }: ChargeDeps,
  { aid, selection, isNamed }: AccountRun,
): Promise<readonly OpenBill[]> {
  const nowMs = clock.nowMs()
  const open = await books.openBills({ aid, mode: 'refund', selection, nowMs })
  if (isNamed) return open
  const rejected = (await chargesOf(catalog, aid)).filter(
    ({ state, refunds }) => state === 'rejected' && refunds !== undefined,
  )
  const names = new Set(rejected.flatMap(({ bills }) => bills.map(({ id }) => String(id))))
  return open.filter(({ id }) => !names.has(String(id)))
}

interface RefundPart {
  readonly source: RefundableCharge
  /** A credit, and how much of it is refunded. */
  readonly credit: OpenBill
}

/** Credits oldest first, charges in their order, together at most the amount. */
function refundParts(
  credits: readonly OpenBill[],
  sources: readonly RefundableCharge[],
  amount: Exact,
): RefundPart[] {
  const parts: RefundPart[] = []
  let remaining = amount
  const rests = sources.map((source) => ({ source, rest: source.rest }))
  for (const credit of credits) {
    let open = least(credit.left, remaining)
    for (const entry of rests) {
      const left = least(open, entry.rest)
      if (left.lessThanOrEqualTo(ZERO)) continue
      parts.push({ source: entry.source, credit: { ...credit, left } })
      entry.rest = entry.rest.minus(left)
      open = open.minus(left)
      remaining = remaining.minus(left)
    }
  }
  return parts
}

function byCharge(parts: readonly RefundPart[]): RefundPart[][] {
  const groups = new Map<string, RefundPart[]>()
  for (const part of parts) {
    const { charge } = part.source
    groups.set(charge, [...(groups.get(charge) ?? []), part])
  }
  return [...groups.values()]
}
