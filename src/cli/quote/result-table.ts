/** A quote as text for the terminal. */
import type { MoneyFormat } from '../../billing/currency.ts'
import type { EventResult } from '../../billing/quote/event-result.ts'
import type { PaymentStep, RatingStep } from '../../domain/explain.ts'
import { aligned } from '../owners.ts'

export function resultTable(
  result: EventResult,
  usage: { usaget: string; usagev: number },
  money: MoneyFormat,
) {
  const { usaget, usagev } = usage
  const { action } = result
  if (action?.type === 'redirect') return [`${usaget} ${usagev}: redirected to ${action.address}`]
  if (result.granted === 0) return [`${usaget} ${usagev}: denied (${result.desc})`]
  const rows = [
    ['granted', `${result.granted} of ${usagev} ${usaget}`],
    ...(action === undefined ? [] : [['policy', action.policy]]),
    ['rate', result.arate_key],
    ['included', String(result.in_group)],
    ['beyond', `${result.over_group + result.out_group}`],
    ['price', money(result.aprice)],
    ['with tax', money(result.final_charge)],
  ]
  return [...aligned(rows), '', ...result.rating.map((step) => stepText(step, money))]
}

/** One step of the explanation; components of a price are indented below it. */
function stepText(step: RatingStep, money: MoneyFormat): string {
  switch (step.step) {
    case 'price': {
      const band = step.band === '' ? '' : `, ${step.band}`
      const what = `${step.category} rate ${step.rate} (${step.source}${band})`
      const part = { charge: '', included: ', included', shown: ', only shown' }[step.part]
      return `  ${what}: ${step.units} units = ${money(step.amount)}${part}`
    }
    case 'tier': {
      const { tier, units, intervals, interval, price, amount } = step
      const each = `${intervals} × ${money(price)} per ${interval}`
      return `    tier ${tier}: ${units} units, ${each} = ${money(amount)}`
    }
    case 'begun':
      return `    of the interval that began before: ${step.units} units, sold already`
    case 'beyond':
      return `    beyond the last tier: ${step.units} units, free`
    case 'access':
      return `    access price: ${money(step.amount)}`
    case 'percentage':
      return `    times ${step.factor}: ${money(step.amount)}`
    case 'minimum':
      return `    minimum charge: ${money(step.amount)}`
    case 'rounding':
      return `    rounded (${step.mode}) to ${money(step.to)}: ${money(step.amount)}`
    case 'credited':
      return `    of a minimum charge or fixed price, paid before: ${money(step.amount)}`
    case 'earlier':
      return `    the ${step.units} units before, paid already: ${money(step.amount)}`
    default:
      return `  paid by ${fundingSourceText(step, money)}: ${paidText(step, money)}`
  }
}

function fundingSourceText(step: PaymentStep, money: MoneyFormat): string {
  const shared = step.owner === 'account' ? ' of the account' : ''
  if (step.step === 'group') {
    const textFor = step.units === undefined ? money : String
    const [left, total] = [step.left, step.total].map((each = '') =>
      /\d/.test(each) ? textFor(each) : each,
    )
    return `group ${step.group} of ${step.holder}${shared} (${left} of ${total} left)`
  }
  if (step.step === 'bucket') return `bucket ${step.bucket} (include ${step.include})${shared}`
  return `${step.step}${shared}`
}

function paidText({ units, money: paid }: PaymentStep, money: MoneyFormat): string {
  return units === undefined ? money(paid ?? 0) : `${units} units`
}
