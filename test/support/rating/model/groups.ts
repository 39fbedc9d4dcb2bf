/** Included units: which groups apply to a usage, in which order, and which units they cover. */
import { fraction } from '../../domain/fraction.ts'
import { cycleOf, type ModelCycle } from './calendar.ts'
import type { GroupDocument, QuoteCase, SubscriberDocument } from './case.ts'
import { exact, leastOf, MICROS, product } from './exact.ts'
import { type Offer, offerOf, type ProductInstance } from './offer.ts'
import { type ModelTariff, payableSteps, priceOf } from './price.ts'

/** The remaining units of a group for a usage: steps or micros. */
export interface GroupUse {
  kind: 'units' | 'cost'
  counter: string
  /** Null if unlimited. */
  left: bigint | null
}

export interface Coverage {
  covered: bigint
  taken: { counter: string; amount: bigint }[]
}

/** Used so far, by counter. */
export type Counters = Map<string, bigint>

export interface OpenCycle extends ModelCycle {
  /** Begin of the oldest open cycle. */
  oldestMs: number
}

export interface Usage {
  testCase: QuoteCase
  subscriber: SubscriberDocument
  offer: Offer
  rateKey: string
  usaget: string
  atMs: number
  /** The open cycle in which the usage counts. */
  cycle: OpenCycle
  stepsPerUnit: bigint
}

/** Whether any group, of an active or inactive service, is meant for this usage. */
export function isGrouped({ offer, rateKey, usaget }: Usage): boolean {
  return [offer.planInstance, ...offer.services].some(({ groups }) =>
    Object.values(groups).some((group) => contains(group, rateKey, usaget)),
  )
}

/**
 * Groups of the plan, then of each service by the end of its period: the first group of units and
 * the first of money that contain the usage. A later one is not used, even if the first is
 * exhausted.
 */
export function groupsInOrder(usage: Usage, counters: Counters): GroupUse[] {
  const { offer, cycle } = usage
  const endOf = ({ period }: ProductInstance) => period?.toMs ?? cycle.toMs
  // A period that ended 93 days before the oldest open cycle is no longer counted.
  const closedMs = cycle.oldestMs - 93 * 86_400_000
  const isOpen = ({ period }: ProductInstance) => period === null || period.toMs > closedMs
  const services = offer.services
    .filter((productInstance) => productInstance.isActive && isOpen(productInstance))
    .sort((one, other) => endOf(one) - endOf(other))
  return [offer.planInstance, ...services].flatMap((productInstance) =>
    (['units', 'cost'] as const).flatMap((kind) => {
      const named = Object.entries(productInstance.groups).find(
        ([, group]) => kindOf(group) === kind && contains(group, usage.rateKey, usage.usaget),
      )
      return named === undefined ? [] : [groupUse(usage, productInstance, named, kind, counters)]
    }),
  )
}

function groupUse(
  usage: Usage,
  productInstance: ProductInstance,
  [name, group]: [string, GroupDocument],
  kind: 'units' | 'cost',
  counters: Counters,
): GroupUse {
  const counter = counterOf(usage, productInstance, name, group)
  const total = group.account_pool
    ? pooledTotal(usage, productInstance, name)
    : totalOf(group, productInstance, usage)
  if (total === null) return { kind, counter, left: null }
  const left = total - (counters.get(counter) ?? 0n)
  return { kind, counter, left: left > 0n ? left : 0n }
}

/**
 * One of the account, regardless of the owner of the plan or service, or one of the subscriber's
 * instance.
 */
function counterOf(
  usage: Usage,
  productInstance: ProductInstance,
  name: string,
  group: GroupDocument,
): string {
  const isCommon = group.account_shared || group.account_pool
  const { kind, name: held, instance } = productInstance
  // Products of the account itself are counted once for all its subscribers.
  const own = instance.startsWith('account ') ? instance : `${usage.subscriber.sid} ${instance}`
  const holder = isCommon ? `${kind} ${held}` : own
  const begin = productInstance.period?.fromMs ?? usage.cycle.fromMs
  return `${holder} ${name} ${begin}`
}

function pooledTotal(
  usage: Usage,
  { kind, name }: ProductInstance,
  groupName: string,
): bigint | null {
  const { testCase, atMs } = usage
  let total = 0n
  for (const member of testCase.subscribers ?? [usage.subscriber]) {
    if (member.aid !== usage.subscriber.aid) continue
    const offer = offerOf(testCase, member, atMs)
    for (const productInstance of offer === null ? [] : [offer.planInstance, ...offer.services]) {
      if (
        productInstance.kind !== kind ||
        productInstance.name !== name ||
        !productInstance.isActive
      )
        continue
      const group = productInstance.groups[groupName]
      if (group === undefined) continue
      const share = totalOf(group, productInstance, usage)
      if (share === null) return null
      total += share
    }
  }
  return total
}

/** Steps or micros; multiplied by the quantity if that affects the group. */
function totalOf(
  group: GroupDocument,
  productInstance: ProductInstance,
  usage: Usage,
): bigint | null {
  const amount = group.cost ?? group.value ?? (group[usage.usaget] as number)
  if (amount === 'UNLIMITED') return null
  const scale = group.cost === undefined ? usage.stepsPerUnit : MICROS
  const times = group.quantity_affected === false ? 1 : productInstance.quantity
  const { over, under } = product(exact(amount), fraction(scale * BigInt(times)))
  return over / under
}

function kindOf(group: GroupDocument): 'units' | 'cost' {
  return group.cost === undefined ? 'units' : 'cost'
}

function contains(group: GroupDocument, rateKey: string, usaget: string): boolean {
  const isNew = group.cost !== undefined || group.value !== undefined
  const types = group.usage_types
  if (isNew ? types !== undefined && !(usaget in types) : !(usaget in group)) return false
  const { rates = 'ALL_RATES' } = group
  if (typeof rates !== 'string') return rates.includes(rateKey)
  return rates === 'ALL_RATES' || new RegExp(rates.replace(/^\/|\/$/g, '')).test(rateKey)
}

/**
 * Group after group. Money covers units on a separate track: the first units at the tariff without
 * access, as many as all money so far pays for; it is taken from the first groups first. Units that
 * are free by the tariff are also covered by an exhausted group of money, at no cost.
 */
export function covered(groups: readonly GroupUse[], tariff: ModelTariff, asked: bigint): Coverage {
  const taken: Coverage['taken'] = []
  let left = asked
  let pool = 0n
  let bought = 0n
  for (const { kind, counter, left: given } of groups) {
    let steps: bigint
    if (kind === 'units') {
      steps = given === null ? left : leastOf(left, given)
      taken.push({ counter, amount: steps })
    } else {
      pool += given ?? 0n
      steps = payableSteps(tariff, false, { from: bought, upTo: bought + left }, pool) - bought
      bought += steps
    }
    left -= steps
  }
  let cost = priceOf(tariff, bought, false)
  for (const { kind, counter, left: money } of groups) {
    if (kind === 'units') continue
    const amount = leastOf(cost, money ?? 0n)
    cost -= amount
    taken.push({ counter, amount })
  }
  if (cost !== 0n) throw new Error('the model covers what no group can pay')
  return { covered: asked - left, taken }
}

/** The cycle of an event, unless that is closed: then the older of the two open ones. */
export function countingCycle(atMs: number, nowMs: number, zone: string, day: number): OpenCycle {
  const current = cycleOf(nowMs, zone, day)
  const before = cycleOf(current.fromMs - 1, zone, day)
  const own = cycleOf(atMs, zone, day)
  return { ...(own.fromMs < before.fromMs ? before : own), oldestMs: before.fromMs }
}
