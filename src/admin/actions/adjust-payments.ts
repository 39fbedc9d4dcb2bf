/** `POST /api/adjustpayments` and `POST /api/reject`: later decisions on payments. */
import { Type } from '@sinclair/typebox'
import { BillingError } from '../../billing/errors.ts'
import { adjustPayments, rejectPayments } from '../../billing/payments/adjustments.ts'
import * as schema from '../../catalog/entities/json-schema.ts'
import { moneyAction } from './action.ts'
import { filledList, paymentRules, writerOf } from './books.ts'
import { param } from './parameters.ts'

export const adjustpayments = moneyAction({
  name: 'adjustpayments',
  level: 'write',
  about: 'Confirm, reject, deny or correct payments by hand',
  parameters: Type.Object({
    adjustments: param.optional(
      param.json(
        'Each with `id` (the `txid`) and either `action` (`mark_paid`, `reject`, `deny`, ' +
          '`unconfirm`) or a new `method` and `amount` (absent: as before); amount 0 only cancels.',
      ),
    ),
  }),
  answer: {
    details: schema.closed('What was not changed.', {
      errors: schema.either(
        'Payments that are as requested.',
        schema.closed('Some.', {
          unsaved_adjustments: schema.listOf(schema.text('Its id.'), 'Their ids.'),
        }),
        schema.emptyList(),
      ),
    }),
  },
  example: {
    parameters: { adjustments: [{ id: '0000000000042', action: 'mark_paid' }] },
    answer: { details: { errors: [] } },
  },
  async run({ adjustments, reason }, call) {
    const filled = filledList(adjustments)
    if (filled === null)
      throw new BillingError('No adjustments found', { path: 'adjustments', code: 'missing' })
    const rules = await paymentRules(call)
    return call.commit('adjust payments', async (session) => {
      const { unsaved } = await adjustPayments(writerOf(call, session, reason), filled, rules)
      return { details: { errors: unsaved.length > 0 ? { unsaved_adjustments: unsaved } : [] } }
    })
  },
})

export const reject = moneyAction({
  name: 'reject',
  level: 'write',
  about: 'Reject payments: what they paid is open again',
  parameters: Type.Object({
    rejections: param.optional(
      param.json('Each with `id` (the `txid`) and `rejection`: an object with `code`.'),
    ),
  }),
  answer: {
    details: schema.closed('Counts.', {
      rejections_received: schema.integer('Number of rejections in the request.'),
      rejections_saved: schema.integer('Number of rejected payments.'),
    }),
  },
  example: {
    parameters: { rejections: [{ id: '0000000000042', rejection: { code: '342' } }] },
    answer: { details: { rejections_received: 1, rejections_saved: 1 } },
  },
  async run({ rejections, reason }, call) {
    const filled = filledList(rejections)
    if (filled === null)
      throw new BillingError('No rejections found', { path: 'rejections', code: 'missing' })
    const rules = await paymentRules(call)
    return call.commit('reject payments', async (session) => {
      const { received, saved } = await rejectPayments(
        writerOf(call, session, reason),
        filled,
        rules,
      )
      return { details: { rejections_received: received, rejections_saved: saved } }
    })
  },
})
