/** `quote`: the price of usage of a subscriber, or of cases of the tariff bench. */

import { type Static, Type } from '@sinclair/typebox'
import { type LiveUsage, quoteUsage, readLiveState } from '../../billing/quote/live.ts'
import { caseSteps, quoteView, SPAN_MS_MAX } from '../../billing/quote/quote-case.ts'
import { customFields, either, listOf, ref } from '../../catalog/entities/json-schema.ts'
import { missing } from '../../domain/field-errors.ts'
import { NUMBER_CHARS_MAX, TEXT_CHARS_MAX } from '../../file-types/decode-errors.ts'
import { ActionError, missingParameters, parameterError } from '../../requests/errors.ts'
import { type ActionCall, action } from './action.ts'
import { param } from './parameters.ts'
import { changeOf, compareCases, compareLines } from './quote-comparison.ts'
import { CASES_MAX, EVENTS_MAX, QuoteWork, refuseLarge } from './quote-work.ts'

const BODY = { bytesMax: 4 * 1024 * 1024, json: { keysMax: 100_000 } } as const

const PARAMETERS = Type.Object({
  sid: param.optional(param.integer('The subscriber.', { minimum: 1 })),
  usaget: param.optional(param.text('Usage type.', { maxLength: TEXT_CHARS_MAX })),
  usagev: param.optional(param.integer('Units.', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  called_number: param.optional(
    param.text('Called number, for the matching of rates.', { maxLength: NUMBER_CHARS_MAX }),
  ),
  rate: param.optional(
    param.text('Key of the rate, which is then not matched.', { maxLength: TEXT_CHARS_MAX }),
  ),
  urt: param.optional(param.date('Time of the usage; now by default.')),
  cases: param.optional(
    param.list(
      customFields('A case (docs/QUOTES.md).'),
      `In place of a subscriber: at most ${CASES_MAX} cases with at most ${EVENTS_MAX} events.`,
    ),
  ),
  assume: param.optional(
    param.object(
      'Compares: lists of documents (`rates`, `plans`, `services`, `prepaidincludes`, `taxes`) ' +
        'that replace those of the same key, for the price after a change of `cases`, or of the ' +
        'latest lines of `plan`.',
    ),
  ),
  base: param.optional(
    param.object('With `assume`: such lists for the price before the change, too.'),
  ),
  plan: param.optional(
    param.text('With `assume`: the plan whose latest usage lines are priced.', {
      maxLength: TEXT_CHARS_MAX,
    }),
  ),
  last: param.optional(
    param.integer(`Number of these lines; ${CASES_MAX} by default. \`rate\`: only those of it.`, {
      minimum: 1,
      maximum: CASES_MAX,
    }),
  ),
})

type Parameters = Static<typeof PARAMETERS>

const EXAMPLE = {
  aprice: 0.61,
  in_group: 0,
  over_group: 0,
  out_group: 61,
  arate_key: 'T01',
  granted: 61,
  final_charge: 0.61,
  tax_data: { total_amount: 0, total_tax: 0, taxes: [] },
  arategroups: [],
  rates: [
    { tariff_category: 'retail', key: 'T01', add_to_retail: true, pricing: { charge: 0.61 } },
  ],
  rating: [{ step: 'bucket', owner: 'subscriber', bucket: 1, include: 7, money: '0.61' }],
  returnCode: 1,
  desc: 'Success',
}

export const quote = action({
  name: 'quote',
  level: 'read',
  about: 'Price usage of a subscriber, or of cases with their own catalogue, and move nothing',
  isReadByGet: true,
  body: BODY,
  notEchoed: ['cases', 'assume', 'base'],
  // The lines of a plan are those that the entity API answers with.
  entityActions: (raw) =>
    raw.get('plan') === undefined ? [] : [{ collection: 'lines', action: 'get' }],
  parameters: PARAMETERS,
  answer: {
    details: either(
      'The quote; with `cases` a list, in their order; with `assume` the comparison.',
      ref('quotedEvent'),
      listOf(ref('quotedCase'), 'A result for each case.'),
      ref('quoteComparison'),
    ),
  },
  example: {
    parameters: { sid: 171, usaget: 'call', usagev: 61 },
    answer: { details: EXAMPLE },
  },
  async run({ assume, cases, ...usage }, call) {
    if (assume !== undefined) {
      return { details: await quoteChange(assume, usage, cases, call) }
    }
    const { base, plan, last, ...rest } = usage
    const other = Object.entries({ base, plan, last }).find(([, value]) => value !== undefined)
    if (other !== undefined) throw parameterError(other[0], 'needs assume')
    if (cases === undefined) return { details: await quoteSubscriber(rest, call) }
    refuseOther(rest, 'cases')
    refuseLarge(cases)
    return { details: await quoteCases(cases, call) }
  },
})

async function quoteSubscriber(
  parameters: Omit<Parameters, 'cases' | 'assume' | 'base' | 'plan' | 'last'>,
  { catalog, ledger, lookup, liveCatalogue, config, nowMs }: ActionCall,
) {
  const { sid, usaget, usagev, called_number: calledNumber = '', rate = '', urt } = parameters
  const missing = Object.entries({ sid, usaget, usagev }).flatMap(([name, value]) =>
    value === undefined || value === '' ? [name] : [],
  )
  if (sid === undefined || usaget === undefined || usagev === undefined || missing.length > 0) {
    const hint = missing.length === 3 ? ', or cases' : ''
    throw missingParameters(missing, hint)
  }
  const atMs = urt?.getTime() ?? nowMs
  const usage: LiveUsage = { sid, usaget, usagev, calledNumber, rateKey: rate, atMs }
  const source = { catalog, ledger, lookup, catalogue: liveCatalogue }
  const state = await readLiveState(source, config, usage)
  return quoteUsage(state, usage, liveCatalogue.settings, nowMs)
}

/** Ends early if the client disconnects. */
async function quoteCases(cases: readonly unknown[], { liveCatalogue, signal }: ActionCall) {
  const work = new QuoteWork(signal)
  const results: object[] = []
  for (const [index, each] of cases.entries()) {
    const name = `cases.${index}`
    const steps = caseSteps(each, liveCatalogue.settings, name, { spanMsMax: SPAN_MS_MAX })
    const result = await work.run(steps, name)
    if (result === null) break
    results.push(quoteView(result))
  }
  return results
}

async function quoteChange(
  assume: Readonly<Record<string, unknown>>,
  { base, plan, last, rate: rateKey = '', ...other }: Omit<Parameters, 'assume' | 'cases'>,
  cases: readonly unknown[] | undefined,
  call: ActionCall,
) {
  refuseOther(other, 'assume')
  if ((cases === undefined) === (plan === undefined)) {
    const text = 'With assume, one of cases and plan is needed'
    throw new ActionError(text, missing(['cases', 'plan'], text))
  }
  const change = changeOf({ assume, base }, call.liveCatalogue.settings)
  if (cases === undefined) {
    const terms = { plan: plan ?? '', rateKey, last: last ?? CASES_MAX }
    return compareLines(terms, change, call)
  }
  refuseOther({ last, ...(rateKey !== '' && { rate: rateKey }) }, 'cases')
  refuseLarge(cases)
  return compareCases(cases, change, SPAN_MS_MAX, call)
}

function refuseOther(parameters: object, name: string): void {
  const [other] = Object.entries(parameters).flatMap(([key, value]) =>
    value === undefined ? [] : [key],
  )
  if (other !== undefined) throw parameterError(other, `cannot be combined with ${name}`)
}
