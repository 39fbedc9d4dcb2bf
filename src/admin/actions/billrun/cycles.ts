/** `/billrun/cycles`, `cycle` and `chargestatus`. */
import { Type } from '@sinclair/typebox'
import { calendarOf } from '../../../billing/credit/credits.ts'
import { keyAfter, keyAt } from '../../../billing/cycle/cycle-key.ts'
import { type RunName, runIdOf } from '../../../billing/cycle/run-cycle.ts'
import { readParked } from '../../../billing/run/parked.ts'
import {
  type CycleState,
  completionPercent,
  countInvoices,
  percentOf,
  sumUnconfirmed,
  timeStatusOf,
} from '../../../billing/run/status.ts'
import {
  closed,
  flag,
  integer,
  listOf,
  number,
  text,
} from '../../../catalog/entities/json-schema.ts'
import { isCycleKey } from '../../../domain/cycle.ts'
import { localTime } from '../../../domain/time.ts'
import { parameterError } from '../../../requests/errors.ts'
import { type ActionCall, action } from '../action.ts'
import { param } from '../parameters.ts'
import { INVOICING_DAY, namedCycle, readSettings, STAMP, stateOf } from './parameters.ts'

const KEPT_MONTHS = 24
const CYCLES_MAX = 100

const ROW = {
  billrun_key: text('Key of the cycle.'),
  start_date: text('First instant, `YYYY-MM-DD hh:mm:ss` in the time zone of the installation.'),
  end_date: text('First instant after it.'),
}

export const cycles = action({
  family: 'billrun',
  name: 'cycles',
  level: 'read',
  about: 'List billing cycles and their states',
  isReadByGet: true,
  parameters: Type.Object({
    from: param.optional(param.text('Oldest key; 24 months back by default.')),
    to: param.optional(param.text('Newest key; that of the current cycle by default.')),
    stamp: param.optional(param.text('The only key.')),
    newestFirst: param.optional(param.flag('Order; true by default.')),
    timeStatus: param.optional(
      param.flag('Whether `cycle_time_status` (`past`, `present`, `future`) is wanted.'),
    ),
    invoicing_day: INVOICING_DAY,
  }),
  answer: {
    details: listOf(
      closed(
        'A cycle.',
        {
          ...ROW,
          cycle_status: text(
            '`future`, `current`, `to_run`, `running`, `finished`, `to_rerun` or `confirmed`.',
          ),
          cycle_time_status: text('In place of it with `timeStatus`.'),
        },
        ['cycle_status', 'cycle_time_status'],
      ),
      'Cycles.',
    ),
  },
  example: {
    parameters: { from: '202610', to: '202610' },
    answer: {
      details: [
        {
          billrun_key: '202610',
          start_date: '2026-09-01 00:00:00',
          end_date: '2026-10-01 00:00:00',
          cycle_status: 'confirmed',
        },
      ],
    },
  },
  async run(parameters, call) {
    const keys = keysOf(parameters, call)
    const invoicingDay = await dayOf(parameters.invoicing_day, call)
    const details = []
    for (const key of keys) {
      const state = await stateOf(call, { key, invoicingDay })
      const status =
        parameters.timeStatus === true
          ? { cycle_time_status: timeStatusOf(state.cycle, call.nowMs) }
          : { cycle_status: state.status }
      details.push({ ...rowOf(state, call), ...status })
    }
    return { details }
  },
})

interface CycleRange {
  readonly from?: string
  readonly to?: string
  readonly stamp?: string
  readonly newestFirst?: boolean
}

function keysOf({ stamp, newestFirst = true, ...range }: CycleRange, call: ActionCall): string[] {
  const current = keyAt(call.nowMs, calendarOf(call.config))
  const { from = keyAfter(current, -KEPT_MONTHS), to = current } = range
  const [first, last] = stamp === undefined ? [from, to] : [stamp, stamp]
  for (const [name, key] of Object.entries(stamp === undefined ? { from, to } : { stamp })) {
    if (!isCycleKey(key)) throw parameterError(name, 'must be a cycle key such as 202601')
  }
  const keys: string[] = []
  // The newest ones, if there are too many.
  for (let key = last; key >= first && keys.length < CYCLES_MAX; key = keyAfter(key, -1))
    keys.push(key)
  return newestFirst ? keys : keys.reverse()
}

/** The invoicing day; the day of the installation if a list names none. */
async function dayOf(value: string | undefined, call: ActionCall): Promise<number | null> {
  if (!(await readSettings(call)).multi_day_cycle) return null
  if (value === undefined) return call.config.rating.cycleDay
  const { invoicingDay } = await namedCycle(
    call,
    { stamp: '202601', invoicing_day: value },
    REFUSED,
  )
  return invoicingDay
}

const REFUSED = {
  stamp: 'Need to pass correct billrun key',
  day: 'Need to pass invoicing day when on multi day cycle mode.',
}

function rowOf({ cycle: { key, cycle } }: CycleState, { config }: ActionCall) {
  const { timeZone } = config.rating
  return {
    billrun_key: key,
    start_date: dateText(cycle.startMs, timeZone),
    end_date: dateText(cycle.endMs, timeZone),
  }
}

function dateText(atMs: number, zone: string): string {
  const { year, month, day, hour, minute, second } = localTime(zone, atMs)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${year}-${two(month)}-${two(day)} ${two(hour)}:${two(minute)}:${two(second)}`
}

const STATE = {
  ...ROW,
  cycle_status: text('As in `cycles`.'),
  completion_percentage: number('Processed accounts, percent.'),
  generated_invoices: integer('Invoices of the cycle.'),
  generated_bills: integer('Confirmed invoices.'),
  confirmation_percentage: number('Of the invoices, after the run.'),
  generate_pdf: flag('As given to the run: it writes PDF files into `invoices.folder`.'),
  state: text('`running`, `paused` or `finished`; empty before the run.'),
  reason: text('Why the run is paused, or waits for MongoDB or the customer system.'),
  accounts: closed(
    'Accounts of the run, by result.',
    {
      total: integer('All.'),
      accounts: integer('Processed ones.'),
      invoices: integer('With an invoice.'),
      empty: integer('Without anything to invoice.'),
      confirmed: integer('Whose invoice is confirmed.'),
      failed: integer('Without result.'),
    },
    ['accounts', 'invoices', 'empty', 'confirmed', 'failed'],
  ),
  parked: integer('Accounts that failed and are not skipped.'),
  parked_accounts: listOf(
    closed('An account.', {
      aid: integer('The account.'),
      reason: text('Why it failed.'),
      tries: integer('How often it was tried.'),
    }),
    'The first of them.',
  ),
  unconfirmed: closed('With `totals`: the invoices that a confirmation may confirm.', {
    invoices: integer('Their number.'),
    before_vat: text('Sum before tax.'),
    after_vat: text('Sum after tax.'),
  }),
}

/** Failed accounts that an answer lists. */
const PARKED_LISTED = 100

export const cycle = action({
  family: 'billrun',
  name: 'cycle',
  level: 'read',
  about: 'Show a billing cycle, the progress of its run, and accounts that failed',
  isReadByGet: true,
  isPassive: true,
  parameters: Type.Object({
    stamp: STAMP,
    invoicing_day: INVOICING_DAY,
    totals: param.optional(param.flag('Whether `unconfirmed` is wanted: it reads all invoices.')),
  }),
  answer: { details: closed('The cycle.', STATE, ['confirmation_percentage', 'unconfirmed']) },
  example: {
    parameters: { stamp: '202610' },
    answer: {
      details: {
        billrun_key: '202610',
        start_date: '2026-09-01 00:00:00',
        end_date: '2026-10-01 00:00:00',
        cycle_status: 'running',
        completion_percentage: 41.5,
        generated_invoices: 415,
        generated_bills: 0,
        generate_pdf: false,
        state: 'running',
        reason: '',
        accounts: { total: 1000, accounts: 415, invoices: 415, empty: 0, confirmed: 0, failed: 0 },
        parked: 0,
        parked_accounts: [],
      },
    },
  },
  async run(parameters, call) {
    const name = await namedCycle(call, parameters, REFUSED)
    const state = await stateOf(call, name)
    const unconfirmed =
      parameters.totals === true
        ? { unconfirmed: await sumUnconfirmed(call.catalog, state.cycle, call.signal) }
        : {}
    const progress = await progressOf(state, name, call)
    return { details: { ...rowOf(state, call), ...progress, ...unconfirmed } }
  },
})

async function progressOf(
  { cycle, run, status }: CycleState,
  name: RunName,
  { catalog, cycle: parts }: ActionCall,
) {
  const { invoices, confirmed } = await countInvoices(catalog, cycle)
  const id = runIdOf(name)
  const parked = await readParked({ catalog }, { run: id, state: 'parked' })
  const hasEnded = status === 'finished' || status === 'confirmed' || status === 'to_rerun'
  return {
    cycle_status: status,
    completion_percentage: completionPercent(run),
    generated_invoices: invoices,
    generated_bills: confirmed,
    ...(hasEnded && { confirmation_percentage: percentOf(confirmed, invoices) }),
    generate_pdf: run?.generate_pdf ?? false,
    state: run?.state ?? '',
    reason: parts?.waiting.get(id) ?? run?.reason ?? '',
    accounts: { total: run?.total ?? 0, ...run?.counts },
    parked: parked.length,
    parked_accounts: parked.slice(0, PARKED_LISTED).map(({ aid, reason, tries }) => {
      return { aid, reason, tries }
    }),
  }
}

export const billrunChargestatus = action({
  family: 'billrun',
  name: 'chargestatus',
  level: 'read',
  about: 'Whether a confirmation or a charge of accounts may begin: none is running',
  isReadByGet: true,
  isPassive: true,
  parameters: Type.Object({
    stamp: param.optional(param.text('Only confirmations of this cycle; of all by default.')),
  }),
  answer: {
    details: listOf(closed('The state.', { status: flag('False while one is running.') }), 'One.'),
  },
  example: { parameters: { stamp: '202610' }, answer: { details: [{ status: true }] } },
  async run({ stamp }, { catalog }) {
    const confirmation = {
      kind: 'confirm',
      ...(stamp !== undefined && { subject: stamp }),
    } as const
    const running = await catalog.jobs.findOne({
      active: { $gt: '' },
      $or: [{ kind: 'charge' }, confirmation],
    })
    return { details: [{ status: running === null }] }
  },
})
