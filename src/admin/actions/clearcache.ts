/** `clearcache`: workers ask the customer system again, because a customer has changed there. */
import { Type } from '@sinclair/typebox'
import { object, text } from '../../catalog/entities/json-schema.ts'
import { forgetCustomers } from '../../catalog/feed/kept-customers.ts'
import { action } from './action.ts'
import { param } from './parameters.ts'

export const clearcache = action({
  name: 'clearcache',
  level: 'write',
  about: 'Drop cached customers: all, those of an account, or a subscriber',
  parameters: Type.Object({
    aid: param.optional(param.integer('Number of the account.', { minimum: 1 })),
    sid: param.optional(
      param.integer(
        'Number of the subscriber. With `aid`, no request is charged by its old data from the ' +
          'answer on, and its open sessions are authorized again.',
        { minimum: 1 },
      ),
    ),
  }),
  answer: {
    details: object('What was dropped.', { dropped: text('`all`, `account` or `subscriber`.') }, [
      'dropped',
    ]),
  },
  example: { parameters: { aid: 17, sid: 18 }, answer: { details: { dropped: 'subscriber' } } },
  async run({ aid = 0, sid = 0 }, { catalog, customerChanged }) {
    await forgetCustomers(catalog, { aid, sid })
    await customerChanged?.({ aid, sid })
    const dropped = sid !== 0 ? 'subscriber' : aid !== 0 ? 'account' : 'all'
    return { details: { dropped } }
  },
})
