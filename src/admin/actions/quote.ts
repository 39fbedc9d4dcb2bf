/** `quote`: the price of usage of a subscriber, or of cases of the tariff bench. */
import { type Static, Type } from '@sinclair/typebox'
import { type LiveUsage, quoteUsage, readLiveState } from '../../billing/quote/live.ts'
import { caseSteps, quoteView } from '../../billing/quote/quote-case.ts'
import { anyValue, either, listOf, mapOf, ref } from '../../catalog/entities/json-schema.ts'
import { createPacer } from '../../catalog/feed/pacer.ts'
import { isObject } from '../../domain/fields.ts'
import { NUMBER_CHARS_MAX, TEXT_CHARS_MAX } from '../../file-types/decode-errors.ts'
import { monotonicMs } from '../../runtime/clock.ts'
import { ActionError } from '../entities/errors.ts'
import { type ActionCall, action } from './action.ts'
import { param } from './parameters.ts'

const CASES_MAX = 100
/** Limit of all cases of a call. */
const EVENTS_MAX = 1_000
/** Limit of each list in a case: some checks compare all members with each other. */
const MEMBERS_MAX = 1_000
/** Usage is split at the ends of time bands: an event must not be split too often. */
const BANDS_MAX = 32
const SPAN_MS_MAX = 31 * 24 * 3600 * 1000
/** Time that the cases of a call may take, without the pauses for other calls. */
const TIME_MS_MAX = 60_000
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
      mapOf(anyValue('A member.'), 'A case.'),
      `In place of a subscriber: at most ${CASES_MAX} cases with at most ${EVENTS_MAX} events.`,
    ),
  ),
})

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
  notEchoed: ['cases'],
  parameters: PARAMETERS,
  answer: {
    details: either(
      'The quote; with `cases` a list, in their order.',
      ref('quotedEvent'),
      listOf(ref('quotedCase'), 'A result for each case.'),
    ),
  },
  example: {
    parameters: { sid: 171, usaget: 'call', usagev: 61 },
    answer: { details: EXAMPLE },
  },
  async run({ cases, ...usage }, call) {
    if (cases === undefined) return { details: await quoteSubscriber(usage, call) }
    const [other] = Object.keys(usage)
    if (other !== undefined) throw new ActionError(`Field ${other} cannot be combined with cases`)
    refuseLarge(cases)
    return { details: await quoteCases(cases, call) }
  },
})

async function quoteSubscriber(
  parameters: Omit<Static<typeof PARAMETERS>, 'cases'>,
  { catalog, ledger, lookup, liveCatalogue, config, nowMs }: ActionCall,
) {
  const { sid, usaget, usagev, called_number: calledNumber = '', rate = '', urt } = parameters
  const missing = Object.entries({ sid, usaget, usagev }).flatMap(([name, value]) =>
    value === undefined || value === '' ? [name] : [],
  )
  if (sid === undefined || usaget === undefined || usagev === undefined || missing.length > 0) {
    const hint = missing.length === 3 ? ', or cases' : ''
    throw new ActionError(`Following field/s are missing: ${missing.join(', ')}${hint}`)
  }
  const atMs = urt?.getTime() ?? nowMs
  const usage: LiveUsage = { sid, usaget, usagev, calledNumber, rateKey: rate, atMs }
  const source = { catalog, ledger, lookup, catalogue: liveCatalogue }
  const state = await readLiveState(source, config, usage)
  return quoteUsage(state, usage, liveCatalogue.settings, nowMs)
}

/** In slices: other calls are answered meanwhile. Ends early if the client disconnects. */
async function quoteCases(cases: readonly unknown[], { liveCatalogue, signal }: ActionCall) {
  const pacer = createPacer()
  const results: object[] = []
  let sliceMs = monotonicMs()
  let leftMs = TIME_MS_MAX
  for (const [index, each] of cases.entries()) {
    const steps = caseSteps(each, liveCatalogue.settings, `cases.${index}`, SPAN_MS_MAX)
    let step = steps.next()
    while (step.done !== true) {
      if (pacer.isSliceOver()) {
        leftMs -= monotonicMs() - sliceMs
        await pacer.pause()
        sliceMs = monotonicMs()
      }
      if (signal?.aborted === true) return results
      if (leftMs < 0) throw tooSlow(index)
      step = steps.next()
    }
    results.push(quoteView(step.value))
  }
  return results
}

function tooSlow(index: number): ActionError {
  const seconds = TIME_MS_MAX / 1000
  return new ActionError(`cases.${index} was not reached in ${seconds} s: send fewer cases`)
}

function refuseLarge(cases: readonly unknown[]): void {
  if (cases.length > CASES_MAX) {
    throw new ActionError(`Field cases has more than ${CASES_MAX} members`)
  }
  let events = 0
  for (const [index, each] of cases.entries()) {
    refuseLongLists(each, `cases.${index}`)
    const listed = isObject(each) ? each['events'] : null
    if (Array.isArray(listed)) events += listed.length
  }
  if (events > EVENTS_MAX) {
    throw new ActionError(`Field cases has more than ${EVENTS_MAX} events in total`)
  }
}

function refuseLongLists(value: unknown, path: string, most = MEMBERS_MAX): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value) && value.length > most) {
    throw new ActionError(`${path} has more than ${most} members`)
  }
  for (const [name, member] of Object.entries(value)) {
    refuseLongLists(member, `${path}.${name}`, name === 'bands' ? BANDS_MAX : MEMBERS_MAX)
  }
}
