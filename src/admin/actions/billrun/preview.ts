/** `/billrun/preview`: the invoices that a run would make, and how they differ. */
import { Type } from '@sinclair/typebox'
import { readAssumed } from '../../../billing/run/assumed.ts'
import { type AccountPreview, previewAccounts } from '../../../billing/run/preview.ts'
import {
  ASSUMED_ELSEWHERE,
  BACK,
  BACK_MAX,
  checkAccounts,
  isShown,
  mayAssume,
  NO_TOTALS,
  type PreviewTotals,
  previewHead,
  withAccount,
} from '../../../billing/run/preview-report.ts'
import {
  choice,
  closed,
  integer,
  listOf,
  orNull,
  text,
} from '../../../catalog/entities/json-schema.ts'
import { FieldError, isObject, isUnset } from '../../../domain/fields.ts'
import { amountOf } from '../../../requests/cast-value.ts'
import { ActionError, fieldRule, parameterError } from '../../../requests/errors.ts'
import { type ActionCall, action } from '../action.ts'
import { param } from '../parameters.ts'
import { cycleOf } from './cycle-of.ts'
import { INVOICING_DAY, namedCycle, STAMP, stateOf } from './parameters.ts'

/** Accounts that a call computes. */
const ACCOUNTS_MAX = 100
/** Computed in one go: other calls of this process wait for it. */
const PAGE_SIZE = 20
const AID_MAX = 999_999_999_999_999

const REFUSED = {
  stamp: 'Need to pass correct billrun key',
  day: 'Need to pass invoicing day when on multi day cycle mode.',
}

const LINE = {
  line: text('Subscriber, kind, name, cycle and kind of charge, separated by `/`.'),
  from: text('Begin of the charged period.'),
  to: text('Its end.'),
  stored: orNull(text('Money.'), 'Before tax; null without such a line.'),
  wanted: orNull(text('Money.'), 'What a run would store.'),
  difference: text('Difference.'),
}

const OFFER = {
  sid: integer('The subscriber.'),
  kind: choice(['plan', 'service'], 'Kind of offer.'),
  name: text('Its name.'),
  cycle: text('Key of the cycle.'),
}

const ACCOUNT = closed(
  'An account.',
  {
    aid: integer('The account.'),
    total: orNull(text('Money.'), 'After tax; null without an invoice.'),
    stored: orNull(text('Money.'), 'Of the invoice that it is compared with.'),
    changes: listOf(closed('A line that differs.', LINE), 'Lines that differ.'),
    others: closed('Usage and credits before tax.', {
      wanted: text('Of the computed invoice.'),
      stored: text('Of the stored one.'),
    }),
    price_changes: listOf(
      closed('A charge.', {
        ...OFFER,
        since: text('When the price changes.'),
        rule: text('The rule that applies.'),
        amount: text('Money by this rule.'),
        other_amount: orNull(text('Money.'), 'By the other rule.'),
      }),
      'Charges whose price changes within the charged period.',
    ),
    tax_changes: listOf(
      closed('A charge.', {
        ...OFFER,
        charged: text('Taxes that were charged.'),
        in_force: text('Taxes in force.'),
        difference: text('Difference.'),
      }),
      'Charges paid ahead that keep other taxes than those at the end of their supply.',
    ),
    not_returned: listOf(
      closed('A line.', { ...LINE, cycle: text('Key of the cycle of its invoice.') }),
      'Lines of confirmed invoices that no run corrects.',
    ),
    failed: text('Why the account cannot be computed.'),
  },
  ['failed'],
)

const TOTALS = {
  accounts: integer('Computed accounts.'),
  invoices: integer('Accounts with an invoice.'),
  changed: integer('Accounts with lines that differ.'),
  failed: integer('Accounts that cannot be computed.'),
  total: text('Sum of the computed invoices, after tax.'),
  stored: text('Sum of those that they are compared with.'),
  difference: text('Difference of the sums.'),
  price_changes: integer('Accounts with changed prices.'),
  not_returned: text('Sum of what no run corrects.'),
}

export const preview = action({
  family: 'billrun',
  name: 'preview',
  level: 'read',
  about: 'Compute invoices without storing them, and compare them',
  parameters: Type.Object({
    stamp: STAMP,
    invoicing_day: INVOICING_DAY,
    aid: param.optional(
      param.integer('The only account; without it all, page by page.', {
        minimum: 1,
        maximum: AID_MAX,
      }),
    ),
    after: param.optional(
      param.integer('`next` of the answer before; from the first account if not given.', {
        minimum: 0,
        maximum: AID_MAX,
      }),
    ),
    so_far: param.optional(
      param.object('`totals` of the answer before: those of this one include them.'),
    ),
    assume: param.optional(
      param.json(
        'Lists of revisions that replace or end stored ones, by `account`, `subscribers`, ' +
          '`plans`, `services`, `discounts` and `charges` (docs/BILLING-CYCLE.md).',
      ),
    ),
    back: param.optional(
      param.integer(`Earlier cycles that are searched for what no run corrects; ${BACK}.`, {
        minimum: 0,
        maximum: BACK_MAX,
      }),
    ),
  }),
  answer: {
    details: closed(`Up to ${ACCOUNTS_MAX} accounts.`, {
      key: text('Key of the cycle.'),
      status: text('State of the cycle, as in `cycles`.'),
      previous: closed('The cycle before.', {
        key: text('Its key.'),
        status: text('Its state.'),
        assumption: text('What is assumed of it.'),
      }),
      compared: text('Key of the cycle whose invoices it is compared with.'),
      accounts: listOf(ACCOUNT, 'Accounts that differ or fail; with `aid` that one in any case.'),
      totals: closed('Of all accounts of this answer, and of `so_far`.', TOTALS),
      next: orNull(integer('An account.'), '`after` of the next call; null at the end.'),
    }),
  },
  example: {
    parameters: { stamp: '202611' },
    answer: {
      details: {
        key: '202611',
        status: 'finished',
        previous: { key: '202610', status: 'confirmed', assumption: 'its lines as stored' },
        compared: '202611',
        accounts: [],
        totals: { ...NO_TOTALS, accounts: 3, invoices: 3, total: '300', stored: '300' },
        next: null,
      },
    },
  },
  async run(parameters, call) {
    const name = await namedCycle(call, parameters, REFUSED)
    const { aid = null, after = 0, back = BACK } = parameters
    const { compute, openAccounts, config, catalog } = cycleOf(call)
    const { isExternal } = await openAccounts()
    const assumed = await assumedIn(parameters.assume, call)
    if (!mayAssume(assumed, isExternal)) throw fieldRule('assume:', ASSUMED_ELSEWHERE)
    if (!isExternal) await checkAccounts(catalog, aid, assumed)
    const state = await stateOf(call, name)
    const head = await previewHead(catalog, state, call.nowMs)
    const request = { cycle: state.cycle, aid, assumed, comparedKey: head.compared, back, after }
    const limits = { nowMs: call.nowMs, pageSize: PAGE_SIZE }
    const computed = previewAccounts(
      { catalog, config, compute, openAccounts },
      { ...request, ...limits },
    )
    let totals = totalsIn(parameters.so_far)
    const accounts: AccountPreview[] = []
    let count = 0
    for await (const account of computed) {
      totals = withAccount(totals, account)
      if (aid !== null || isShown(account, head)) accounts.push(account)
      count += 1
      const isFull = aid === null && count === ACCOUNTS_MAX
      // Nobody reads the answer of a call whose client has disconnected.
      if (isFull || call.signal?.aborted === true) {
        return { details: { ...head, accounts, totals, next: account.aid } }
      }
    }
    return { details: { ...head, accounts, totals, next: null } }
  },
})

async function assumedIn(value: unknown, { catalog, config }: ActionCall) {
  if (isUnset(value)) return null
  try {
    return await readAssumed(catalog, value, config.rating.timeZone)
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    const { message, issues } = error.under('assume')
    throw new ActionError(message, issues)
  }
}

/** Throws `ActionError` unless they are totals of an answer. */
function totalsIn(value: unknown): PreviewTotals {
  if (isUnset(value)) return NO_TOTALS
  const totals = isObject(value) ? value : {}
  const named = Object.entries(NO_TOTALS).map(([name, none]) => {
    const value = totals[name]
    const amount = amountOf(value)
    const isCount = typeof none === 'number'
    if (amount === null || (isCount && !Number.isSafeInteger(Number(value)))) {
      throw parameterError('so_far', `must be totals of an answer: ${name}`)
    }
    return [name, isCount ? Number(value) : amount.toString()]
  })
  return Object.fromEntries(named) as PreviewTotals
}
