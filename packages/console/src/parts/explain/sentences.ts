/** A sentence for each step. Amounts are those of the step, formatted and otherwise unchanged. */

import { fieldText, isKnown, isPayment, type Step } from './steps.ts'

/** Formats and names that sentences need from the page. */
export interface Speech {
  /** The text of a key, with values in place of `{name}`. */
  say(key: string, values?: Readonly<Record<string, string>>): string
  /** A decimal text in the format of the language. */
  number(decimal: string): string
  /** The text of an amount of money, with its currency. */
  money(text: string): string
  /** Name of a prepaid include; empty if it is unknown. */
  includeName(externalId: string): string
}

const DECIMAL = /^-?\d+(\.\d+)?$/

/** The fields of steps with amounts of money; `left` and `total` are of what a step has paid. */
const MONEY_FIELDS: readonly string[] = ['amount', 'price', 'to', 'money']

export function moneyText(speech: Speech, text: string): string {
  return /\d/.test(text) ? speech.money(amountText(speech, text)) : text
}

/** A decimal text, or a fraction `a/b` where no decimal is exact. */
export function amountText({ number }: Speech, text: string): string {
  if (DECIMAL.test(text)) return number(text)
  const members = text.split('/')
  return members.every((each) => DECIMAL.test(each)) ? members.map(number).join('/') : text
}

export function sentenceOf(step: Step, usaget: string, speech: Speech): string {
  if (!isKnown(step)) return speech.say('why.unknown', { step: step.step, fields: fieldsOf(step) })
  const values = valuesOf(step, usaget, speech)
  return speech.say(`why.${step.step}${variantOf(step)}`, values)
}

/** The source of a payment, without its amount. */
export function payerOf(step: Step, speech: Speech): string {
  const { say } = speech
  const owner = ownerOf(step, speech)
  if (step.step === 'group') {
    const values = { group: fieldText(step, 'group'), holder: fieldText(step, 'holder'), owner }
    return say('why.payer.group', values)
  }
  if (step.step === 'bucket')
    return say('why.payer.bucket', { name: bucketOf(step, speech), owner })
  return say(`why.payer.${step.step}`, { owner })
}

function variantOf(step: Step): string {
  switch (step.step) {
    case 'price':
      return `.${fieldText(step, 'part')}`
    case 'tier':
      return fieldText(step, 'interval') === '1' ? '' : '.intervals'
    default:
      return ''
  }
}

function valuesOf(step: Step, usaget: string, speech: Speech): Record<string, string> {
  const values: Record<string, string> = { usaget, counted: countedText(step, speech) }
  for (const field of Object.keys(step)) {
    const isOfPaid = field === 'left' || field === 'total'
    const isMoney = isOfPaid ? fieldText(step, 'money') !== '' : MONEY_FIELDS.includes(field)
    values[field] = (isMoney ? moneyText : amountText)(speech, fieldText(step, field))
  }
  if (step.step === 'price') return { ...values, source: sourceOf(step, speech) }
  if (step.step === 'rounding') {
    return { ...values, mode: speech.say(`why.mode.${fieldText(step, 'mode')}`) }
  }
  if (!isPayment(step)) return values
  return { ...values, paid: paidText(step, speech), payer: payerOf(step, speech) }
}

function countedText(step: Step, speech: Speech): string {
  const units = fieldText(step, 'units')
  const key = units === '1' ? 'why.unit' : 'why.units'
  return speech.say(key, { units: amountText(speech, units) })
}

/** `0.42 EUR`, or `61 units`. */
export function paidText(step: Step, speech: Speech): string {
  const money = fieldText(step, 'money')
  if (money !== '') return moneyText(speech, money)
  return countedText(step, speech)
}

function ownerOf(step: Step, { say }: Speech): string {
  return say(fieldText(step, 'owner') === 'account' ? 'why.owner.account' : 'why.owner.subscriber')
}

function bucketOf(step: Step, { say, includeName }: Speech): string {
  const include = fieldText(step, 'include')
  const name = includeName(include)
  return name === ''
    ? say('why.bucket.number', { bucket: fieldText(step, 'bucket'), include })
    : name
}

/** `BASE`, `plan NAME`, `service NAME`, `rate NAME` or `RECORD`, with time band and price model. */
function sourceOf(step: Step, { say }: Speech): string {
  const [source, method] = [fieldText(step, 'source'), fieldText(step, 'method')]
  const [, kind, name = ''] = /^(plan|service|rate) (.*)$/.exec(source) ?? []
  const texts = [
    say(`why.source.${source === 'RECORD' ? 'record' : (kind ?? 'base')}`, { name }),
    ...(fieldText(step, 'band') === '' ? [] : [say('why.band', { band: fieldText(step, 'band') })]),
    ...(method === 'tiered' ? [] : [say(`why.method.${method}`)]),
  ]
  return texts.join(', ')
}

function fieldsOf(step: Step): string {
  const fields = Object.keys(step).filter((field) => field !== 'step')
  return fields.map((field) => `${field} ${fieldText(step, field)}`).join(', ')
}
