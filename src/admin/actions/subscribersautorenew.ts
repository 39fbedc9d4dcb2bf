/** `POST /api/subscribersautorenew`: auto-renewals of a subscriber by charging plan and dates. */
import { Type } from '@sinclair/typebox'
import type { RawDocument } from '../../catalog/compile/document.ts'
import {
  choice,
  customFields,
  date,
  either,
  integer,
  listOf,
  object,
  orNull,
  ref,
  text,
} from '../../catalog/entities/json-schema.ts'
import { NOT_DELETED } from '../../catalog/revisions/validity.ts'
import { type Fields, isObject } from '../../domain/fields.ts'
import { readView } from '../../entities/views.ts'
import type { Interval } from '../../prepaid/autorenew/schedule.ts'
import {
  findRenewals,
  type RequestedRenewal,
  replaceRenewals,
  upsertRenewal,
} from '../../prepaid/autorenew/upsert.ts'
import { asActionError, EntityRuleError, fieldRule } from '../../requests/errors.ts'
import { parseJson } from '../../requests/json-text.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import { type ActionCall, type AnswerOf, action, type EntityAction } from './action.ts'
import { dateAt, memberAt, positiveIntegerOf, refuseOthers } from './members.ts'
import { JSON_TEXT, param } from './parameters.ts'

const INTERVALS: readonly Interval[] = ['day', 'week', 'month']
const OPERATIONS = ['inc', 'set'] as const
const METHODS = ['query', 'update', 'bydelta'] as const

/** Codes of the errors of each method, in `display.code`. */
const CODES = { query: 1300, update: 1320, bydelta: 1340 } as const

const INTERVAL = choice(INTERVALS, '`month` by default.')
const OPERATION = choice(OPERATIONS, '`inc` by default.')
const EXPECTED = either(
  'An auto-renewal.',
  object(
    'Its terms.',
    {
      charging_plan: text('Name of the charging plan.'),
      from: date('Begin.'),
      to: date('End.'),
      interval: INTERVAL,
      operation: OPERATION,
    },
    ['charging_plan', 'to'],
  ),
  JSON_TEXT,
)

const renewalTime = (description: string) => ref<unknown>('dateText', description)
const stored = (description: string, ...types: readonly string[]) => ({ description, type: types })

const RENEWAL = object('An auto-renewal.', {
  _id: ref('id'),
  aid: integer('The account.'),
  sid: integer('The subscriber.'),
  charging_plan_name: text('Name of the charging plan.'),
  charging_plan_external_id: stored('Its number.', 'integer', 'string', 'null'),
  interval: text('`day`, `week` or `month`.'),
  operation: stored('`inc` or `set`; null if nothing says.', 'string', 'null'),
  from: renewalTime('Begin.'),
  to: renewalTime('End.'),
  creation_time: renewalTime('When it was created.'),
  last_renew_date: orNull(renewalTime('The time.'), 'The last renewal.'),
  next_renew_date: orNull(renewalTime('The time.'), 'The next renewal.'),
  done: integer('Number of renewals that were done.'),
  remain: integer('Number of renewals that remain.'),
  includes: either(
    'The charging plan: what is loaded.',
    customFields('By usage type or name.'),
    listOf(customFields('A bucket.'), 'Each.'),
  ),
})

const ANSWER = { details: listOf(RENEWAL, 'Auto-renewals.') } as const

type RenewalAnswer = AnswerOf<typeof ANSWER>

const PARAMETERS = Type.Object({
  method: param.choice(METHODS, 'What to do.'),
  query: param.optional(
    param.object('query: `sid`, `from`, `to`; update: `sid`, `charging_plan`, `from`.'),
  ),
  upsert: param.optional(
    param.object('update: `to`, `interval` (day, week, month), `operation` (inc, set).'),
  ),
  sid: param.optional(param.integer('bydelta: the subscriber.', { minimum: 1 })),
  expected: param.optional(
    param.list(EXPECTED, 'bydelta: all auto-renewals that the subscriber shall have.'),
  ),
})

type Parameters = (typeof PARAMETERS)['static']

export const subscribersautorenew = action({
  name: 'subscribersautorenew',
  level: ['read', 'write'],
  about: 'Query and change auto-renewals of a subscriber',
  entityActions: entityActionsOf,
  parameters: PARAMETERS,
  answer: ANSWER,
  example: {
    parameters: { method: 'query', query: { sid: 2 } },
    answer: { desc: 'Success querying auto renew', details: [] },
  },
  async run(parameters, call) {
    const { method } = parameters
    try {
      return await RUN[method](parameters, call)
    } catch (error) {
      if (!(error instanceof EntityRuleError)) throw error
      throw asActionError(error, CODES[method])
    }
  },
})

function entityActionsOf(raw: RawParameters): readonly EntityAction[] {
  const collection = 'autorenew'
  const method = raw.get('method')
  if (method === 'query') return [{ collection, action: 'get' }]
  if (method !== 'update' && method !== 'bydelta') return []
  return [
    { collection, action: 'create' },
    { collection, action: 'update' },
  ]
}

type RunMethod = (parameters: Parameters, call: ActionCall) => Promise<RenewalAnswer>

const RUN: Readonly<Record<(typeof METHODS)[number], RunMethod>> = {
  async query({ query }, call) {
    if (query === undefined) throw fieldRule('query', 'is missing', 'missing')
    refuseOthers(query, ['sid', 'from', 'to'], 'query')
    const filter = { sid: sidAt(query), ...periodOf(query, call) }
    const found = await findRenewals(call.catalog, filter)
    return { desc: 'Success querying auto renew', details: await viewsOf(found, call) }
  },

  async update({ query, upsert }, call) {
    if (query === undefined) throw fieldRule('query', 'is missing', 'missing')
    if (upsert === undefined) throw fieldRule('upsert', 'is missing', 'missing')
    refuseOthers(query, ['sid', 'charging_plan', 'from'], 'query')
    refuseOthers(upsert, ['to', 'interval', 'operation'], 'upsert')
    const sid = sidAt(query)
    const plan = planAt(query, 'query')
    const from = dateAt(query, 'from', 'query', call)
    const stored = await upsertRenewal(call, sid, {
      plan,
      from,
      ...termsOf(upsert, 'upsert', call),
    })
    return { desc: 'Success upserting auto renew', details: await viewsOf([stored], call) }
  },

  async bydelta({ sid, expected }, call) {
    if (sid === undefined) throw fieldRule('sid', 'is missing', 'missing')
    if (expected === undefined) throw fieldRule('expected', 'is missing', 'missing')
    const requested = expected.map((entry, index) => requestedAt(entry, `expected.${index}`, call))
    refuseRepeated(requested)
    const stored = await replaceRenewals(call, sid, requested)
    return { desc: 'Success updating auto renew by delta', details: await viewsOf(stored, call) }
  },
}

function requestedAt(entry: unknown, path: string, call: ActionCall): RequestedRenewal {
  const fields = typeof entry === 'string' ? parseJson(entry, path) : entry
  if (!isObject(fields)) throw fieldRule(path, 'must be an object')
  const { charging_plan: _, from, ...terms } = fields
  refuseOthers(terms, ['to', 'interval', 'operation'], path)
  return {
    plan: planAt(fields, path),
    from: from === undefined ? undefined : dateAt(fields, 'from', path, call),
    ...termsOf(terms, path, call),
  }
}

function refuseRepeated(requested: readonly RequestedRenewal[]): void {
  const plans = requested.map(({ plan }) => plan)
  const index = plans.findIndex((plan, at) => plans.indexOf(plan) < at)
  if (index === -1) return
  throw fieldRule(`expected.${index}.charging_plan`, `${plans[index]} is repeated`)
}

function termsOf(
  terms: Fields,
  path: string,
  call: ActionCall,
): Pick<RequestedRenewal, 'to' | 'interval' | 'operation'> {
  const { interval = 'month', operation = 'inc' } = terms
  return {
    to: dateAt(terms, 'to', path, call),
    interval: choiceAt(interval, `${path}.interval`, INTERVALS),
    operation: choiceAt(operation, `${path}.operation`, OPERATIONS),
  }
}

function choiceAt<T extends string>(value: unknown, path: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value)
  if (found !== undefined) return found
  throw fieldRule(path, `must be one of ${choices.join(', ')}`)
}

function planAt(fields: Fields, path: string): string {
  const plan = memberAt(fields, 'charging_plan', path)
  if (typeof plan === 'string' && plan !== '') return plan
  throw fieldRule(`${path}.charging_plan`, 'must be the name of a charging plan')
}

function sidAt(query: Fields): number {
  const sid = positiveIntegerOf(memberAt(query, 'sid', 'query'))
  if (sid !== null) return sid
  throw fieldRule('query.sid', 'must be a positive integer')
}

const ANY = '*'

/** Renewals that are open now, or in the period of the parameters; `*` does not limit that side. */
function periodOf(query: Fields, call: ActionCall): Fields {
  const { nowMs } = call
  const boundAt = (name: string) => {
    const isOpen = query[name] === undefined || query[name] === ANY
    return isOpen ? null : dateAt(query, name, 'query', call).getTime()
  }
  const [fromMs, toMs] = [boundAt('from'), boundAt('to')]
  const earliest = new Date(fromMs ?? Math.min(nowMs, toMs ?? nowMs))
  const latest = new Date(toMs ?? Math.max(nowMs, fromMs ?? nowMs))
  return {
    ...(query['to'] !== ANY && { to: { $gte: earliest } }),
    ...(query['from'] !== ANY && { from: { $lte: latest } }),
  }
}

const DATES = ['last_renew_date', 'next_renew_date']

/** With the names of this call, and what the charging plan includes. */
async function viewsOf(renewals: readonly RawDocument[], call: ActionCall): Promise<Fields[]> {
  const { catalog, nowMs, config } = call
  const names = [...new Set(renewals.map(({ bucket_group: name }) => String(name)))]
  const at = new Date(nowMs)
  const filter = { name: { $in: names }, from: { $lte: at }, to: { $gt: at }, ...NOT_DELETED }
  const plans = await catalog.prepaidgroups.find(filter as object).toArray()
  const byName = new Map(plans.map((plan) => [plan.name, plan as unknown as Fields]))
  const shape = { timeZone: config.rating.timeZone, dateFields: DATES }
  return renewals.map((renewal) => {
    const { bucket_group: name, cycles, cycles_remaining: remain } = renewal
    const plan = byName.get(String(name))
    return readView(
      {
        _id: renewal._id,
        aid: renewal['aid'],
        sid: renewal['sid'],
        charging_plan_name: name,
        charging_plan_external_id: plan?.['external_id'] ?? null,
        interval: renewal['interval'],
        operation: renewal['operation'] ?? plan?.['operation'] ?? null,
        from: renewal['from'],
        to: renewal['to'],
        creation_time: renewal['creation_time'],
        last_renew_date: renewal['last_renew'] ?? null,
        next_renew_date: Number(remain) > 0 ? (renewal['next_renew'] ?? null) : null,
        done: Number(cycles) - Number(remain),
        remain,
        includes: plan?.['include'] ?? [],
      },
      shape,
    )
  })
}
