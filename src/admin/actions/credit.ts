/** `POST /api/credit`: a charge or refund of a subscriber or account; early payment. */
import { Type } from '@sinclair/typebox'
import {
  CreditProcessError,
  CreditRefusal,
  type CreditRequest,
} from '../../billing/credit/credit-request.ts'
import { prepareCredits } from '../../billing/credit/credits.ts'
import { insertCredits, withCurrentCycle } from '../../billing/credit/insert-credits.ts'
import { preponeInstallments } from '../../billing/credit/prepone.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import * as schema from '../../catalog/entities/json-schema.ts'
import { integerOf } from '../../requests/cast-value.ts'
import { ActionError, answeredIssues } from '../../requests/errors.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import {
  type AnswerOf,
  castOptions,
  DONE_OR_FAILED,
  type MoneyCall,
  moneyAction,
  REASON,
} from './action.ts'
import {
  CREDIT_PARAMETERS,
  creditRequestOf,
  readCreditFields,
  refusedCredit,
} from './credit-parameters.ts'
import { castParameters, param } from './parameters.ts'

const EXAMPLE = {
  aid: 1,
  sid: 2,
  rate: 'LATE_FEE',
  credit_time: '2026-03-06 10:00:00',
  usagev: 3,
  aprice: 10,
  label: 'Late fee',
  reason: 'Third reminder',
}

const ANSWER = {
  status: DONE_OR_FAILED,
  message: param.optional(schema.text('The text in `desc`, if it was refused.')),
  stamp: param.optional(schema.text('Stamp of the line, or of the first installment.')),
  stamps: param.optional(schema.listOf(schema.text('A stamp.'), 'Stamps of all installments.')),
  details: param.optional(
    schema.orNull(
      schema.text('The reason.'),
      'Nothing of `prepone`; why a credit cannot be processed.',
    ),
  ),
} as const

type CreditAnswer = AnswerOf<typeof ANSWER>

export const credit = moneyAction({
  name: 'credit',
  level: 'write',
  about: 'Credit or charge a subscriber or account',
  parameters: Type.Object({
    ...CREDIT_PARAMETERS.properties,
    action: param.optional(
      param.text(
        '`prepone`: no credit; the later installments of `aid` and `sid` become due in the ' +
          'current cycle.',
      ),
    ),
  }),
  answer: ANSWER,
  example: { parameters: EXAMPLE, answer: { stamp: '9b3f8a5d1c2e4f60718293a4b5c6d7e8' } },
  variant: (raw, call) => (raw.get('action') === 'prepone' ? prepone(raw, call) : null),
  async run({ reason = null, ...parameters }, call) {
    const fields = await readCreditFields(call.catalog)
    const request = asActionError(() => creditRequestOf(parameters, fields, reason))
    return withCurrentCycle(() => post(request, call))
  },
})

async function post(request: CreditRequest, call: MoneyCall): Promise<CreditAnswer> {
  const { credits, lastKeys } = await prepareCredits(call, [request])
  const [lines = []] = credits
  if (lines instanceof CreditRefusal) throw refusedCredit(lines)
  if (lines instanceof CreditProcessError) {
    if (request.installments !== null) throw new InstallmentsError(lines)
    const { message, reason, issues } = lines
    const errors = answeredIssues(issues)
    return { status: 0, desc: message, message, details: reason, errors }
  }
  const [stamp = '', ...others] = lines.map((line) => line.stamp)
  const write = async (session: ClientSession) => {
    await insertCredits(call, session, { lines, lastKeys })
    return { stamp, ...(request.installments !== null && { stamps: [stamp, ...others] }) }
  }
  return call.commit('write a credit', write, [])
}

/** Clients know the text; `details` has the cause. */
class InstallmentsError extends ActionError {
  readonly #reason: string

  constructor({ reason, issues }: CreditProcessError) {
    super('Process error', issues)
    this.#reason = reason
  }

  protected override known(): object {
    return { ...super.known(), details: this.#reason }
  }
}

/** Refusals of a credit as errors of the action. */
function asActionError<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw error instanceof CreditRefusal ? refusedCredit(error) : error
  }
}

async function prepone(raw: RawParameters, call: MoneyCall): Promise<CreditAnswer> {
  const [sid, aid] = [integerOf(raw.get('sid')), integerOf(raw.get('aid'))]
  const illegal = [...(sid === null ? ['sid'] : []), ...(aid === null ? ['aid'] : [])]
  if (sid === null || aid === null) {
    const reason = 'should be of type Integer'
    throw new ActionError(
      'Illegal sid/aid',
      illegal.map((path) => ({ path, reason })),
    )
  }
  const { reason = null } = castParameters(Type.Object(REASON), raw, castOptions({}, call))
  return call.commit('prepone installments', async (session) => {
    await preponeInstallments(call, session, { aid, sid, reason })
    return { details: null }
  })
}
