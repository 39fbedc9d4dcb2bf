/** The report of a rebuild, as text and as JSON. Money is in decimals; credit is positive. */
import type { MoneyFormat } from '../../billing/currency.ts'
import { debtOf } from '../../domain/bucket.ts'
import { decimalText } from '../../domain/money.ts'
import { amountText } from '../owners.ts'
import type { RestoredOwner } from './account-records.ts'
import type { Loss, RestoredBucket } from './bucket-records.ts'
import type { RestoredAccount } from './rebuild.ts'

/** Sums of one kind; units of all usage types are added up. */
export interface Amounts {
  credited: number
  spent: number
  /** Was reserved by sessions and is available again. */
  voided: number
  free: number
  /** By how much lines exceeded the projection. */
  creditedAhead: number
  spentAhead: number
}

export interface Totals {
  accounts: number
  owners: number
  buckets: number
  /** Counters of included units, included money and credit limits; their amounts are in no sum. */
  counters: number
  lines: number
  operations: number
  /** Money in micros. */
  money: Amounts
  units: Amounts
  debt: number
  debtAhead: number
  losses: number
}

export function emptyTotals(): Totals {
  return {
    accounts: 0,
    owners: 0,
    buckets: 0,
    counters: 0,
    lines: 0,
    operations: 0,
    money: noAmounts(),
    units: noAmounts(),
    debt: 0,
    debtAhead: 0,
    losses: 0,
  }
}

function noAmounts(): Amounts {
  return { credited: 0, spent: 0, voided: 0, free: 0, creditedAhead: 0, spentAhead: 0 }
}

export function addAccount(totals: Totals, account: RestoredAccount): void {
  totals.accounts += 1
  totals.lines += account.lines
  totals.operations += account.operations
  for (const owner of account.owners) addOwner(totals, owner)
}

function addOwner(totals: Totals, { state, buckets, debtAhead, losses }: RestoredOwner): void {
  totals.losses += losses.length
  totals.debtAhead += debtAhead
  if (state === null) return
  totals.owners += 1
  totals.debt += debtOf(state)
  const counters = buckets.filter(({ bucket }) => bucket.counter !== '')
  totals.counters += counters.length
  totals.buckets += buckets.length - counters.length
  for (const { bucket, voided, ahead } of buckets) {
    if (bucket.counter !== '') continue
    const amounts = bucket.kind === 'units' ? totals.units : totals.money
    amounts.credited += bucket.credited
    amounts.spent += bucket.spent
    amounts.voided += voided
    amounts.free += bucket.free
    amounts.creditedAhead += ahead.credited
    amounts.spentAhead += ahead.spent
  }
}

/** One line per account, one per bucket that differs from its projection, one per loss. */
export function accountLines(account: RestoredAccount, money: MoneyFormat): string[] {
  const totals = emptyTotals()
  addAccount(totals, account)
  const lines = [`account ${account.aid}: ${totalsText(totals, money)}`]
  for (const { state, buckets, debtAhead, losses } of account.owners) {
    const sid = state?.sid ?? losses[0]?.sid ?? 0
    for (const bucket of buckets) lines.push(...bucketLines(sid, bucket, money))
    if (debtAhead > 0) {
      const more = money(decimalText(debtAhead))
      lines.push(`  ${ownerText(sid)}: lines have ${more} more debt`)
    }
    for (const loss of losses) lines.push(`  ${lossText(loss, money)}`)
  }
  return lines
}

function bucketLines(
  sid: number,
  { bucket, ahead, isNew }: RestoredBucket,
  money: MoneyFormat,
): string[] {
  if (!isNew && ahead.credited === 0 && ahead.spent === 0) return []
  const format = (amount: number) => amountText(bucket.kind, amount, money)
  const how = isNew ? 'rebuilt from lines' : 'lines are ahead of its projection'
  const change = `credited ${format(ahead.credited)}, spent ${format(ahead.spent)} more`
  return [`  ${ownerText(sid)}, bucket ${bucket.id}: ${how}: ${change}`]
}

function lossText({ sid, bucket, what, amount, isMoney }: Loss, money: MoneyFormat): string {
  const where = bucket === null ? ownerText(sid) : `${ownerText(sid)}, bucket ${bucket}`
  return `${where}: ${what}: ${isMoney ? money(decimalText(amount)) : amount}`
}

function ownerText(sid: number): string {
  return sid === 0 ? 'shared' : `subscriber ${sid}`
}

export function totalsText(totals: Totals, moneyText: MoneyFormat): string {
  const { owners, buckets, counters, lines, money, units, debt, losses } = totals
  const ofMoney = (micros: number) => moneyText(decimalText(micros))
  const counted = counters > 0 ? `, counters ${counters}` : ''
  return [
    `owners ${owners}, buckets ${buckets}${counted}, lines ${lines}`,
    ...amountsText('money', money, ofMoney),
    ...amountsText('units', units, String),
    ...(debt > 0 ? [`debt ${ofMoney(debt)}`] : []),
    ...(losses > 0 ? [`losses ${losses}`] : []),
  ].join('; ')
}

function amountsText(name: string, amounts: Amounts, format: (amount: number) => string): string[] {
  const { credited, spent, free, voided } = amounts
  if (credited === 0 && spent === 0) return []
  const note = voided > 0 ? ` (${format(voided)} was reserved)` : ''
  return [
    `${name} credited ${format(credited)}, spent ${format(spent)}, free ${format(free)}${note}`,
  ]
}

/** JSON of one account. */
export function accountJson(account: RestoredAccount) {
  const totals = emptyTotals()
  addAccount(totals, account)
  const { accounts: _, ...sums } = totalsJson(totals)
  return {
    aid: account.aid,
    ...sums,
    lost: account.owners.flatMap(({ losses }) =>
      losses.map(({ sid, bucket, what, amount, isMoney }) => ({
        sid,
        bucket,
        what,
        amount: isMoney ? decimalOf(amount) : amount,
        kind: isMoney ? 'money' : 'units',
      })),
    ),
    balances: account.owners.flatMap(({ state, buckets }) =>
      buckets.map((restored) => bucketJson(state?.sid ?? 0, restored)),
    ),
  }
}

function bucketJson(sid: number, { bucket, voided, ahead, isNew }: RestoredBucket) {
  const { id, prepaidIncludeId: include, kind, usaget, counter } = bucket
  const isMoney = kind !== 'units'
  const format = (amount: number) => (isMoney ? decimalOf(amount) : amount)
  return {
    sid,
    bucket: id,
    include,
    kind: isMoney ? 'money' : 'units',
    usaget,
    ...(counter === '' ? {} : { counter }),
    credited: format(bucket.credited),
    spent: format(bucket.spent),
    voided: format(voided),
    free: format(bucket.free),
    credited_ahead: format(ahead.credited),
    spent_ahead: format(ahead.spent),
    anew: isNew,
  }
}

export function totalsJson({ accounts, money, units, debt, debtAhead, ...rest }: Totals) {
  return {
    accounts,
    ...rest,
    money: amountsJson(money, decimalOf),
    units: amountsJson(units, (amount) => amount),
    debt: decimalOf(debt),
    debt_ahead: decimalOf(debtAhead),
  }
}

function amountsJson(amounts: Amounts, format: (amount: number) => number) {
  return {
    credited: format(amounts.credited),
    spent: format(amounts.spent),
    voided: format(amounts.voided),
    free: format(amounts.free),
    credited_ahead: format(amounts.creditedAhead),
    spent_ahead: format(amounts.spentAhead),
  }
}

function decimalOf(micros: number): number {
  return Number(decimalText(micros))
}
