/** Owner selection of the balance commands, and the text form of balances. */
import { currencyName, type MoneyFormat, moneyFormat } from '../billing/currency.ts'
import { subscriberAt } from '../billing/customer-lookup.ts'
import { type Bucket, debtOf, freeAt, hasEnded, type OwnerState } from '../domain/bucket.ts'
import { decimalText } from '../domain/money.ts'
import { FOREVER_MS } from '../domain/time.ts'
import { CommandError, UsageError } from './errors.ts'
import { type OptionValues, optionalNumber } from './options.ts'
import type { Stores } from './stores.ts'

export interface OwnerSelector {
  /** Undefined if the owner is the account. */
  sid: number | undefined
  aid: number | undefined
}

/** Accepts either `--sid` or `--aid`. Throws `UsageError`. */
export function ownerSelector(options: OptionValues): OwnerSelector {
  const sid = optionalNumber(options, 'sid')
  const aid = optionalNumber(options, 'aid')
  if ((sid === undefined) === (aid === undefined)) {
    throw new UsageError('give --sid for a subscriber, or --aid for what an account shares')
  }
  return { sid, aid }
}

/** The stores that know accounts and subscribers. */
export interface CustomerStores extends Pick<Stores, 'catalog'> {
  readonly accounts: Pick<Stores['accounts'], 'lookup'>
}

/** The current account of a subscriber. Throws `CommandError` if there is no such subscriber. */
export async function accountOf(
  { catalog, accounts }: CustomerStores,
  sid: number,
  atMs: number,
): Promise<number> {
  const { lookup } = accounts
  const subscriber = await subscriberAt({ catalog, lookup }, sid, atMs)
  if (subscriber === null) throw new CommandError(`there is no subscriber ${sid} now`)
  return subscriber.aid
}

/** Units as an integer, money as a decimal with its currency. */
export function amountText(kind: Bucket['kind'], amount: number, money: MoneyFormat): string {
  return kind === 'units' ? String(amount) : money(decimalText(amount))
}

/** JSON of an owner: units, and money as decimals; credit is positive. */
export function ownerJson(owner: OwnerState, nameOf: (id: number) => string, nowMs: number) {
  return {
    aid: owner.aid,
    sid: owner.sid,
    version: owner.version,
    debt: Number(decimalText(debtOf(owner))),
    buckets: owner.buckets.map((bucket) => {
      const format = (amount: number) => Number(amountText(bucket.kind, amount, String))
      return {
        id: bucket.id,
        include: bucket.prepaidIncludeId,
        name: nameOf(bucket.prepaidIncludeId),
        kind: bucket.kind === 'units' ? 'units' : 'money',
        usaget: bucket.usaget,
        ...(bucket.counter === '' ? {} : { counter: bucket.counter }),
        free: format(freeAt(bucket, nowMs)),
        ...(hasEnded(bucket, nowMs) ? { lapsed: format(bucket.free) } : {}),
        reserved: format(bucket.reserved),
        spent: format(bucket.spent),
        credited: format(bucket.credited),
        limit: format(bucket.limit),
        from: new Date(bucket.fromMs).toISOString(),
        to: new Date(bucket.toMs).toISOString(),
      }
    }),
  }
}

/** The table of an owner's balances; one column names the currency (`currencyCode`: numeric). */
export function ownerText(
  owner: OwnerState,
  nameOf: (id: number) => string,
  nowMs: number,
  currencyCode: number,
): string[] {
  const who = owner.sid === 0 ? 'shared by account' : `subscriber ${owner.sid} of account`
  const head = ['include', 'for', 'free', 'reserved', 'spent', 'credited', 'ends']
  const currency = currencyName(currencyCode) ?? 'money'
  const money = moneyFormat(currencyCode)
  const rows = owner.buckets.map((bucket) => {
    const format = (amount: number) => amountText(bucket.kind, amount, String)
    const { prepaidIncludeId: id, kind, usaget, counter } = bucket
    return [
      counter === '' ? `${id} ${nameOf(id)}`.trim() : counter,
      kind === 'units' ? usaget || 'units' : `${currency}${usaget === '' ? '' : ` for ${usaget}`}`,
      ...[freeAt(bucket, nowMs), bucket.reserved, bucket.spent, bucket.credited].map(format),
      endText(bucket, nowMs, money),
    ]
  })
  const debt = debtOf(owner)
  return [
    `${who} ${owner.aid}`,
    ...(rows.length === 0 ? ['  no balances'] : aligned([head, ...rows])),
    ...(debt > 0 ? [`  debt ${money(decimalText(debt))}`] : []),
  ]
}

function endText(bucket: Bucket, nowMs: number, money: MoneyFormat): string {
  const { toMs, kind, free } = bucket
  if (toMs >= FOREVER_MS) return 'never'
  const end = new Date(toMs).toISOString()
  return hasEnded(bucket, nowMs) ? `${end}, ${amountText(kind, free, money)} lapsed` : end
}

/** Rows with aligned columns. */
export function aligned(rows: readonly string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  return rows.map((row) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd(),
  )
}
