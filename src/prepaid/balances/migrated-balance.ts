/**
 * A balance document of the replaced system as operations of the ledger: prepaid credit becomes a
 * bucket, and counted usage of the current period becomes counters.
 */
import { findProfile } from '../../catalog/feed/profiles.ts'
import { CHARGING_OF_KIND } from '../../catalog/records/usage/balance-document.ts'
import type { TransferIn } from '../../domain/balance-operations.ts'
import { EMPTY_LIMIT } from '../../domain/bucket.ts'
import type { Catalogue, PrepaidInclude, SubscriberProfile } from '../../domain/catalogue.ts'
import { CREDIT, type RequiredCounter, UNLIMITED_TOTAL } from '../../domain/counters.ts'
import { type Cycle, cycleAt } from '../../domain/cycle.ts'
import { type Fields, isEmpty, isObject, isUnset } from '../../domain/fields.ts'
import { FOREVER_MS } from '../../domain/time.ts'
import { dateText } from '../../entities/timeline/dates.ts'
import type { SessionLocation } from '../../ledger/ledger.ts'
import { type ActiveProducts, activeProductsAt } from '../../rating/active-products.ts'
import { countersNamed } from '../../rating/groups.ts'
import { integerOf } from '../../requests/cast-value.ts'
import { EntityRuleError, fieldRule } from '../../requests/errors.ts'
import { DATES, dateOf } from '../../requests/instant.ts'
import { type BalanceDeps, creditOf, includeOf, ownerFor, resolveTarget } from './loads.ts'

export interface MigrationStores extends BalanceDeps {
  catalogue: Catalogue
}

/** Adds a part of the balance to a bucket or counter. */
export type MigratedPart = TransferIn & SessionLocation

interface OldBalance extends SessionLocation {
  row: Fields
  balance: Fields
  fromMs: number
  toMs: number
}

/** Empty if the balance is. Throws `EntityRuleError` with the reason why it cannot be kept. */
export async function migratedParts(row: Fields, stores: MigrationStores): Promise<MigratedPart[]> {
  const nowMs = stores.clock.nowMs()
  const old = balanceOf(row, { timeZone: stores.config.rating.timeZone, nowMs })
  if (old.toMs <= nowMs) throw new EntityRuleError('it has ended: its rest is forfeited', 'refused')
  const isCounter = row['connection_type'] === 'postpaid' || isUnset(row['pp_includes_external_id'])
  return isCounter ? countersOf(old, stores, nowMs) : prepaidOf(old, stores, nowMs)
}

function balanceOf(row: Fields, time: { timeZone: string; nowMs: number }): OldBalance {
  const { balance } = row
  if (!isObject(balance)) throw fieldRule('balance', 'must be an object')
  const dateAt = (field: 'from' | 'to') => {
    const date = dateOf(row[field], time)
    if (date === null) throw fieldRule(field, `must be ${DATES}`)
    return date.getTime()
  }
  return { ...ownerIn(row), row, balance, fromMs: dateAt('from'), toMs: dateAt('to') }
}

/** Throws `EntityRuleError`. */
export function ownerIn(row: Fields): SessionLocation {
  const numberAt = (field: 'aid' | 'sid', least: number) => {
    const number = integerOf(row[field])
    if (number !== null && number >= least) return number
    throw fieldRule(field, `must be an integer from ${least} on`)
  }
  return { aid: numberAt('aid', 1), sid: numberAt('sid', 0) }
}

async function prepaidOf(
  { row, balance, aid, sid, fromMs, toMs }: OldBalance,
  stores: MigrationStores,
  nowMs: number,
): Promise<MigratedPart[]> {
  const { catalog } = stores
  const include = await includeOf(catalog, { externalId: row['pp_includes_external_id'] }, nowMs)
  checkSameKind(row, include)
  const owner = ownerFor(include, await resolveTarget(stores, { aid, sid }, nowMs))
  if (owner.sid === 0) await checkAccount(catalog, aid, nowMs)
  const path = amountPath(include)
  const amount = creditOf(roundedAt(balance, path), include.kind, path)
  if (amount < 0) throw fieldRule(`${path}:`, 'more was used than credited')
  if (amount === 0) return []
  const { externalId, kind, usaget, unlimited } = include
  const priority = integerOf(row['priority']) ?? include.priority
  const isEndless = unlimited || row['unlimited'] === true
  const terms = {
    ...{ prepaidIncludeId: externalId, kind, usaget, priority, limit: 0, counter: '' },
    ...{ fromMs, toMs: isEndless ? FOREVER_MS : toMs },
  }
  return [{ mode: 'transfer_in', terms, amount, counted: 0, ...owner }]
}

/** The amounts would mean something else if the prepaid include counts differently here. */
function checkSameKind(row: Fields, { name, kind, usaget }: PrepaidInclude): void {
  const here = { charging_by: CHARGING_OF_KIND[kind], charging_by_usaget: usaget }
  for (const [field, value] of Object.entries(here)) {
    const given = row[field]
    if (isUnset(given) || given === value || value === '') continue
    throw fieldRule(field, `is ${String(given)}, that of ${name} is ${value} here`)
  }
}

function amountPath({ kind, usaget }: PrepaidInclude): string {
  if (kind === 'totalCost') return 'balance.cost'
  return `balance.totals.${usaget}.${kind === 'units' ? 'usagev' : 'cost'}`
}

/** Amounts of the old system are floating-point sums: what is finer than a micro is noise. */
function roundedAt(balance: Fields, path: string): unknown {
  const [, ...steps] = path.split('.')
  const value = steps.reduce<unknown>(
    (part, step) => (isObject(part) ? part[step] : undefined),
    balance,
  )
  if (isUnset(value)) throw fieldRule(path, 'is missing', 'missing')
  return typeof value === 'number' && Number.isFinite(value) ? Number(value.toFixed(6)) : value
}

/** Usage that was counted, which is positive. */
function countedAt(balance: Fields, path: string, kind: RequiredCounter['kind']): number {
  const counted = 0 - creditOf(roundedAt(balance, path), kind, path)
  if (counted >= 0) return counted
  throw fieldRule(path, 'must not be below 0')
}

async function checkAccount(
  catalog: MigrationStores['catalog'],
  aid: number,
  nowMs: number,
): Promise<void> {
  const now = new Date(nowMs)
  const filter = { type: 'account' as const, aid, from: { $lte: now }, to: { $gt: now } }
  const found = await catalog.subscribers.findOne(
    { ...filter, deleted: { $ne: true } },
    { projection: { _id: 1 } },
  )
  if (found === null) throw new EntityRuleError(`there is no account ${aid} now`, { path: 'aid' })
}

/** A subscriber whose products may have the counted groups. */
interface Holder {
  profile: SubscriberProfile
  products: ActiveProducts
}

async function countersOf(
  old: OldBalance,
  stores: MigrationStores,
  nowMs: number,
): Promise<MigratedPart[]> {
  const { row, balance, aid, sid } = old
  const { timeZone: zone, cycleDay } = stores.config.rating
  const cycle = cycleAt(nowMs, zone, cycleDay)
  const isOfService = !isUnset(row['service_name'])
  if (!isOfService) checkCycle(old, cycle, zone)
  const holders = await holdersOf(old, stores, nowMs)
  const parts: MigratedPart[] = []
  const groups = isEmpty(balance['groups']) ? {} : balance['groups']
  if (!isObject(groups)) throw fieldRule('balance.groups', 'must be an object')
  for (const name of Object.keys(groups)) {
    const counters = groupCounters(name, old, { holders, cycle, stores, nowMs })
    const [first] = counters
    if (first === undefined) {
      const whose = sid === 0 ? `account ${aid}` : `subscriber ${sid}`
      throw fieldRule(`balance.groups.${name}:`, `no offer of ${whose} has it now`)
    }
    const path = `balance.groups.${name}.${first.kind === 'units' ? 'usagev' : 'cost'}`
    const same = counters.filter(({ kind }) => kind === first.kind)
    parts.push(...spread(countedAt(balance, path, first.kind), same, { aid, sid }))
  }
  const [holder] = holders
  const isCreditUsed = !isOfService && sid !== 0 && !isUnset(balance['cost'])
  if (isCreditUsed && holder?.products.plan.connectionType === 'postpaid') {
    const total = holder.profile.creditLimit ?? UNLIMITED_TOTAL
    const { fromMs, toMs } = cycle
    const credit = { counter: CREDIT, kind: 'totalCost', fromMs, toMs, total, owner: 0 } as const
    parts.push(...spread(countedAt(balance, 'balance.cost', 'totalCost'), [credit], { aid, sid }))
  }
  return parts
}

/** Usage counts in cycles of the same length and begin, or not at all. */
function checkCycle({ fromMs, toMs }: OldBalance, cycle: Cycle, zone: string): void {
  if (fromMs === cycle.fromMs && toMs === cycle.toMs) return
  const dates = `${dateText(cycle.fromMs, zone)} to ${dateText(cycle.toMs, zone)}`
  throw new EntityRuleError(`from and to must be those of the current cycle: ${dates}`, {
    path: 'from',
  })
}

/** The subscriber; for what an account shares, all its subscribers. */
async function holdersOf(
  { aid, sid }: OldBalance,
  { catalog, catalogue, config }: MigrationStores,
  nowMs: number,
): Promise<Holder[]> {
  const { timeZone: zone, cycleDay } = config.rating
  const sids = sid === 0 ? await subscribersOf(catalog, aid, nowMs) : [sid]
  const holders: Holder[] = []
  for (const one of sids) {
    const query = { key: 'sid', value: String(one), atMs: nowMs }
    const profile = (await findProfile(catalog, query, () => true))?.profile
    if (profile === undefined || profile.aid !== aid) continue
    const products = activeProductsAt(catalogue, profile, nowMs, { zone, cycleDay })
    if (products !== null) holders.push({ profile, products })
    else if (sid !== 0)
      throw new EntityRuleError(`plan ${profile.plan} is not in force now`, 'refused')
  }
  if (holders.length > 0) return holders
  const who = sid === 0 ? `account ${aid} has no subscriber` : `there is no subscriber ${sid}`
  throw new EntityRuleError(`${who}${sid === 0 ? '' : ` of account ${aid}`} now`, 'refused')
}

async function subscribersOf(
  catalog: MigrationStores['catalog'],
  aid: number,
  nowMs: number,
): Promise<number[]> {
  const now = new Date(nowMs)
  const filter = { type: 'subscriber' as const, aid, from: { $lte: now }, to: { $gt: now } }
  const found = await catalog.subscribers
    .find({ ...filter, deleted: { $ne: true } }, { projection: { _id: 0, sid: 1 } })
    .toArray()
  return (found as Fields[]).map(({ sid }) => Number(sid))
}

interface CounterContext {
  holders: readonly Holder[]
  cycle: Cycle
  stores: MigrationStores
  nowMs: number
}

/** The counters of a group, of the first subscriber that has it. */
function groupCounters(
  name: string,
  { row, sid }: OldBalance,
  { holders, cycle, stores: { catalogue, config }, nowMs }: CounterContext,
): RequiredCounter[] {
  const { timeZone: zone, cycleDay } = config.rating
  const { service_name: service } = row
  const serviceId = integerOf(row['priority']) ?? 0
  for (const { profile, products } of holders) {
    const offers = products.offers.filter((offer) => {
      if (isUnset(service)) return offer.period === null
      return offer.name === service && (serviceId === 0 || offer.serviceId === serviceId)
    })
    const calendar = { zone, cycleDay }
    const query = { catalogue, calendar, profile, products, cycle, atMs: nowMs }
    const owner = sid === 0 ? 1 : 0
    const counters = countersNamed(name, offers, query).filter((one) => one.owner === owner)
    if (counters.length > 0) return counters
  }
  return []
}

/** Several offers may have a group of this name: each one is used up before the next. */
function spread(
  counted: number,
  counters: readonly RequiredCounter[],
  owner: SessionLocation,
): MigratedPart[] {
  let rest = counted
  return counters.flatMap((counter, index) => {
    const isLast = index === counters.length - 1
    const part = isLast ? rest : Math.min(rest, counter.total)
    rest -= part
    return part === 0 ? [] : [{ ...partOf(counter), counted: part, ...owner }]
  })
}

function partOf({ counter, kind, fromMs, toMs, total }: RequiredCounter) {
  const limit = total === 0 ? EMPTY_LIMIT : total
  const terms = { prepaidIncludeId: 0, kind, usaget: '', priority: 0, fromMs, toMs, limit, counter }
  return { mode: 'transfer_in', terms, amount: 0 } as const
}
