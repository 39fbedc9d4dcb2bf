/** `POST /api/bulkcredit`: many credits in one call, each on its own. */

import { Type } from '@sinclair/typebox'
import { readProgress } from '../../billing/call-progress.ts'
import { CreditProcessError, CreditRefusal } from '../../billing/credit/credit-request.ts'
import {
  type PreparedCredit,
  type PreparedCredits,
  prepareCredits,
} from '../../billing/credit/credits.ts'
import { insertCredits, withCurrentCycle } from '../../billing/credit/insert-credits.ts'
import { textOf } from '../../billing/payments/payment-order.ts'
import * as schema from '../../catalog/entities/json-schema.ts'
import type { CreditFields } from '../../catalog/settings/money/line-settings.ts'
import { issueUnder } from '../../domain/field-errors.ts'
import { isObject } from '../../domain/fields.ts'
import { readView } from '../../entities/views.ts'
import { actionErrorOf } from '../../requests/api-errors.ts'
import {
  ActionError,
  type AnsweredIssue,
  answeredIssues,
  firstErrors,
  missingParameters,
  parameterError,
} from '../../requests/errors.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import { type AnswerOf, castOptions, type MoneyCall, moneyAction, REASON } from './action.ts'
import { CREDIT_PARAMETERS, creditRequestOf, readCreditFields } from './credit-parameters.ts'
import { castParameters, param } from './parameters.ts'

const CREDITS_MAX = 10_000
/** Credits that are committed together. */
const PART_SIZE = 250
/** Enough for entries with all fields. */
const BODY_BYTES_MAX = 16 * 1024 * 1024
const KEYS_PER_CREDIT = 30
const LINES_MAX = 10_000
/** Further dates of lines that are texts. */
export const LINE_DATES = ['urt', 'process_time']
const PAGE_MAX = 1_000_000
/** Their stamps are in the answer, which is stored. */
const LINES_PER_CALL_MAX = 100_000

const ENTRY = Type.Object({ ...CREDIT_PARAMETERS.properties, ...REASON })

/** Parameters of `operation` `query`, in the order in which errors are reported. */
const QUERY = Type.Object({
  page: param.optional(param.integer('From 0.', { minimum: 0, maximum: PAGE_MAX })),
  size: param.optional(param.integer('Lines per page.', { minimum: 1, maximum: LINES_MAX })),
})

const INDEX = schema.integer('Position in `credits`, from 0.')
const CREDIT_RESULT = schema.either(
  'The result of one credit.',
  schema.closed(
    'Success.',
    {
      status: schema.constant(1, 'Success.'),
      stamp: schema.text('Stamp of the line, or of the first installment.'),
      stamps: schema.listOf(schema.text('A stamp.'), 'Stamps of all installments.'),
      index: INDEX,
    },
    ['stamps'],
  ),
  schema.closed('Failure.', {
    status: schema.constant(0, 'Failure.'),
    message: schema.text('Why it failed.'),
    index: INDEX,
    errors: schema.ref<readonly AnsweredIssue[]>('errors'),
  }),
)
type CreditResult = schema.ValueOf<typeof CREDIT_RESULT>

const ANSWER = {
  status: param.optional(
    schema.integer('1: all succeeded; 2: some failed; 0: all failed.', { enum: [0, 1, 2] }),
  ),
  message: param.optional(schema.text('The text in `desc`, if some failed.')),
  operation: schema.text('The operation.'),
  stamp: schema.text('Identifies the call for `query`; kept for 7 days.'),
  count: param.optional(schema.integer('`query`: number of lines that were written.')),
  details: param.optional(
    schema.either(
      'With `query` the lines.',
      schema.listOf(CREDIT_RESULT, 'Results, in the order of `credits`.'),
      schema.listOf(
        schema.ref<object>('lines.shown'),
        'Lines as `/billapi/lines/get` returns them, but `urt` and `process_time` as texts.',
      ),
    ),
  ),
} as const

type BulkAnswer = AnswerOf<typeof ANSWER>

const EXAMPLE = [
  { aid: 1, sid: 2, rate: 'LATE_FEE', credit_time: '2026-03-06', usagev: 1, aprice: 10 },
  { aid: 1, sid: 0, rate: 'NO_SUCH_FEE', credit_time: '2026-03-06', usagev: 1, aprice: -2.5 },
]

export const bulkcredit = moneyAction({
  name: 'bulkcredit',
  level: 'admin',
  about: 'Several credits in one call',
  body: { bytesMax: BODY_BYTES_MAX, json: { keysMax: CREDITS_MAX * KEYS_PER_CREDIT } },
  notEchoed: ['credits'],
  parameters: Type.Object({
    operation: param.optional(
      param.text('`credit` (default), or `query`: how far the call `stamp` is, with its lines.'),
    ),
    credits: param.optional(
      param.json(`At most ${CREDITS_MAX} credits, each with the parameters of \`credit\`.`),
    ),
    stamp: param.optional(
      param.text('`query`: the `stamp` of the answer, or the `Idempotency-Key` of the call.'),
    ),
    details: param.optional(param.text('`query`: `1` for the lines, `0` (default) for none.')),
    ...QUERY.properties,
  }),
  answer: ANSWER,
  example: {
    parameters: { credits: EXAMPLE, reason: 'Campaign of March' },
    answer: {
      status: 2,
      desc: '1 of 2 credits failed',
      message: '1 of 2 credits failed',
      operation: 'credit',
      stamp: '5f0c7e1a9b3d4c6e8f7a0b1c2d3e4f505f0c7e1a9b3d4c6e8f7a0b1c2d3e4f50',
      details: [
        { status: 1, stamp: '9b3f8a5d1c2e4f60718293a4b5c6d7e8', index: 0 },
        {
          status: 0,
          message: `Rate doesn't exist`,
          index: 1,
          errors: [{ path: 'credits.1.rate', code: 'invalid', why: `Rate doesn't exist` }],
        },
      ],
    },
  },
  isTracked: (raw) => (raw.get('operation') ?? 'credit') === 'credit',
  variant: (raw, call) => (raw.get('operation') === 'query' ? query(raw, call) : null),
  async run({ operation = 'credit', credits, reason = null }, call) {
    if (operation !== 'credit')
      throw new ActionError('Unrecognized operation', { path: 'operation' })
    if (credits === undefined) throw missingParameters(['credits'])
    if (!Array.isArray(credits) || credits.length === 0) {
      throw new ActionError('Input json is invalid', { path: 'credits' })
    }
    if (credits.length > CREDITS_MAX) {
      throw parameterError('credits', `has more than ${CREDITS_MAX} entries`)
    }
    refuseManyLines(credits)
    const fields = await readCreditFields(call.catalog)
    const results: CreditResult[] = []
    for (let begin = 0; begin < credits.length; begin += PART_SIZE) {
      const entries = credits.slice(begin, begin + PART_SIZE)
      results.push(...(await creditPart(call, entries, { begin, fields, reason })))
    }
    const failed = results.filter(({ status }) => status === 0).length
    const desc = `${failed} of ${results.length} credits failed`
    const status = failed === results.length ? 0 : 2
    const errors = firstErrors(
      results.flatMap((result) => (result.status === 0 ? result.errors : [])),
    )
    const refused = { status, desc, message: desc, ...(status === 0 && { errors }) }
    const summary = failed === 0 ? { status: 1 } : refused
    const stamped = { ...summary, operation, stamp: call.callId, details: results }
    return call.commit('finish credits', async () => stamped)
  },
})

function refuseManyLines(credits: readonly unknown[]): void {
  const numbers = credits.map((entry) => (isObject(entry) ? Number(entry['installments']) : 1))
  const lines = numbers.reduce((sum, number) => sum + Math.max(1, number || 1), 0)
  if (lines <= LINES_PER_CALL_MAX) return
  throw parameterError('credits', `has more than ${LINES_PER_CALL_MAX} installments`)
}

const STATES = {
  received: 'File received',
  running: 'In progress',
  interrupted: 'Interrupted',
  done: 'Done processing',
} as const

/** How far a call is; clients know the texts. */
async function query(raw: RawParameters, call: MoneyCall): Promise<BulkAnswer> {
  const [stamp, details] = [raw.get('stamp'), raw.get('details') ?? '0']
  if (typeof stamp !== 'string' || stamp === '')
    throw new ActionError('Stamp is missing', { path: 'stamp', code: 'missing' })
  if (!['0', '1'].includes(String(details))) {
    throw new ActionError('details could be either "0" or "1"', { path: 'details' })
  }
  const { page = 0, size = LINES_MAX } = castParameters(QUERY, raw, castOptions({}, call))
  const { catalog, config } = call
  const owner = { action: 'bulkcredit', caller: call.actor.id }
  const found = await readProgress(catalog, stamp, owner)
  if (found === null) throw new ActionError(`File ${textOf(stamp)} not found`, { path: 'stamp' })
  const results = found.results as readonly CreditResult[]
  const stamps = results.flatMap((result) =>
    result.status === 1 ? (result.stamps ?? [result.stamp]) : [],
  )
  const answer = { desc: STATES[found.state], operation: 'query', stamp: found.id }
  const counted = { ...answer, count: stamps.length }
  if (String(details) === '0') return counted
  const pageStamps = stamps.slice(page * size, (page + 1) * size)
  const lines = await catalog.reads.lines.find({ stamp: { $in: pageStamps } }).toArray()
  const byStamp = new Map(lines.map((line) => [line.stamp, line]))
  const shape = { timeZone: config.rating.timeZone, dateFields: LINE_DATES }
  const shown = pageStamps.flatMap((each) => byStamp.get(each) ?? [])
  return { ...counted, details: shown.map((line) => readView({ ...line }, shape)) }
}

interface Part {
  /** Position of its first entry in the call. */
  readonly begin: number
  readonly fields: CreditFields
  readonly reason: string | null
}

async function creditPart(
  call: MoneyCall,
  entries: readonly unknown[],
  part: Part,
): Promise<readonly CreditResult[]> {
  const { begin } = part
  const results = await call.commitPart(begin / PART_SIZE, (commit) =>
    withCurrentCycle(async () => {
      const { credits, lastKeys } = await preparedOf(call, entries, part)
      const lines = credits.flatMap((credit) => (credit instanceof Error ? [] : credit))
      return commit('write credits', async (session) => {
        await insertCredits(call, session, { lines, lastKeys })
        return credits.map((credit, index) => resultOf(credit, begin + index))
      })
    }),
  )
  return results as readonly CreditResult[]
}

/** The lines of each entry, or its error, in the order of the entries. */
async function preparedOf(
  call: MoneyCall,
  entries: readonly unknown[],
  part: Part,
): Promise<PreparedCredits> {
  const requests = entries.map((entry) => requestOf(call, entry, part))
  const valid = requests.flatMap((request) => (request instanceof Error ? [] : [request]))
  const { credits: prepared, lastKeys } = await prepareCredits(call, valid)
  let next = 0
  const credits = requests.map((request) => {
    if (request instanceof Error) return request
    next += 1
    return prepared[next - 1] ?? []
  })
  return { credits, lastKeys }
}

function requestOf(call: MoneyCall, entry: unknown, { fields, reason }: Part) {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    return new CreditRefusal('must be an object with the parameters of a credit', 'invalid')
  }
  const raw = new Map(Object.entries(entry))
  try {
    const { reason: own = reason, ...parameters } = castParameters(
      ENTRY,
      raw,
      castOptions({}, call),
    )
    return creditRequestOf(parameters, fields, own)
  } catch (error) {
    if (error instanceof CreditRefusal) return error
    const known = actionErrorOf(error)
    if (known === null) throw error
    return new CreditRefusal(known.message, known.issues)
  }
}

function resultOf(credit: PreparedCredit, index: number): CreditResult {
  if (credit instanceof Error) {
    const isProcess = credit instanceof CreditProcessError
    const message = isProcess ? `${credit.message}: ${credit.reason}` : credit.message
    const issues = credit.issues.map((issue) => issueUnder(`credits.${index}`, issue))
    return { status: 0, message, index, errors: answeredIssues(issues) }
  }
  const stamps = credit.map(({ stamp }) => stamp)
  const isInstallment = credit[0]?.installments !== undefined
  return { status: 1, stamp: stamps[0] ?? '', ...(isInstallment && { stamps }), index }
}
