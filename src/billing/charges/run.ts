/** Charges accounts: selects their open bills under a lease, and sends one charge or several. */
import type { Actor } from '../../catalog/actor.ts'
import type { GatewayChargeDocument } from '../../catalog/records/payment-documents.ts'
import { withLocks } from '../../catalog/revisions/locks.ts'
import { type ActiveCard, activeCardOf } from '../cards/active-card.ts'
import { type ChargeDeps, sealedCard, sendCharge } from './attempt.ts'
import type { BillSelection, OpenBill } from './books.ts'
import { chargesOf, createCharge } from './charge-store.ts'
import { isReserved } from './transitions.ts'

export type PayMode = 'one_payment' | 'multiple_payments'

export interface AccountRun {
  readonly aid: number
  readonly selection: BillSelection
  readonly payMode: PayMode
  /** The operator has named the account: it is charged even if a repetition is due later. */
  readonly isNamed: boolean
  readonly run: string
  readonly actor: Actor
  readonly reason: string
}

export interface AccountResult {
  readonly charges: readonly GatewayChargeDocument[]
  /** Why nothing was charged; null if something was. */
  readonly skipped: 'no card' | 'no bills' | null
}

/**
 * Two runs never charge the same bill: the selection and the reservation happen under the lease of
 * the account. Rejects with `EntityConflictError` if others hold it for too long.
 */
export async function chargeAccount(deps: ChargeDeps, wanted: AccountRun): Promise<AccountResult> {
  const { aid, run } = wanted
  const { catalog } = deps
  const created = await underLease(deps, aid, async () => {
    const made = run === '' ? [] : await unsentOf(deps, aid, run)
    if (made.length > 0) return { charges: made, skipped: null }
    const card = await activeCardOf(catalog, aid, deps.clock.nowMs(), deps.sealer)
    if (card === null) return { charges: [], skipped: 'no card' as const }
    const { bills, replaces } = await billsToCharge(deps, wanted, card)
    if (bills.length === 0) return { charges: [], skipped: 'no bills' as const }
    const groups = wanted.payMode === 'one_payment' ? [bills] : bills.map((bill) => [bill])
    const charges: GatewayChargeDocument[] = []
    for (const group of groups) {
      const names = new Set(group.map(nameOf))
      const isOfGroup = ({ bills: charged }: GatewayChargeDocument) =>
        charged.some((bill) => names.has(nameOf(bill)))
      const former = replaces.filter(isOfGroup).map(({ _id }) => _id)
      const first = { attempt: 1, first: null, firstRejected: null, replaces: former }
      charges.push(await make(deps, wanted, card, { bills: group, ...first }))
    }
    return { charges, skipped: null }
  })
  const charges: GatewayChargeDocument[] = []
  for (const charge of created.charges) charges.push((await sendCharge(deps, charge)) ?? charge)
  return { charges, skipped: created.skipped }
}

/** Charges of this run that a process left behind before it sent them. */
async function unsentOf({ catalog }: ChargeDeps, aid: number, run: string) {
  const all = await chargesOf(catalog, aid)
  return all.filter((charge) => charge.run === run && charge.state === 'created')
}

/** Repeats a rejected charge for those of its bills that are still open. */
export async function repeatCharge(
  deps: ChargeDeps,
  rejected: GatewayChargeDocument,
): Promise<GatewayChargeDocument | null> {
  const { aid, actor, reason, attempt, first, firstRejected } = rejected
  const created = await underLease(deps, aid, async () => {
    const nowMs = deps.clock.nowMs()
    const card = await activeCardOf(deps.catalog, aid, nowMs, deps.sealer)
    if (card === null) return null
    const names = new Set(rejected.bills.map(nameOf))
    const open = await deps.books.openBills(aid, {}, nowMs)
    const bills = open.filter((bill) => names.has(nameOf(bill)))
    if (bills.length === 0) return null
    const more = { attempt: attempt + 1, first, firstRejected, replaces: [rejected._id] }
    return make(deps, { aid, run: '', actor, reason }, card, { bills, ...more })
  })
  return created === null ? null : ((await sendCharge(deps, created)) ?? created)
}

interface ChargeGroup {
  readonly bills: readonly OpenBill[]
  readonly attempt: number
  readonly first: string | null
  readonly firstRejected: Date | null
  readonly replaces: readonly string[]
}

function make(
  deps: ChargeDeps,
  { aid, run, actor, reason }: Pick<AccountRun, 'aid' | 'run' | 'actor' | 'reason'>,
  card: ActiveCard,
  group: ChargeGroup,
): Promise<GatewayChargeDocument> {
  const sealed = sealedCard(card, deps.sealer)
  const charge = { ...group, aid, run, actor, reason, gateway: card.gateway, card: sealed }
  return createCharge(deps, charge, deps.clock.nowMs())
}

/** Open bills without those under a charge, or under a rejection that is not to be repeated now. */
async function billsToCharge(
  deps: ChargeDeps,
  { aid, selection, isNamed }: AccountRun,
  card: ActiveCard,
): Promise<{ bills: OpenBill[]; replaces: GatewayChargeDocument[] }> {
  const open = await deps.books.openBills(aid, selection, deps.clock.nowMs())
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

/** Nothing has to be recovered: the documents have their states. */
function underLease<T>({ catalog, clock }: ChargeDeps, aid: number, act: () => Promise<T>) {
  const recover = async () => undefined
  return withLocks({ catalog, clock, recover }, [`charges of account ${aid}`], act)
}
