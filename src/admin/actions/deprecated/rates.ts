/** `rates`: the rates in force, in the form of the first versions of the API. */
import {
  closed,
  either,
  emptyList,
  integer,
  listOf,
  mapOf,
  number,
  ref,
  text,
  type ValueOf,
} from '../../../catalog/entities/json-schema.ts'
import { type Fields, isObject } from '../../../domain/fields.ts'
import { action } from '../action.ts'
import { CATALOGUE_PARAMETERS, columnsOf, readRevisions, STRIPPED, stripOf } from './catalogue.ts'
import { documentView } from './entity-calls.ts'

/** End of a tier without one. */
const UNLIMITED = 2_147_483_647
const BASE = 'BASE'

const PRICE = closed('The base price of a usage type.', {
  unit: text('Unit in which it was entered; empty if it is unknown.'),
  category: text('Tariff category.'),
  access: number('Price of the access.'),
  rate: listOf(
    closed('A step.', {
      duration: integer('Units of the step.'),
      interval: integer('Units of an interval.'),
      charge: number('Price of an interval.'),
    }),
    'Its steps.',
  ),
})

export const RATE = closed('A rate.', {
  key: text('Key.'),
  rates: either('By usage type.', mapOf(PRICE, 'Base prices.'), emptyList()),
  plans: listOf(text('A plan.'), 'Plans with own prices.'),
})

export const rates = action({
  name: 'rates',
  level: 'read',
  about: 'Rates with their prices by usage type',
  entityActions: () => [{ collection: 'rates', action: 'get' }],
  isReadByGet: true,
  parameters: CATALOGUE_PARAMETERS,
  answer: {
    details: either(
      'The rates, or with `strip` lists of values.',
      ref<readonly ValueOf<typeof RATE>[]>('oldRates.list', 'Rates.'),
      STRIPPED,
    ),
  },
  example: {
    parameters: { query: { key: 'CALL_LOCAL' } },
    answer: {
      details: [
        {
          key: 'CALL_LOCAL',
          rates: {
            call: {
              unit: 'seconds',
              category: 'retail',
              access: 0,
              rate: [{ duration: UNLIMITED, interval: 60, charge: 0.1 }],
            },
          },
          plans: ['GOLD'],
        },
      ],
    },
  },
  async run({ query, strip: value }, call) {
    const strip = stripOf(value)
    const found = await readRevisions(call, 'rates', query)
    if (strip === null) return { details: found.map(rateView) }
    return {
      details: columnsOf(
        found.map((row) => documentView(row, call)),
        strip,
      ),
    }
  },
})

/** `rates` has an entry for each usage type with a base price; `plans` those with own prices. */
function rateView({
  key,
  rates: prices,
  tariff_category: category = 'retail',
}: Fields): ValueOf<typeof RATE> {
  const byUsage = isObject(prices) ? Object.entries(prices) : []
  const plans = byUsage.flatMap(([, byPlan]) => (isObject(byPlan) ? Object.keys(byPlan) : []))
  const usages = byUsage.map(([usaget, byPlan]) => {
    const base = isObject(byPlan) ? byPlan[BASE] : undefined
    return [usaget, priceView(isObject(base) ? base : {}, String(category))] as const
  })
  return {
    key: key as string,
    rates: usages.length === 0 ? [] : Object.fromEntries(usages),
    plans: [...new Set(plans)].filter((plan) => plan !== BASE),
  }
}

function priceView({ access = 0, rate }: Fields, category: string) {
  const tiers = Array.isArray(rate) ? rate.filter(isObject) : []
  return {
    unit: unitOf(tiers),
    category,
    access: numberOf(access),
    rate: tiers.map((tier, index) => tierView(tier, tiers[index - 1])),
  }
}

/** The unit in which the price was entered; empty if it is unknown. */
function unitOf(tiers: readonly Fields[]): string {
  const display = tiers[0]?.['uom_display']
  const { interval, range } = isObject(display) ? display : ({} as Fields)
  return typeof interval === 'string' ? interval : typeof range === 'string' ? range : ''
}

function tierView({ from, to, interval, price }: Fields, before: Fields | undefined) {
  const start = numberOf(from ?? before?.['to'] ?? 0)
  const isEndless = to === 'UNLIMITED' || to === undefined
  return {
    duration: isEndless ? UNLIMITED : Math.round(numberOf(to) - start),
    interval: Math.round(numberOf(interval ?? 1)),
    charge: numberOf(price),
  }
}

function numberOf(value: unknown): number {
  const number = Number(String(value))
  return Number.isFinite(number) ? number : 0
}
