/** `errors` of error answers. */
import { Type } from '@sinclair/typebox'
import { describe, expect, it } from 'vitest'
import { castParameters, param } from '../../src/admin/actions/parameters.ts'
import { FieldError } from '../../src/domain/field-errors.ts'
import { actionErrorOf, apiErrorOf } from '../../src/requests/api-errors.ts'
import {
  type ApiError,
  EntityRuleError,
  issueIn,
  NotAllowedError,
  RequestError,
} from '../../src/requests/errors.ts'

const errorsOf = (error: ApiError | null) => Object(error?.body()).errors as unknown

describe('errors of an answer', () => {
  it('tell the field, a code and the reason', () => {
    const further = [
      { path: 'b.1', reason: 'is not known; did you mean c?' },
      { path: 'c', reason: 'is missing' },
      { path: '', reason: 'there is another one' },
    ]
    const error = new FieldError('update.a', 'must be a list', further)
    const errors = [
      { path: 'a', code: 'invalid', why: 'must be a list' },
      { path: 'b.1', code: 'unknown', why: 'is not known; did you mean c?' },
      { path: 'c', code: 'missing', why: 'is missing' },
      { path: '', code: 'refused', why: 'there is another one' },
    ]
    expect(errorsOf(apiErrorOf(error))).toEqual(errors)
    expect(errorsOf(actionErrorOf(error))).toEqual(errors)
  })

  it.each([
    [new EntityRuleError('there is no plan X'), 'refused', 'there is no plan X'],
    [new NotAllowedError('No permission'), 'not_allowed', 'No permission'],
    [
      new RequestError(405, 'update must be sent by POST'),
      'request',
      'update must be sent by POST',
    ],
    [new RequestError(503, 'MongoDB is unavailable'), 'unavailable', 'MongoDB is unavailable'],
  ])('have the code of an error that is not about a field: %s', (error, code, why) => {
    expect(errorsOf(error)).toEqual([{ path: '', code, why }])
  })

  it.each([
    ['new_password must have 12 characters', 'new_password', 'must have 12 characters'],
    ['columns.0.field_name: there is no x', 'columns.0.field_name', 'there is no x'],
    ['upsert.to is missing', 'upsert.to', 'is missing'],
    ['Field urt should be of type Date', 'urt', 'should be of type Date'],
    ['body must be an object', '', 'body must be an object'],
    ['it has ended: its rest is forfeited', '', 'it has ended: its rest is forfeited'],
    ['plan GOLD must be open', '', 'plan GOLD must be open'],
  ])('are read from a text that begins with its field: %s', (text, path, reason) => {
    expect(issueIn(text)).toEqual({ path, reason })
  })
})

describe('parameters of an action', () => {
  const declared = Type.Object({
    aid: param.integer('Account.', { minimum: 1 }),
    sids: param.optional(param.list({}, 'Subscribers.')),
    amount: param.amount('Money.'),
    order: param.choice(['up', 'down'], 'Order.'),
  })
  const cast = (parameters: Record<string, unknown>) => {
    const time = { timeZone: 'UTC', nowMs: 0 }
    return castParameters(declared, new Map(Object.entries(parameters)), time)
  }

  it('are all checked: the text is of the first, errors have all', () => {
    const refused = (parameters: Record<string, unknown>) => {
      try {
        return cast(parameters)
      } catch (error) {
        return actionErrorOf(error)?.body()
      }
    }
    expect(refused({ aid: '0', sids: '[{"a":{"__proto__":1}}]', order: 'left' })).toMatchObject({
      desc: 'Field aid must be at least 1',
      errors: [
        { path: 'aid', code: 'invalid', why: 'must be at least 1' },
        { path: expect.stringMatching(/^sids/), code: 'invalid' },
        { path: 'amount', code: 'missing', why: 'is missing' },
        { path: 'order', code: 'invalid', why: 'must be one of up, down' },
      ],
    })
    expect(refused({})).toMatchObject({ desc: 'Following field/s are missing: aid' })
  })
})
