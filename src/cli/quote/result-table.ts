/** A quote as text for the terminal. */
import type { EventResult } from '../../billing/quote/event-result.ts'
import type { PaymentStep, RatingStep } from '../../domain/explain.ts'
import { aligned } from '../owners.ts'

/** `currency`: null if none is configured. */
export function resultTable(
  result: EventResult,
  usage: { usaget: string; usagev: number },
  currency: string | null,
) {
  const money = (amount: number) => `${amount} ${currency ?? ''}`.trimEnd()
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
  return [...aligned(rows), '', ...result.rating.map(stepText)]
}

/** One step of the explanation; components of a price are indented below it. */
function stepText(step: RatingStep): string {
  switch (step.step) {
    case 'price': {
      const band = step.band === '' ? '' : `, ${step.band}`
      const what = `${step.category} rate ${step.rate} (${step.source}${band})`
      const part = { charge: '', included: ', included', shown: ', only shown' }[step.part]
      return `  ${what}: ${step.units} units = ${step.amount}${part}`
    }
    case 'tier': {
      const { tier, units, intervals, interval, price, amount } = step
      const each = `${intervals} × ${price} per ${interval}`
      return `    tier ${tier}: ${units} units, ${each} = ${amount}`
    }
    case 'begun':
      return `    of the interval that began before: ${step.units} units, sold already`
    case 'beyond':
      return `    beyond the last tier: ${step.units} units, free`
    case 'access':
      return `    access price: ${step.amount}`
    case 'percentage':
      return `    times ${step.factor}: ${step.amount}`
    case 'minimum':
      return `    minimum charge: ${step.amount}`
    case 'rounding':
      return `    rounded (${step.mode}) to ${step.to}: ${step.amount}`
    case 'credited':
      return `    of the minimum charge, paid before: ${step.amount}`
    case 'earlier':
      return `    the ${step.units} units before, paid already: ${step.amount}`
    default:
      return `  paid by ${fundingSourceText(step)}: ${step.units ?? step.money}${unitsText(step)}`
  }
}

function fundingSourceText(step: PaymentStep): string {
  const shared = step.owner === 'account' ? ' of the account' : ''
  if (step.step === 'group') {
    return `group ${step.group} of ${step.holder}${shared} (${step.left} of ${step.total} left)`
  }
  if (step.step === 'bucket') return `bucket ${step.bucket} (include ${step.include})${shared}`
  return `${step.step}${shared}`
}

function unitsText({ units }: PaymentStep): string {
  return units === undefined ? '' : ' units'
}
