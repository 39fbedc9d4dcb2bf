/** Prepares credits: checks them against the stored data and computes their lines. */

import { randomBytes } from 'node:crypto'
import type { Catalog } from '../../catalog/connection.ts'
import type { CreditLineDocument } from '../../catalog/records/usage/credit-line.ts'
import type { Config } from '../../config/schema.ts'
import { isCycleKey } from '../../domain/cycle.ts'
import { about } from '../../domain/field-errors.ts'
import { exactDecimal, toScale } from '../../domain/money.ts'
import { PriceRangeError } from '../../domain/tariff.ts'
import { currencyDigits } from '../currency.ts'
import type { CustomerLookup } from '../customer-lookup.ts'
import { activeKey, type BillingCalendar } from '../cycle/cycle-key.ts'
import type { TaxedLines } from './adjusted-taxes.ts'
import { creditCustomers } from './credit-customers.ts'
import {
  type CreditData,
  type LastKeys,
  rateAt,
  readCreditData,
  readPriceSubject,
} from './credit-data.ts'
import { creditLines, type PricedUsage } from './credit-lines.ts'
import { CreditProcessError, CreditRefusal, type CreditRequest } from './credit-request.ts'
import { usageLine } from './usage-price.ts'

export interface CreditStores {
  readonly catalog: Catalog
  readonly config: Pick<Config, 'rating' | 'billing'>
  readonly lookup: CustomerLookup
  readonly nowMs: number
}

/** Lines of one credit, or why it is refused. */
export type PreparedCredit = readonly CreditLineDocument[] | CreditRefusal | CreditProcessError

export interface PreparedCredits {
  /** In the order of the requests. */
  readonly credits: readonly PreparedCredit[]
  /** The closed cycles by which the cycles of the lines were chosen. */
  readonly lastKeys: LastKeys
}

type UsageRequest = Pick<CreditRequest, 'rateKey' | 'sid' | 'atMs' | 'usagev' | 'kind'>

/** Decimals of a volume that the prices of rates support. */
const VOLUME_DIGITS_MAX = 6

export function calendarOf({ rating }: Pick<Config, 'rating'>): BillingCalendar {
  return { zone: rating.timeZone, cycleDay: rating.cycleDay }
}

/**
 * The lines of each credit; nothing is written. `adjusted`: of a credit note, the taxes of its
 * invoices, which its lines get. Rejects only if a store or the customer system is
 * unavailable, or the stored settings are invalid.
 */
export async function prepareCredits(
  stores: CreditStores,
  requests: readonly CreditRequest[],
  adjusted: readonly TaxedLines[] = [],
): Promise<PreparedCredits> {
  const { catalog, config, lookup, nowMs } = stores
  const customers = await creditCustomers(lookup, requests, nowMs)
  const isStored = customers === null
  const query = {
    rateKeys: requests.map(({ rateKey }) => rateKey),
    sids: isStored ? requests.flatMap(({ sid }) => (sid === 0 ? [] : [sid])) : [],
    aids: isStored ? requests.flatMap(({ aid, sid }) => (sid === 0 ? [aid] : [])) : [],
    allAids: requests.map(({ aid }) => aid),
  }
  const data = { ...(await readCreditData(catalog, query, config.rating)), ...customers }
  const prepared: PreparedCredit[] = []
  for (const request of requests) {
    try {
      prepared.push(await prepareCredit(stores, data, request, adjusted))
    } catch (error) {
      if (!(error instanceof CreditRefusal || error instanceof CreditProcessError)) throw error
      prepared.push(error)
    }
  }
  return { credits: prepared, lastKeys: data.lastKeys }
}

async function prepareCredit(
  stores: CreditStores,
  data: CreditData,
  request: CreditRequest,
  adjusted: readonly TaxedLines[],
): Promise<CreditLineDocument[]> {
  const { config, nowMs } = stores
  const { rateKey, atMs, billrunKey, aprice } = request
  const documents = data.rates.get(rateKey) ?? []
  const current = rateAt(documents, nowMs)
  if (current === null) throw new CreditRefusal(`Rate doesn't exist`, { path: 'rate' })
  const calendar = calendarOf(config)
  const { taxation } = data
  const lastKey = data.lastKeys(request.aid)
  const isOfCycle = billrunKey !== null && isCycleKey(billrunKey)
  if (isOfCycle && lastKey !== null && billrunKey <= lastKey) {
    throw new CreditRefusal(
      ...about('billrun_key:', `the cycle ${billrunKey} has ended, it has invoices`),
    )
  }
  const subscriberAtMs = refuseUnknown(data, request)
  const rate = rateAt(documents, atMs) ?? current
  const [usaget = ''] = rate.usages.keys()
  return creditLines(request, {
    rate,
    usaget,
    usage: aprice === null ? await priceUsage(stores, data, request, usaget, subscriberAtMs) : null,
    taxation,
    adjusted,
    calendar,
    active: activeKey(lastKey, nowMs, config.billing.lateCycleDays, calendar),
    currencyDigits: currencyDigits(config.rating.currencyCode),
    nowMs,
    newStamp: () => randomBytes(16).toString('hex'),
  })
}

/**
 * An instant at which the subscriber exists, as near to the credit as possible.
 * Throws `CreditProcessError`.
 */
export function refuseUnknown(
  { subscribers, accounts }: CreditData,
  { aid, sid, atMs }: Pick<CreditRequest, 'aid' | 'sid' | 'atMs'>,
): number {
  if (sid === 0) {
    if (!accounts.has(aid))
      throw new CreditProcessError(...about('aid:', `there is no account ${aid}`))
    return atMs
  }
  const periods = subscribers.get(sid) ?? []
  const nearest =
    periods.find(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs) ??
    periods.findLast(({ toMs }) => toMs <= atMs) ??
    periods[0]
  if (nearest === undefined)
    throw new CreditProcessError(...about('sid:', `there is no subscriber ${sid}`))
  if (nearest.aid !== aid) {
    throw new CreditProcessError(
      ...about('sid:', `subscriber ${sid} does not belong to account ${aid}`),
    )
  }
  return Math.min(Math.max(atMs, nearest.fromMs), nearest.toMs - 1)
}

/** Throws `CreditProcessError`. */
export async function priceUsage(
  { catalog, config, lookup, nowMs }: CreditStores,
  { rates, taxation }: CreditData,
  { rateKey, sid, atMs, usagev, kind }: UsageRequest,
  usaget: string,
  subscriberAtMs: number,
): Promise<PricedUsage> {
  const decimal = exactDecimal(usagev.toFixed())
  const unitDigits = decimal?.scale ?? 0
  const units = decimal === null ? null : toScale(decimal, unitDigits)
  if (units === null || unitDigits > VOLUME_DIGITS_MAX) {
    throw new CreditProcessError(
      ...about('usagev:', `has more than ${VOLUME_DIGITS_MAX} decimals, or is too large`),
    )
  }
  const options = { isStrict: false, unitDigits }
  const documents = rates.get(rateKey) ?? []
  const rate = rateAt(documents, atMs, options) ?? rateAt(documents, nowMs, options)
  const subject =
    sid === 0 ? null : await readPriceSubject({ catalog, lookup }, sid, subscriberAtMs, options)
  if (rate === null || (sid !== 0 && subject === null)) {
    throw new CreditProcessError(...about('sid:', `the revision of subscriber ${sid} is invalid`))
  }
  const context = {
    catalogue: subject?.catalogue ?? { plans: new Map(), services: new Map() },
    profile: subject?.profile ?? null,
    taxation,
    calendar: calendarOf(config),
    nowMs,
    clockDifferenceMs: config.rating.eventFutureMsMax,
  }
  const signed = kind === 'refund' ? 0 - units : units
  try {
    const line = usageLine({ rate, usaget, units: signed, atMs }, context)
    if (typeof line !== 'string') return { line, unitDigits }
    throw new CreditProcessError(line, 'refused')
  } catch (error) {
    if (!(error instanceof PriceRangeError)) throw error
    throw new CreditProcessError(...about('usagev:', error.message))
  }
}
