/**
 * Charges or refunds accounts: selects their open bills under a lease, and sends one charge or
 * several.
 */
import type { ClientSession } from '../../catalog/collections.ts'
import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import type { GatewayChargeDocument } from '../../catalog/records/money/payment-documents.ts'
import { least } from '../amount.ts'
import { type ActiveCard, activeCardOf } from '../cards/active-card.ts'
import type { AccountResult, AccountRun, ChargePlan } from './account-run.ts'
import { type ChargeDeps, sealedCard, sendCharge } from './attempt.ts'
import type { OpenBill } from './books.ts'
import { chargesOf, createCharge, type NewCharge, readCharge, readCharges } from './charge-store.ts'
import { withAccountLease } from './lease.ts'
import { refundPlan } from './refunds.ts'
import { isReserved } from './transitions.ts'

/** Runs the writes in one transaction; returns the ids of the charges. */
export type CommitCharges = (
  write: (session: ClientSession) => Promise<readonly string[]>,
) => Promise<readonly string[]>

/**
 * Two runs never charge the same bill: the selection and the reservation happen under the lease of
 * the account. Rejects with `EntityConflictError` if others hold it for too long.
 */
export async function chargeAccount(
  deps: ChargeDeps,
  accountRun: AccountRun,
  commit: CommitCharges = commitAlone(deps),
): Promise<AccountResult> {
  const created = await withAccountLease(deps, accountRun.aid, async () => {
    let skipped: AccountResult['skipped'] = null
    // Not in the transaction: others would wait for the customer system.
    const card = accountRun.mode === 'refund' ? null : await cardFor(deps, accountRun)
    const ids = await commit(async (session) => {
      const plan = await planOf(deps, accountRun, card)
      skipped = plan.skipped
      return createAll(deps, session, plan.charges)
    })
    return { ids, skipped }
  })
  const charges: GatewayChargeDocument[] = []
  for (const charge of await readCharges(deps.catalog, created.ids)) {
    const isUnsent = charge.state === 'created'
    charges.push(isUnsent ? ((await sendCharge(deps, charge)) ?? charge) : charge)
  }
  return { charges, skipped: created.skipped }
}

function commitAlone({ catalog }: ChargeDeps): CommitCharges {
  return (write) => catalog.transaction('create charges', write)
}

async function createAll(
  deps: ChargeDeps,
  session: ClientSession,
  charges: readonly NewCharge[],
): Promise<string[]> {
  const ids: string[] = []
  for (const charge of charges) {
    ids.push(await createCharge(deps, session, charge, deps.clock.nowMs()))
  }
  return ids
}

async function cardFor(deps: ChargeDeps, { aid, card }: AccountRun): Promise<ActiveCard | null> {
  return card ?? activeCardOf(deps, aid, deps.clock.nowMs())
}

async function planOf(
  deps: ChargeDeps,
  accountRun: AccountRun,
  card: ActiveCard | null,
): Promise<ChargePlan> {
  if (accountRun.mode === 'refund') return refundPlan(deps, accountRun)
  const { amount, payMode } = accountRun
  if (card === null) return { charges: [], skipped: 'no card' }
  const { bills, replaces } = await billsToCharge(deps, accountRun, card)
  if (bills.length === 0 && amount === undefined) return { charges: [], skipped: 'no bills' }
  const isOne = payMode === 'one_payment' || amount !== undefined
  const groups = isOne ? [upTo(bills, amount)] : bills.map((bill) => [bill])
  const charges = groups.map((group) => {
    const names = new Set(group.map(nameOf))
    const former = replaces.filter((charge) => charge.bills.some((bill) => names.has(nameOf(bill))))
    const first = { attempt: 1, first: null, firstRejected: null }
    const replaced = { bills: group, ...first, replaces: former.map(({ _id }) => _id) }
    return newCharge(deps, accountRun, card, replaced)
  })
  return { charges, skipped: null }
}

/** Repeats a rejected charge for those of its bills that are still open, or returns null. */
export async function repeatCharge(
  deps: ChargeDeps,
  rejected: GatewayChargeDocument,
): Promise<GatewayChargeDocument | null> {
  const { aid, actor, reason, attempt, first, firstRejected } = rejected
  const [id] = await withAccountLease(deps, aid, async () => {
    // Another process may have repeated it while this one waited.
    const current = await readCharge(deps.catalog, rejected._id)
    if (current?.rev !== rejected.rev) return []
    const nowMs = deps.clock.nowMs()
    const card = await activeCardOf(deps, aid, nowMs)
    if (card === null) return []
    const names = new Set(rejected.bills.map(nameOf))
    const open = await deps.books.openBills({ aid, mode: 'charge', selection: {}, nowMs })
    const bills = open.filter((bill) => names.has(nameOf(bill)))
    if (bills.length === 0) return []
    const more = { attempt: attempt + 1, first, firstRejected, replaces: [rejected._id] }
    const charge = newCharge(deps, { aid, run: '', actor, reason }, card, { bills, ...more })
    return commitAlone(deps)((session) => createAll(deps, session, [charge]))
  })
  const created = id === undefined ? null : await readCharge(deps.catalog, id)
  return created === null ? null : ((await sendCharge(deps, created)) ?? created)
}

interface ChargeGroup {
  readonly bills: readonly OpenBill[]
  readonly attempt: number
  readonly first: string | null
  readonly firstRejected: Date | null
  readonly replaces: readonly string[]
}

type NewChargeTerms = Pick<
  AccountRun,
  'aid' | 'run' | 'actor' | 'reason' | 'amount' | 'card' | 'uf'
>

function newCharge(
  { sealer }: ChargeDeps,
  { aid, run, actor, reason, amount, uf, card: chosen }: NewChargeTerms,
  card: ActiveCard,
  group: ChargeGroup,
): NewCharge {
  const { gateway } = card
  const isOnce = amount !== undefined || chosen !== undefined
  const terms = { amount, uf, isOnce, gateway, card: sealedCard(card, sealer) }
  return { ...group, aid, run, actor, reason, ...terms }
}

/** The oldest of the bills, up to the amount if there is one. */
function upTo(bills: readonly OpenBill[], amount: Exact | undefined): readonly OpenBill[] {
  if (amount === undefined) return bills
  let rest = amount
  return bills.flatMap((bill) => {
    const left = least(bill.left, rest)
    rest = rest.minus(left)
    return left.greaterThan(0) ? [{ ...bill, left }] : []
  })
}

/** Open bills without those under a charge, or under a rejection that is not to be repeated now. */
async function billsToCharge(
  deps: ChargeDeps,
  { aid, selection, isNamed }: AccountRun,
  card: ActiveCard,
): Promise<{ bills: OpenBill[]; replaces: GatewayChargeDocument[] }> {
  const nowMs = deps.clock.nowMs()
  const open = await deps.books.openBills({ aid, mode: 'charge', selection, nowMs })
  const charges = await chargesOf(deps.catalog, aid)
  const reserved = charges.filter(({ state }) => isReserved(state))
  const waiting = charges.filter((charge) => isWaiting(charge, card))
  const taken = billNames(isNamed ? reserved : [...reserved, ...waiting])
  const bills = open.filter((bill) => !taken.has(nameOf(bill)))
  return { bills, replaces: isNamed ? waiting : [] }
}

/** Rejected with the present card: it is repeated by its own schedule, or not at all. */
function isWaiting({ state, due, changed }: GatewayChargeDocument, card: ActiveCard): boolean {
  if (state !== 'rejected') return false
  return due !== null || changed.getTime() >= card.madeMs
}

function billNames(charges: readonly GatewayChargeDocument[]): ReadonlySet<string> {
  return new Set(charges.flatMap(({ bills }) => bills.map(nameOf)))
}

function nameOf({ type, id }: Pick<OpenBill, 'type' | 'id'>): string {
  return `${type}/${id}`
}
