/**
 * Published prices, taxes and grants as tables. A tier `0–10 1/2` is from 0 to 10 at 1 for each 2
 * units; `~` before it: in proportion. `published` rows come from the best-known public
 * implementation; if the rules of Tollgate differ, the row has the result of Tollgate.
 */
import type { PricingMethod } from '../../../../src/domain/pricing/models.ts'
import { readTable } from '../../domain/table.ts'
import type {
  BucketDocument,
  PrepaidIncludeDocument,
  PriceDocument,
  QuoteCase,
  RateDocument,
  RoundingDocument,
  TaxHint,
  TierDocument,
} from './case.ts'

const CHARGES = `
  | case                | tiers                                       | access | units | price    |
  |---------------------|---------------------------------------------|--------|-------|----------|
  | published volume 1  | 0–10 1/1; 0–1 100/1                         | 0      | 10    | 10       |
  | published volume 3  | 0–9 1/1; 0–1 100/1                          | 0      | 10    | 109      |
  | published volume 5  | 0–1 0.3/1                                   | 0      | 2     | 0.3      |
  | published volume 7  | 0–1 0.5/1; 1–4 0.5/1; 4–9 1.2/1             | 0      | 10    | 8        |
  | published volume 9  | 0–2.4 1/0.8; 0–5 2/4.2                      | 0      | 5     | 5        |
  | published volume 11 | 0–2 1/0.5; 2–6 1/3.5; 6–8 2/0.1             | 0      | 10    | 46       |
  | published volume 13 | 0–2 2.5/0.5; 2–8 1.25/1.5; 8–10 0.1/0.1     | 0      | 10    | 17       |
  | published volume 15 | 0–0.8 0.3/1; 0.7–2 1/0.1                    | 0      | 2     | 12.3     |
  | published volume 17 | 0–0.8 0.5/0.2; 1–3.5 0.2/0.5; 4.1–7.6 1/0.1 | 0      | 10    | 38       |
  | published volume 19 | ~ 0–10 1/10                                 | 0      | 1     | 0.1      |
  | published tariff 1  | 0–10 1/1; 0–1 100/1                         | 1000   | 10    | 1010     |
  | published tariff 3  | 0–1 0.5/1; 1–4 0.5/1                        | 0      | 10    | 2        |
  | published tariff 5  | 0–0.8 1/0.5                                 | 0      | 5     | 2        |
  | published tariff 7  | 0–5 2/4.2; 0–2.4 1/0.8                      | 0      | 5     | 4        |
  | published tariff 9  | 0.7–2 1/0.1                                 | 0      | 2     | 13       |
  | published tariff 11 | 0–0.8 0.5/0.2; 1–3.5 0.2/0.5; 4.1–7.6 1/0.1 | 0      | 10    | 38       |
  | published tariff 13 | 0–4 0.1/0.1; 0–6 0.8/1.1                    | 0      | 6     | 5.6      |
  | published local 1   | 0–60 0.1/1; 60–180 0.5/10; 180–∞ 2/60       | 0      | 1     | 0.1      |
  | published local 60  | 0–60 0.1/1; 60–180 0.5/10; 180–∞ 2/60       | 0      | 60    | 6        |
  | published local 61  | 0–60 0.1/1; 60–180 0.5/10; 180–∞ 2/60       | 0      | 61    | 6.5      |
  | published local 65  | 0–60 0.1/1; 60–180 0.5/10; 180–∞ 2/60       | 0      | 65    | 6.5      |
  | published local 180 | 0–60 0.1/1; 60–180 0.5/10; 180–∞ 2/60       | 0      | 180   | 12       |
  | published local 181 | 0–60 0.1/1; 60–180 0.5/10; 180–∞ 2/60       | 0      | 181   | 14       |
  | published local 250 | 0–60 0.1/1; 60–180 0.5/10; 180–∞ 2/60       | 0      | 250   | 16       |
  | published access    | 0–60 0.1/1; 60–180 0.5/10; 180–∞ 2/60       | 0.2    | 65    | 6.7      |
  | published in parts  | ~ 0–∞ 1/60                                  | 0      | 90    | 1.5      |
  | published of 11     | 0–∞ 11/11                                   | 0      | 1     | 11       |
  | published half unit | 0–∞ 0.1/1                                   | 0      | 110.5 | 11.1     |
  | no third of a micro | ~ 0–∞ 1/3                                   | 0      | 1     | 0.333333 |
  | a tie goes to even  | ~ 0–∞ 0.000001/2                            | 0      | 3     | 0.000002 |
`

/** One tier prices the whole: the one in which it ends. */
const WHOLE_VOLUMES = `
  | case                | tiers                                 | access | units | price |
  |---------------------|---------------------------------------|--------|-------|-------|
  | first tier          | 0–60 0.1/1; 60–180 0.5/10; 180–∞ 2/60 | 0      | 1     | 0.1   |
  | end of the first    | 0–60 0.1/1; 60–180 0.5/10; 180–∞ 2/60 | 0      | 60    | 6     |
  | begin of the second | 0–60 0.1/1; 60–180 0.5/10; 180–∞ 2/60 | 0.2    | 61    | 3.7   |
  | third tier          | 0–60 0.1/1; 60–180 0.5/10; 180–∞ 2/60 | 0      | 250   | 10    |
  | beyond the last     | 0–10 1/1; 10–20 0.5/1                 | 0      | 30    | 15    |
`

/** A block is used up before the next, at the price of the tier in which it begins. */
const PACKAGES = `
  | case                | tiers                            | access | units | price |
  |---------------------|----------------------------------|--------|-------|-------|
  | first block         | 0–∞ 5/100                        | 0      | 1     | 5     |
  | used up             | 0–∞ 5/100                        | 0      | 100   | 5     |
  | second block        | 0–∞ 5/100                        | 0.2    | 100.5 | 10.2  |
  | beyond its tier     | 0–250 5/100; 250–∞ 2/50          | 0      | 300   | 15    |
  | of the second tier  | 0–250 5/100; 250–∞ 2/50          | 0      | 301   | 17    |
  | past a whole tier   | 0–10 3/100; 10–60 9/1; 60–∞ 4/10 | 0      | 101   | 7     |
  | free units before   | 0–50 0/50; 50–∞ 5/100            | 0      | 51    | 5     |
  | beyond the last     | 0–10 3/8                         | 0      | 30    | 6     |
`

/** One price for all units: that of the tier which they reach. */
const FIXED_PRICES = `
  | case                | tiers                       | access | units | price |
  |---------------------|-----------------------------|--------|-------|-------|
  | first unit          | 0–100 5/1; 100–∞ 20/1       | 0      | 1     | 5     |
  | end of the first    | 0–100 5/7; 100–∞ 20/7       | 0.2    | 100   | 5.2   |
  | begin of the second | 0–100 5/1; 100–∞ 20/1       | 0      | 100.5 | 20    |
  | cheaper             | ~ 0–100 5/1; ~ 100–∞ 2/1    | 0      | 101   | 2     |
  | beyond the last     | 0–10 3/1; 10–20 4/1         | 0      | 30    | 4     |
`

const TAXES = `
  | case                      | price | tax        | rounding             | aprice       | final  |
  |---------------------------|-------|------------|----------------------|--------------|--------|
  | published unrounded       | 1.5   | global     |                      | 1.5          | 1.755  |
  | published up 0            | 1.5   | global     | up 0                 | 1.7094017094 | 2      |
  | published up 2            | 1.5   | global     | up 2                 | 1.5042735043 | 1.76   |
  | published down 1          | 1.5   | global     | down 1               | 1.4529914530 | 1.7    |
  | published nearest 0       | 1.5   | global     | nearest 0            | 1.7094017094 | 2      |
  | published nearest 1       | 1.5   | global     | nearest 1            | 1.5384615385 | 1.8    |
  | published nearest 2       | 1.5   | global     | nearest 2            | 1.5042735043 | 1.76   |
  | published not rounded     | 1.5   | global     | None 2               | 1.5          | 1.755  |
  | published line            | 100   |            |                      | 100          | 117    |
  | published not taxable     | 1.5   | no         |                      | 1.5          | 1.5    |
  | published without mapping | 10    | global     |                      | 10           | 11.7   |
  | published default         | 10    | default    |                      | 10           | 11.7   |
  | published fallback        | 10    | fallback A |                      | 10           | 11     |
  | custom                    | 10    | override A |                      | 10           | 11     |
  | embedded                  | 10    | override E |                      | 12           | 12     |
  | price rounded first       | 1.755 | global     | nearest 2 before_tax | 1.76         | 2.0592 |
  | price rounded down first  | 1.759 | no         | down 1 before_tax    | 1.7          | 1.7    |
`

/**
 * The published grants without features that Tollgate does not have: no minimum grant of three
 * units, no cap of five in money. Credit is positive.
 */
const GRANTS = `
  | case                 | usaget | tiers         | access | bucket     | asked | granted | price |
  |----------------------|--------|---------------|--------|------------|-------|---------|-------|
  | published 1, no cap  | call   | 0–∞ 0.1/1     | 0      | money 10   | 60    | 60      | 6     |
  | published 2          | call   | 0–∞ 0.1/1     | 0      | money 2    | 60    | 20      | 2     |
  | published 3, exact   | call   | 0–∞ 0.1/1     | 0      | money 0.3  | 60    | 3       | 0.3   |
  | published 4, no cap  | call   | 0–∞ 0.1/1     | 0      | units 100  | 60    | 60      | 0     |
  | published 5          | call   | 0–∞ 0.01/1    | 0      | units 100  | 60    | 60      | 0     |
  | published 6          | call   | 0–∞ 0.01/1    | 0      | units 40   | 60    | 40      | 0     |
  | published 7, to end  | call   | 0–∞ 0.1/1     | 0      | units 2    | 60    | 2       | 0     |
  | published 8, no cap  | call   | 0–∞ 1/60      | 0      | money 10   | 1000  | 600     | 10    |
  | published 9          | call   | 0–∞ 1/60      | 0      | money 2.5  | 1000  | 120     | 2     |
  | published 10, no cap | data   | 0–∞ 1/1000000 | 0      | units 1e9  | 1e7   | 1e7     | 0     |
  | published 11, below  | call   | ~ 0–∞ 0.149/1 | 0      | money 5    | 60    | 33      | 4.917 |
  | published 12         | call   | 0–∞ 0.1/1     | 1      | money 3    | 60    | 20      | 3     |
  | published 13, two    | sms    | 0–∞ 0.1/1     | 0      | units 2    | 1     | 1       | 0     |
  | published 13, three  | sms    | 0–∞ 0.1/1     | 0      | units 3    | 1     | 1       | 0     |
  | less than the access | call   | 0–∞ 0.1/1     | 1      | money 1.05 | 60    | 0       | 0     |
  | free, no bucket      | call   | 0–∞ 0/1       | 0      |            | 60    | 60      | 0     |
`

const EVENT = { rate: 'T01', urt: '2026-01-05T18:31:05Z' }

export const CHARGE_CASES: QuoteCase[] = [
  ...readTable(CHARGES).map((row) => charged(row, 'tiered')),
  ...readTable(WHOLE_VOLUMES).map((row) => charged(row, 'volume')),
  ...readTable(PACKAGES).map((row) => charged(row, 'package')),
  ...readTable(FIXED_PRICES).map((row) => charged(row, 'graduated_flat')),
]
export const TAX_CASES: QuoteCase[] = readTable(TAXES).map(taxedCase)
export const GRANT_CASES: QuoteCase[] = readTable(GRANTS).map(granted)

function charged(row: Record<string, string>, method: PricingMethod): QuoteCase {
  const usagev = Number(row['units'])
  return {
    name: `${method}: ${row['case']}`,
    catalogue: {
      rates: [{ ...rateOf('call', priceFrom(row)), pricing_method: method }],
      plans: [{ name: 'P', connection_type: 'postpaid' }],
    },
    subscriber: { sid: 1, aid: 1, plan: 'P' },
    events: [{ ...EVENT, usaget: 'call', usagev }],
    expect: [
      { aprice: Number(row['price']), granted: usagev, out_group: usagev, arate_key: 'T01' },
    ],
  }
}

function taxedCase(row: Record<string, string>): QuoteCase {
  const price = {
    rate: [{ from: 0, to: 'UNLIMITED' as const, interval: 1, price: Number(row['price']) }],
  }
  const rate: RateDocument = {
    ...rateOf('call', price),
    ...taxFrom(row['tax']!),
    ...roundingFrom(row['rounding']!),
  }
  return {
    name: row['case']!,
    catalogue: {
      rates: [rate],
      plans: [{ name: 'P', connection_type: 'postpaid' }],
      taxes: [
        { key: 'DEFAULT_VAT', rate: 0.17 },
        { key: 'A', rate: 0.1 },
        { key: 'E', rate: 0.2, embed_tax: true },
      ],
    },
    subscriber: { sid: 1, aid: 1, plan: 'P' },
    events: [{ ...EVENT, usaget: 'call', usagev: 1 }],
    expect: [{ aprice: Number(row['aprice']), final_charge: Number(row['final']) }],
  }
}

function granted(row: Record<string, string>): QuoteCase {
  const usaget = row['usaget']!
  const [kind, amount] = row['bucket']!.split(' ')
  const buckets: BucketDocument[] = []
  if (amount !== undefined) buckets.push({ pp_includes_external_id: 7, value: Number(amount) })
  const units = Number(row['granted'])
  return {
    name: row['case']!,
    catalogue: {
      rates: [rateOf(usaget, priceFrom(row))],
      plans: [{ name: 'P', connection_type: 'prepaid' }],
      prepaidincludes: [includeOf(kind!, usaget)],
    },
    subscriber: { sid: 1, aid: 1, plan: 'P', buckets },
    events: [{ ...EVENT, usaget, usagev: Number(row['asked']) }],
    expect: [{ granted: units, aprice: Number(row['price']), returnCode: units > 0 ? 1 : -1 }],
  }
}

function includeOf(kind: string, usaget: string): PrepaidIncludeDocument {
  const by = kind === 'units' ? 'usagev' : 'total_cost'
  return {
    name: 'Main',
    external_id: 7,
    priority: 1,
    charging_by: by,
    charging_by_usaget: by === 'usagev' ? usaget : by,
  }
}

function rateOf(usaget: string, price: PriceDocument): RateDocument {
  return { key: 'T01', rates: { [usaget]: { BASE: price } } }
}

function priceFrom(row: Record<string, string>): PriceDocument {
  return { access: Number(row['access']), rate: row['tiers']!.split(';').map(tierFrom) }
}

/** `~ 0–10 1/2`. */
export function tierFrom(text: string): TierDocument {
  const [bounds = '', price = ''] = text.replace('~', '').trim().split(' ')
  const [from, to] = bounds.split('–')
  const [amount, interval] = price.split('/')
  return {
    from: Number(from),
    to: to === '∞' ? 'UNLIMITED' : Number(to),
    interval: Number(interval),
    price: Number(amount),
    ...(text.trim().startsWith('~') ? { ceil: false } : {}),
  }
}

/** `override A`: custom. */
function taxFrom(text: string): { tax?: TaxHint[] } {
  if (text === '') return {}
  const [word, key] = text.split(' ')
  if (key === undefined) return { tax: [{ type: 'vat', taxation: word as TaxHint['taxation'] }] }
  const logic = word as 'override' | 'fallback'
  return { tax: [{ type: 'vat', taxation: 'custom', custom_logic: logic, custom_tax: key }] }
}

/** `up 2 before_tax`. */
function roundingFrom(text: string): { rounding_rules?: RoundingDocument } {
  if (text === '') return {}
  const [type, places, stage] = text.split(' ')
  return {
    rounding_rules: {
      rounding_type: type as 'up',
      rounding_decimals: Number(places),
      ...(stage === undefined ? {} : { rounding_stage: stage as 'before_tax' }),
    },
  }
}
