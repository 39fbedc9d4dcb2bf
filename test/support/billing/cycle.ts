/** Charges, discounts and holders of one cycle, built by hand. */
import { moneyFormat } from '../../../src/billing/currency.ts'
import { keyEndMs, keyStartMs } from '../../../src/billing/cycle/cycle-key.ts'
import {
  type AdjustmentInput,
  adjustmentsOf,
} from '../../../src/billing/cycle/discount/adjustments.ts'
import type {
  DiscountedSubscriber,
  HolderRevision,
} from '../../../src/billing/cycle/discount/eligibility.ts'
import { RunLimits } from '../../../src/billing/cycle/discount/limits.ts'
import type { AdjustmentLine, ChargeLine, CycleSpan } from '../../../src/billing/cycle/lines.ts'
import {
  type ChargeTaxation,
  type RuledLine,
  taxAdjustment,
  taxCharge,
} from '../../../src/billing/cycle/tax.ts'
import { compileTerms } from '../../../src/catalog/compile/discount.ts'
import { compileTax } from '../../../src/catalog/compile/tax.ts'
import { Exact } from '../../../src/catalog/records/money/exact-amount.ts'
import type { Fields } from '../../../src/domain/fields.ts'
import { FOREVER_MS, parseInstant } from '../../../src/domain/time.ts'
import { documentOf } from '../entities/rules/context.ts'

export function atMs(text: string, zone = 'UTC'): number {
  const ms = parseInstant(text, zone)
  if (ms === null) throw new Error(`${text} is not a date`)
  return ms
}

export function cycleOf(key: string, zone = 'UTC', cycleDay = 1): CycleSpan {
  const calendar = { zone, cycleDay }
  const [startMs, endMs] = [keyStartMs(key, calendar), keyEndMs(key, calendar)]
  return { key, zone, startMs, endMs, days: Math.round((endMs - startMs) / 86_400_000) }
}

export interface GivenCharge {
  sid?: number
  kind?: ChargeLine['kind']
  name: string
  from?: string
  to?: string
  fullPrice?: number | string
  /** The part of the full price by default. */
  amount?: number | string
  quantity?: number
  isUpfront?: boolean
  prorated?: [start: boolean, end: boolean]
  op?: ChargeLine['op']
  entity?: Fields
}

export function chargeOf(cycle: CycleSpan, given: GivenCharge): ChargeLine {
  const { sid = 1, kind = 'flat', name, from, to, quantity = 1, entity = {} } = given
  const startMs = from === undefined ? cycle.startMs : atMs(from, cycle.zone)
  const endMs = to === undefined ? cycle.endMs : atMs(to, cycle.zone)
  const fullPrice = new Exact(given.fullPrice ?? 100)
  const days = Math.ceil((endMs - startMs) / 86_400_000 - 0.05)
  const [isProratedStart, isProratedEnd] = given.prorated ?? [true, true]
  const part = fullPrice.times(quantity).times(days).div(cycle.days).toDecimalPlaces(12)
  return {
    id: `${sid}/${kind}/${name}/${startMs}`,
    aid: 1,
    sid,
    kind,
    name,
    plan: name,
    op: given.op ?? 'charge',
    isUpfront: given.isUpfront ?? false,
    span: { startMs, endMs },
    cycle,
    quantity,
    fullPrice,
    amount: given.amount === undefined ? part : new Exact(given.amount),
    isProratedStart,
    isProratedEnd,
    entity,
    explain: { rule: 'test', entity: { kind: 'plan', key: name }, from: '', to: '' },
  }
}

export interface GivenRevision extends Fields {
  from?: string
  to?: string
}

export function revisionOf({ from, to, ...document }: GivenRevision, zone = 'UTC'): HolderRevision {
  const startMs = from === undefined ? 0 : atMs(from, zone)
  const endMs = to === undefined ? FOREVER_MS : atMs(to, zone)
  return { span: { startMs, endMs }, document }
}

export function subscriberOf(
  sid: number,
  revisions: readonly GivenRevision[],
  zone = 'UTC',
): DiscountedSubscriber {
  return { sid, revisions: revisions.map((one) => revisionOf({ sid, ...one }, zone)) }
}

export interface GivenRun {
  cycle: CycleSpan
  discounts?: readonly Fields[]
  charges?: readonly Fields[]
  lines: readonly ChargeLine[]
  account?: readonly GivenRevision[]
  /** Revisions by `sid`; those of the lines, without fields, by default. */
  subscribers?: Readonly<Record<number, readonly GivenRevision[]>>
}

export function inputOf(run: GivenRun): AdjustmentInput {
  const { cycle, discounts = [], charges = [], lines, account = [{}] } = run
  const { zone } = cycle
  const sids = new Set(lines.map(({ sid }) => sid).filter((sid) => sid !== 0))
  const subscribers = run.subscribers ?? Object.fromEntries([...sids].map((sid) => [sid, [{}]]))
  return {
    aid: 1,
    cycle,
    lines,
    discounts: discounts.map((one) => compileTerms('discount', one, zone)),
    charges: charges.map((one) => compileTerms('conditional_charge', one, zone)),
    limits: new RunLimits(),
    money: moneyFormat(826),
    account: account.map((one) => revisionOf({ aid: 1, ...one }, zone)),
    subscribers: Object.entries(subscribers).map(([sid, revisions]) =>
      subscriberOf(Number(sid), revisions, zone),
    ),
  }
}

export function adjust(run: GivenRun): AdjustmentLine[] {
  return adjustmentsOf(inputOf(run))
}

/** Amounts with 6 decimals, where published ones are binary. */
export function amountsOf(lines: readonly AdjustmentLine[]): number[] {
  return lines.map(({ amount }) => amount.toDecimalPlaces(6).toNumber())
}

/** Conditions on fields of subscribers. */
export const onSubscriber = (...fields: Fields[]): Fields => ({ subscriber: [{ fields }] })
export const onPlan = (...value: string[]): Fields =>
  onSubscriber({ field: 'plan', op: 'in', value })
export const onAccount = (...fields: Fields[]): Fields => ({ account: { fields } })

/** Taxes by key with their rates; the first one is the default. */
export function taxationOf(
  rates: Readonly<Record<string, string>> = { DEFAULT_VAT: '0.17' },
  mapTax: ChargeTaxation['mapTax'] = () => null,
): ChargeTaxation {
  const taxes = new Map(
    Object.entries(rates).map(([key, rate]) => [key, [compileTax(documentOf({ key, rate }))]]),
  )
  return { taxes, defaultTax: Object.keys(rates)[0] ?? null, mapTax, atMs: atMs('2026-06-01') }
}

export interface TaxedRun {
  readonly charges: readonly RuledLine<ChargeLine>[]
  readonly adjustments: readonly RuledLine<AdjustmentLine>[]
}

export function taxed(run: GivenRun, taxation = taxationOf()): TaxedRun {
  const charges = run.lines.map((line) => taxCharge(line, taxation))
  const adjustments = adjust(run).map((line) => {
    const charge = charges.find((one) => one.line.id === line.eligibleLine)
    return taxAdjustment(line, charge ?? null, taxation)
  })
  return { charges, adjustments }
}

/** Sums of a run, with 6 decimals. */
export function totalsOf({ charges, adjustments }: TaxedRun): { before: number; after: number } {
  const all = [...charges, ...adjustments].map(({ tax }) => tax.exact)
  const sum = (amounts: readonly string[]) =>
    amounts.reduce((total, amount) => total.plus(amount), new Exact(0))
  return {
    before: sum(all.map(({ aprice }) => aprice))
      .toDecimalPlaces(6)
      .toNumber(),
    after: sum(all.map(({ final_charge: charge }) => charge))
      .toDecimalPlaces(6)
      .toNumber(),
  }
}
