/** Inputs of accounts for tests of the cycle. */
import { expect } from 'vitest'
import { accountCharges } from '../../../src/billing/cycle/account-charges.ts'
import type { Timing } from '../../../src/billing/cycle/charges.ts'
import { type AccountInvoice, computeAccount } from '../../../src/billing/cycle/compute.ts'
import { type BillingCalendar, cycleSpan, keyAfter } from '../../../src/billing/cycle/cycle-key.ts'
import type {
  AccountCycle,
  CycleSettings,
  StoredRevision,
} from '../../../src/billing/cycle/input.ts'
import type { ChargeLine } from '../../../src/billing/cycle/lines.ts'
import { dueCharges } from '../../../src/billing/cycle/target.ts'
import { holdersOf } from '../../../src/billing/cycle/timeline.ts'
import { FOREVER_MS, parseInstant } from '../../../src/domain/time.ts'
import type { TaxContext } from '../../../src/rating/price.ts'
import { taxationOf } from './cycle.ts'

export const CALENDAR: BillingCalendar = { zone: 'Asia/Jerusalem', cycleDay: 1 }
const AID = 1

export const SETTINGS: CycleSettings = {
  currencyCode: 826,
  calendarMonthFractions: false,
  chargeIncludedServices: true,
  reconcileRequiresPreviousRun: false,
  fullFraction: false,
  generateZeroRefunds: false,
  correctTax: false,
  preponeOnTermination: true,
}

/** Local time of the calendar. */
export function date(text: string, { zone } = CALENDAR): Date {
  const atMs = parseInstant(text, zone)
  if (atMs === null) throw new RangeError(`${text} is not a date`)
  return new Date(atMs)
}

const FOREVER = new Date(FOREVER_MS)

/** 17 % on everything, at any time. */
const VAT: TaxContext = (() => {
  const { taxes, ...context } = taxationOf()
  const always = [...taxes].map(
    ([key, revisions]) => [key, revisions.map((one) => ({ ...one, fromMs: 0 }))] as const,
  )
  return { ...context, taxes: new Map(always) }
})()

type Fields = Readonly<Record<string, unknown>>

/** `price`: of every cycle, or tiers [from, to, price]; `to` null is unlimited. */
export function offer(
  name: string,
  price: number | readonly (readonly [number, number | null, number])[],
  more: Fields = {},
): StoredRevision {
  const tiers = typeof price === 'number' ? [[0, null, price] as const] : price
  return {
    _id: name,
    name,
    from: date('2010-01-01'),
    to: FOREVER,
    recurrence: { frequency: 1, start: 1 },
    price: tiers.map(([from, to, amount]) => ({ from, to: to ?? 'UNLIMITED', price: amount })),
    ...more,
  }
}

export interface SubscriberTimes {
  readonly from: string
  /** End of the subscriber. */
  readonly to?: string
}

/** One revision; `more` replaces fields. */
export function subscriber(
  plan: string,
  { from, to }: SubscriberTimes,
  more: Fields = {},
  calendar = CALENDAR,
): StoredRevision {
  const end = to === undefined ? FOREVER : date(to, calendar)
  const begin = date(from, calendar)
  return {
    type: 'subscriber',
    aid: AID,
    sid: 2,
    from: begin,
    to: end,
    plan,
    plan_activation: begin,
    activation_date: begin,
    deactivation_date: end,
    ...more,
  }
}

/** One subscriber with a plan, since and until these days. */
export const subscribed = (plan: string, from: string, to?: string) => [
  subscriber(plan, to === undefined ? { from } : { from, to }),
]

export interface Given {
  readonly key: string
  readonly plans?: readonly StoredRevision[]
  readonly services?: readonly StoredRevision[]
  readonly discounts?: readonly StoredRevision[]
  readonly charges?: readonly StoredRevision[]
  readonly subscribers?: readonly StoredRevision[]
  /** In other accounts. */
  readonly elsewhere?: readonly StoredRevision[]
  readonly account?: Fields
  readonly prior?: readonly Fields[]
  readonly taxation?: TaxContext
  readonly settings?: Partial<CycleSettings>
  readonly calendar?: BillingCalendar
  readonly more?: Partial<AccountCycle>
}

export function accountCycle(given: Given): AccountCycle {
  const { key, calendar = CALENDAR, prior: written = [] } = given
  const stored = { type: 'account', aid: AID, from: date('2010-01-01'), to: FOREVER }
  const account: StoredRevision[] = [{ ...stored, ...given.account }]
  const subscribers = given.subscribers ?? []
  return {
    aid: AID,
    calendar,
    cycle: cycleSpan(key, calendar),
    late: [],
    next: cycleSpan(keyAfter(key), calendar),
    account,
    subscribers,
    catalogue: {
      plans: byName(given.plans, 'name'),
      services: byName(given.services, 'name'),
      discounts: byName(given.discounts, 'key'),
      charges: byName(given.charges, 'key'),
      taxation: given.taxation ?? VAT,
    },
    prior: written,
    ...elsewhereOf(given),
    periods: { account, subscribers, ...elsewhereOf(given), prior: written, runs: [] },
    hasPreviousRun: written.length > 0,
    lines: [],
    laterInstallments: [],
    mergedInstallments: [],
    settings: { ...SETTINGS, ...given.settings },
    nowMs: 0,
    ...given.more,
  }
}

function elsewhereOf({ elsewhere }: Given): Pick<Given, 'elsewhere'> {
  return elsewhere === undefined ? {} : { elsewhere }
}

function byName(all: readonly StoredRevision[] = [], field: string) {
  const found = new Map<string, StoredRevision[]>()
  for (const each of all) {
    const name = String(each[field])
    found.set(name, [...(found.get(name) ?? []), each])
  }
  return found
}

/** The wanted charges of the cycle, or (`ahead`) of the next one. */
export function expected(given: Given, timing: Timing = 'arrears'): ChargeLine[] {
  const { aid, calendar, catalogue, settings, account, subscribers, cycle, next } =
    accountCycle(given)
  const holders = holdersOf({ account, subscribers }, calendar.zone)
  const target = { aid, calendar, catalogue, settings }
  return dueCharges(target, holders, timing === 'ahead' ? next : cycle, timing)
}

/** The charges of a run, with the longer periods and what it charges ahead. */
export function charged(given: Given): readonly ChargeLine[] {
  const input = accountCycle(given)
  return accountCharges(input, holdersOf(input, input.calendar.zone)).charges
}

export function total(lines: readonly { readonly amount: { toNumber(): number } }[]): number {
  return lines.reduce((sum, { amount }) => sum + amount.toNumber(), 0)
}

/** Throws if the account has no invoice. */
export function compute(given: Given): AccountInvoice {
  const invoice = computeAccount(accountCycle(given))
  if (invoice === null) throw new Error('no invoice')
  return invoice
}

/** Totals before and after tax. */
export function totals(given: Given): [number, number] {
  const { before_vat, after_vat } = compute(given).invoice.totals
  return [before_vat, after_vat]
}

/** Within 1e-6: the published totals are binary, those of 58 differ by 9e-7. */
export function isClose(found: readonly number[], before: number, after: number): void {
  const differences = [before - (found[0] ?? 0), after - (found[1] ?? 0)].map(Math.abs)
  expect(Math.max(...differences)).toBeLessThan(1e-6)
}

/** A discount in force. */
export function adjustment(key: string, more: object): StoredRevision {
  return { key, from: date('2010-01-01'), to: date('2170-01-01'), ...more }
}

/** Conditions that subscribers with one of these plans meet. */
export const ofPlan = (...names: string[]) => ({
  conditions: [{ subscriber: [{ fields: [{ field: 'plan', op: 'in', value: names }] }] }],
})
export const ofService = (name: string) => ({
  conditions: [
    {
      subscriber: [
        { service: { any: [{ fields: [{ field: 'name', op: 'in', value: [name] }] }] } },
      ],
    },
  ],
})

/** Name, amount, and the period with its factor of each charge. */
export function shown(lines: readonly ChargeLine[]) {
  return lines.map(({ name, amount, explain }) => [
    name,
    Number(amount.toFixed(6)),
    `${explain.from} ${explain.to} ${explain.factor}`,
  ])
}
