/** `POST /api/rerate`, and `GET /api/rerates`: how far a run of it is. */
import { Type } from '@sinclair/typebox'
import { openRerateSource } from '../../billing/rerate/account-prices.ts'
import {
  previewRerate,
  type ReratedAccount,
  type RerateSelection,
  selectionFault,
} from '../../billing/rerate/preview.ts'
import { ObjectId } from '../../catalog/collections.ts'
import * as schema from '../../catalog/entities/json-schema.ts'
import type { JobDocument } from '../../catalog/records/job-document.ts'
import { dateText } from '../../entities/views.ts'
import { ORIGIN } from '../../intake/prepared-chunk.ts'
import { beginRerate, EXTERNAL_SUBSCRIBERS } from '../../jobs/rerate-job.ts'
import { ActionError, parameterError } from '../../requests/errors.ts'
import { action } from './action.ts'
import { cycleOf } from './billrun/cycle-of.ts'
import { param } from './parameters.ts'

const ACCOUNTS_MAX = 1_000
const PAGE_SIZE = 100
const PAGE_MAX = 1_000_000

const amounts = (description: string) =>
  schema.closed(description, {
    aprice: schema.text('Before tax.'),
    final_charge: schema.text('With tax.'),
  })

const ACCOUNT = {
  aid: schema.integer('The account.'),
  cycle: schema.text('Key of the cycle.'),
  invoice: schema.orNull(
    schema.closed('An invoice.', {
      id: schema.integer('Its number.'),
      state: schema.choice(['computed', 'confirmed', 'not_for_bill'], 'Its state.'),
    }),
    'The invoice of the cycle.',
  ),
  lines: schema.integer('Lines of usage in the cycle.'),
  changed: schema.integer('Lines with another price or other payments.'),
  difference: amounts('Sum of the differences.'),
  on_confirmed: amounts('The part of it that is on a confirmed invoice.'),
  refused: schema.listOf(
    schema.closed('A line.', {
      stamp: schema.text('Its stamp.'),
      reason: schema.text('Reason (docs/BILLING-CYCLE.md).'),
      text: schema.text('The reason in words.'),
    }),
    'Lines that cannot be rerated; then no line of the account in the cycle is.',
  ),
}

const CHANGED_LINE = schema.closed('A line.', {
  stamp: schema.text('Its stamp.'),
  aid: schema.integer('The account.'),
  sid: schema.integer('The subscriber.'),
  urt: schema.text('Its time.'),
  before: amounts('As charged.'),
  after: amounts('As it would be charged today.'),
  difference: amounts('After minus before.'),
})

const TOTALS = {
  accounts: schema.integer('Accounts, once for each cycle.'),
  refused: schema.integer('Of them, those that cannot be rerated.'),
  lines: schema.integer('Lines of usage.'),
  changed: schema.integer('Of them, those that would change.'),
  difference: amounts('Sum of the differences.'),
  on_confirmed: amounts('The part of it that is on confirmed invoices.'),
  largest: schema.listOf(CHANGED_LINE, 'The ten largest differences.'),
}

const NO_AMOUNTS = { aprice: '0', final_charge: '0' }

export const rerate = action({
  name: 'rerate',
  level: 'admin',
  about: "Price recorded usage again by today's catalogue, in the background; or a preview of it",
  parameters: Type.Object({
    from: param.date('Accounts with usage from then on; not before the last cycle.'),
    to: param.optional(param.date('And before then; now if absent.')),
    rate: param.optional(param.text('Only accounts with such lines of this rate.')),
    plan: param.optional(param.text('Only accounts with such lines of this plan.')),
    sid: param.optional(param.integer('Only the account of this subscriber.', { minimum: 1 })),
    file_type: param.optional(
      param.text('Only accounts with such lines of records of this file type.'),
    ),
    dry_run: param.optional(param.flag('Only show what would change.')),
  }),
  answer: {
    details: schema.either(
      'The job, or with `dry_run` the preview.',
      schema.closed('A job.', { job: schema.text('Its id, for `rerates`.') }),
      schema.closed('What would change.', {
        accounts: schema.listOf(
          schema.closed('An account in a cycle.', ACCOUNT),
          `The first ${ACCOUNTS_MAX} accounts that would change, or cannot be rerated.`,
        ),
        totals: schema.closed('Of all accounts.', TOTALS),
      }),
    ),
  },
  example: {
    parameters: { from: '2026-11-01', rate: 'CALL_UK', dry_run: true },
    answer: {
      details: {
        accounts: [],
        totals: {
          ...{ accounts: 0, refused: 0, lines: 0, changed: 0 },
          ...{ difference: NO_AMOUNTS, on_confirmed: NO_AMOUNTS, largest: [] },
        },
      },
    },
  },
  async run({ from, to, rate = '', plan = '', sid = 0, file_type, dry_run = false }, call) {
    const { config, nowMs, liveCatalogue } = call
    const selection: RerateSelection = {
      ...{ fromMs: from.getTime(), toMs: to?.getTime() ?? nowMs + 1, rateKey: rate, plan, sid },
      origin: file_type === undefined ? '' : `${ORIGIN}/${file_type}`,
    }
    const fault = selectionFault(selection, liveCatalogue.settings.cycleAt(nowMs, nowMs))
    if (fault !== null) throw parameterError(fault.path, fault.text)
    if ((await cycleOf(call).openAccounts()).isExternal) {
      throw new ActionError(EXTERNAL_SUBSCRIBERS, 'refused')
    }
    if (!dry_run) {
      const order = { ...selection, toMs: to?.getTime() ?? null }
      const job = await beginRerate(call, order, call.actor)
      if (job === null) throw new ActionError('Other usage is being rerated', 'refused')
      return { details: { job: job._id.toHexString() } }
    }
    const source = await openRerateSource({ ...call, catalogue: liveCatalogue }, config)
    const accounts: ReratedAccount[] = []
    const totals = await previewRerate({ ...source, ledger: call.ledger }, selection, (one) => {
      const isShown = one.changed > 0 || one.refused.length > 0
      if (isShown && accounts.length < ACCOUNTS_MAX) accounts.push(one)
      return call.signal?.aborted !== true
    })
    const largest = totals.largest.map((line) => {
      return { ...line, urt: dateText(line.urt.getTime(), config.rating.timeZone) }
    })
    return { details: { accounts, totals: { ...totals, largest } } }
  },
})

const STATES = ['planned', 'partial', 'applied', 'unchanged', 'refused'] as const

export const rerates = action({
  name: 'rerates',
  level: 'read',
  about: 'How far a run of `rerate` is, and its accounts',
  isReadByGet: true,
  isPassive: true,
  parameters: Type.Object({
    job: param.optional(param.text('Id of the job; that of the last run if absent.')),
    state: param.optional(param.choice(STATES, 'Only accounts in this state.')),
    page: param.optional(param.integer('From 0.', { minimum: 0, maximum: PAGE_MAX })),
    size: param.optional(
      param.integer(`Accounts per page; ${PAGE_SIZE} by default.`, {
        minimum: 1,
        maximum: ACCOUNTS_MAX,
      }),
    ),
  }),
  answer: {
    details: schema.closed('The run.', {
      job: schema.orNull(
        schema.closed('A job.', {
          id: schema.text('Its id.'),
          state: schema.choice(['queued', 'running', 'waiting', 'done'], 'Its state.'),
          counts: schema.mapOf(schema.integer('Their number.'), 'Accounts and lines by result.'),
          error: schema.text('Error of the last attempt; empty without one.'),
          created: schema.text('When it was begun.'),
          ended: schema.orNull(schema.text('The time.'), 'When it was done.'),
        }),
        'The job; null if there was none.',
      ),
      accounts: schema.listOf(
        schema.closed('An account in a cycle.', {
          ...ACCOUNT,
          state: schema.choice(
            STATES,
            '`planned`, `partial`: not done yet, although some lines may have changed.',
          ),
        }),
        'In the order of their numbers.',
      ),
      next_page: schema.flag('Whether there are further accounts.'),
    }),
  },
  example: {
    parameters: { state: 'refused' },
    answer: { details: { job: null, accounts: [], next_page: false } },
  },
  async run({ job: id, state, page = 0, size = PAGE_SIZE }, { catalog, config }) {
    if (id !== undefined && !ObjectId.isValid(id)) throw parameterError('job', 'is no id of a job')
    const which = { kind: 'rerate' as const, ...(id !== undefined && { _id: new ObjectId(id) }) }
    const [job] = await catalog.reads.jobs.find(which).sort({ _id: -1 }).limit(1).toArray()
    if (job === undefined) return { details: { job: null, accounts: [], next_page: false } }
    const found = await catalog.reads.rerates
      .find({ job: job._id, ...(state !== undefined && { state }) })
      .sort({ aid: 1, cycle: 1 })
      .skip(page * size)
      .limit(size + 1)
      .project({ chunk: 0, done: 0, job: 0, seq: 0, _id: 0 })
      .toArray()
    return {
      details: {
        job: jobView(job, config.rating.timeZone),
        accounts: found.slice(0, size) as (ReratedAccount & { state: (typeof STATES)[number] })[],
        next_page: found.length > size,
      },
    }
  },
})

function jobView({ _id, state, counts, error, created, ended }: JobDocument, timeZone: string) {
  const time = (date: Date) => dateText(date.getTime(), timeZone)
  return {
    ...{ id: _id.toHexString(), state, counts, error, created: time(created) },
    ended: ended === null ? null : time(ended),
  }
}
