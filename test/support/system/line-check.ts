/**
 * Checks of a single line: units and money add up, and the price is that of the rate.
 */
import { type Kind, type Mix, PLANS } from './mixed.ts'

export interface PaymentView {
  owner: string
  bucket_id: number
  counter?: string
  usagev?: number
  cost_micros?: number
  limit_micros?: number
}

export interface LineView {
  stamp: string
  v: number
  late: boolean
  sid: number
  aid: number
  session_id: string
  rating_group: number | null
  usaget: string
  arate_key: string
  plan: string
  /** Cycle key, YYYYMM. */
  billrun: string
  usagev: number
  in_group: number
  over_group: number
  out_group: number
  priced_usagev: number
  group_cost_micros: number
  aprice_micros: number
  debt_micros: number
  account_debt_micros: number
  payments: PaymentView[]
}

interface Price {
  interval: number
  micros: number
  access: number
}

/** Prices of the demo catalogue: micros per interval, access. Deliberately duplicated here. */
const PRICES: Readonly<Record<string, Price>> = {
  DATA: { interval: 1_048_576, micros: 10_000, access: 0 },
  DATA_10: { interval: 1_048_576, micros: 2_000, access: 0 },
  CALL: { interval: 60, micros: 100_000, access: 50_000 },
  SMS: { interval: 1, micros: 40_000, access: 0 },
}

/** Micros for started intervals; `access` if any units are charged. Null for an unknown rate. */
export function priceAt(rateKey: string, units: number, access: boolean): number | null {
  const price = PRICES[rateKey]
  if (price === undefined) return null
  const begun = Math.ceil(units / price.interval)
  return begun * price.micros + (access && begun > 0 ? price.access : 0)
}

/** Units and micros by funding source. */
interface Paid {
  groupUnits: number
  groupMicros: number
  bucketUnits: number
  bucketMicros: number
  creditMicros: number
  /** Micros counted against the limit of the account. */
  limitMicros: number
}

function paidOf({ payments }: LineView): Paid {
  const paid = {
    groupUnits: 0,
    groupMicros: 0,
    bucketUnits: 0,
    bucketMicros: 0,
    creditMicros: 0,
    limitMicros: 0,
  }
  for (const { counter = '', usagev = 0, cost_micros = 0, limit_micros = 0 } of payments) {
    paid.limitMicros += limit_micros
    if (counter === 'credit') paid.creditMicros += cost_micros
    else if (counter === '') {
      paid.bucketUnits += usagev
      paid.bucketMicros += cost_micros
    } else {
      paid.groupUnits += usagev
      paid.groupMicros += cost_micros
    }
  }
  return paid
}

/** Every difference of one line of a subscriber of this kind. */
export function lineDifferences(line: LineView, kind: Kind, mix: Mix): string[] {
  const found: string[] = []
  const equal = (what: string, one: number | string, other: number | string) => {
    if (one !== other) found.push(`line ${line.stamp} ${what}: ${one}, expected ${other}`)
  }
  const { usagev, in_group, over_group, out_group, aprice_micros, debt_micros } = line
  const paid = paidOf(line)
  equal('plan', line.plan, PLANS[kind])
  equal('units', in_group + over_group + out_group, usagev)
  const isMeant = mix.grouped[kind].includes(line.usaget)
  equal(isMeant ? 'out of groups' : 'over groups', isMeant ? out_group : over_group, 0)
  if (!isMeant) equal('in groups', in_group, 0)
  const covered = in_group - paid.groupUnits
  if (covered < 0) found.push(`line ${line.stamp}: groups paid ${-covered} units too many`)
  const price = priceAt(line.arate_key, covered, false)
  if (price === null) return [...found, `line ${line.stamp}: rate ${line.arate_key} unexpected`]
  equal('money of groups', paid.groupMicros, price)
  equal('money of groups, as it says', line.group_cost_micros, price)
  const priced = over_group + out_group - paid.bucketUnits
  equal('priced units', line.priced_usagev, priced)
  equal('price', aprice_micros, priceAt(line.arate_key, priced, true) ?? 0)
  const isPostpaid = kind === 'postpaid'
  equal('money', paid.creditMicros + paid.bucketMicros + debt_micros, aprice_micros)
  equal('credit', paid.creditMicros, isPostpaid ? aprice_micros : 0)
  equal('account limit', paid.limitMicros, isPostpaid ? aprice_micros : 0)
  if (isPostpaid) equal('units of buckets', paid.bucketUnits, 0)
  return found
}
