/** `resetlines`: requests to rate the lines of accounts again, which the job of rerating does. */
import { createHash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { calendarOf } from '../../billing/credit/credits.ts'
import { keyAt } from '../../billing/cycle/cycle-key.ts'
import { appendAudit } from '../../catalog/audit/audit.ts'
import { ObjectId } from '../../catalog/collections.ts'
import { customFields, listOf } from '../../catalog/entities/json-schema.ts'
import type { RebalanceDocument } from '../../catalog/records/usage/rebalance-document.ts'
import type { Config } from '../../config/schema.ts'
import { present } from '../../domain/assert.ts'
import { isCycleKey } from '../../domain/cycle.ts'
import { type Fields, isObject } from '../../domain/fields.ts'
import { DEFINITIONS } from '../../entities/definitions/collections.ts'
import { addJob } from '../../jobs/jobs.ts'
import { rerateJob } from '../../jobs/rerate-job.ts'
import { integerOf } from '../../requests/cast-value.ts'
import { ActionError, ApiError } from '../../requests/errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type ActionCall, action } from './action.ts'
import { openFilter } from './open-query.ts'
import { QUEUED_LINES, rebalanceView } from './operation-view.ts'
import { JSON_TEXT, param, WHOLE_NUMBERS } from './parameters.ts'

const ACCOUNTS_MAX = 1_000

export const resetlines = action({
  name: 'resetlines',
  level: 'write',
  about: 'Queue accounts whose recorded usage is priced again, in the background',
  parameters: Type.Object({
    aid: param.optional(param.json('Accounts.', ...WHOLE_NUMBERS)),
    billrun_key: param.optional(param.text('Key of the cycle; the current one by default.')),
    query: param.optional(
      param.json('Conditions on the lines.', customFields('By field.'), JSON_TEXT),
    ),
  }),
  answer: {
    details: listOf(
      QUEUED_LINES,
      'One for each account; an equal one that waits already is not added again.',
    ),
  },
  example: {
    parameters: { aid: [1001], billrun_key: '202611', query: { usaget: 'data' } },
    answer: { details: [] },
  },
  async run({ aid: accounts, billrun_key: cycleKey = '', query }, call) {
    const aids = accountsIn(accounts)
    if (cycleKey !== '' && !isCycleKey(cycleKey))
      throw new ActionError('Illegal billrun key', { path: 'billrun_key' })
    const key = cycleKey === '' ? keyAt(call.nowMs, calendarOf(call.config)) : cycleKey
    const conditions = conditionsIn(query, call)
    const queued = await enqueue(call, key, aids, conditions)
    return { details: queued.map((one) => rebalanceView(one, call)) }
  },
})

function accountsIn(value: unknown): readonly number[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : String(value ?? '').split(',')
  const filled = list.filter((each) => each !== '' && each !== null)
  if (filled.length === 0)
    throw new ActionError('Please supply at least one aid', { path: 'aid', code: 'missing' })
  if (filled.length > ACCOUNTS_MAX)
    throw new ActionError(`Maximum of aid is ${ACCOUNTS_MAX}`, { path: 'aid' })
  const aids = filled.map((each) => integerOf(typeof each === 'string' ? each.trim() : each))
  const isLegal = (aid: number | null): aid is number => aid !== null && aid > 0
  if (!aids.every(isLegal)) throw new ActionError('Illegal aid', { path: 'aid' })
  return [...new Set(aids)]
}

/** As sent, if lines can be queried by it. */
function conditionsIn(value: unknown, call: ActionCall): Fields {
  if (value === undefined || value === '') return {}
  if (Array.isArray(value) && value.length === 0) return {}
  const definition = DEFINITIONS.get('lines')
  if (!isObject(value) || definition === undefined)
    throw new ActionError('Illegal query', { path: 'query' })
  try {
    openFilter(value, definition, call)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw new ActionError(`Illegal query: ${error.message}`, { path: 'query' })
  }
  return value
}

interface QueuedTimes {
  readonly config: Pick<Config, 'rating'>
  readonly clock: Clock
}

/** Conditions of a queued request as a filter of lines, as checked when it was queued. */
export function queuedFilter({ config, clock }: QueuedTimes) {
  return (conditions: Fields): Fields => {
    const definition = present(DEFINITIONS.get('lines'), 'the collection of lines')
    return openFilter(conditions, definition, { config, nowMs: clock.nowMs() }) as Fields
  }
}

async function enqueue(
  { catalog, clock, actor, nowMs }: ActionCall,
  key: string,
  aids: readonly number[],
  conditions: Fields,
): Promise<readonly RebalanceDocument[]> {
  const text = JSON.stringify(conditions)
  const hash = digestOf(text)
  const requests = aids.map((aid) => ({ aid, stamp: digestOf(`${aid}/${key}/${hash}`) }))
  const filter = { stamp: { $in: requests.map(({ stamp }) => stamp) } }
  await catalog.transaction('queue lines', async (session) => {
    const waiting = await catalog.rebalance.find(filter, { projection: { stamp: 1 } }).toArray()
    const known = new Set(waiting.map(({ stamp }) => stamp))
    const added = requests.filter(({ stamp }) => !known.has(stamp))
    if (added.length === 0) return
    const documents = added.map(({ aid, stamp }) => ({
      _id: new ObjectId(),
      aid,
      billrun_key: key,
      conditions: text,
      conditions_hash: hash,
      stamp,
      state: 'waiting' as const,
      creation_date: new Date(nowMs),
    }))
    await catalog.rebalance.insertMany(documents, { session })
    const entries = documents.map(({ stamp, aid }) => ({
      collection: 'rebalance_queue',
      type: 'create',
      key: stamp,
      new: { aid, billrun_key: key, conditions },
    }))
    appendAudit(session, actor, nowMs, ...entries)
    await addJob({ catalog, clock }, session, rerateJob(null, actor))
  })
  return catalog.rebalance.find(filter).sort({ aid: 1 }).toArray()
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
