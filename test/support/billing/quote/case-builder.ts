/** Builds cases of the tariff bench. */
import { type QuoteResult, quoteCase } from '../../../../src/billing/quote/quote-case.ts'

export type Json = Record<string, unknown>

/** A price of one tier without an end, `ceil` in whole intervals. */
export function perUnit(price: number, interval = 1): Json {
  return { rate: [{ from: 0, to: 'UNLIMITED', interval, price }] }
}

export function rate(key: string, usaget: string, base: Json, more: Json = {}): Json {
  return { key, rates: { [usaget]: { BASE: base } }, ...more }
}

/** A subscriber of plan P; calls at T01 cost 0.01 for each unit. */
export function quoteCaseOf({ catalogue = {}, ...more }: { catalogue?: Json } & Json = {}): Json {
  return {
    name: 'a story',
    catalogue: {
      rates: [rate('T01', 'call', perUnit(0.01))],
      plans: [{ name: 'P' }],
      ...catalogue,
    },
    subscriber: { sid: 1, aid: 1, plan: 'P' },
    events: [call(61)],
    ...more,
  }
}

export function call(usagev: number, more: Json = {}): Json {
  return { usaget: 'call', usagev, rate: 'T01', urt: '2026-01-05T18:31:05Z', ...more }
}

/** The wallet that most cases are paid from. */
export const WALLET = { external_id: 7, charging_by: 'total_cost' }

export function wallet(value: number): Json {
  return { pp_includes_external_id: 7, value }
}

/** A case with money in a wallet. */
export function prepaid(money: number, more: { catalogue?: Json } & Json = {}): Json {
  const { catalogue = {}, ...rest } = more
  return quoteCaseOf({
    catalogue: { prepaidincludes: [WALLET], ...catalogue },
    subscriber: { plan: 'P', buckets: [wallet(money)] },
    ...rest,
  })
}

/** The given fields of each event result. */
export function eventFields(value: Json, ...fields: string[]): unknown[] {
  return resultsOf(value).map((result) => fields.map((field) => (result as unknown as Json)[field]))
}

/** Throws if the case is broken. */
export function resultsOf(value: Json): QuoteResult['results'] {
  const { results, error } = quoteCase(value)
  if (error !== undefined) throw new Error(`${error.field} ${error.why}`)
  return results
}
