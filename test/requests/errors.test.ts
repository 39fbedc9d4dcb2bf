/** `errors` of error answers. */
import { Type } from '@sinclair/typebox'
import { describe, expect, it } from 'vitest'
import { castParameters, param } from '../../src/admin/actions/parameters.ts'
import { FieldError, type FieldIssue } from '../../src/domain/field-errors.ts'
import { WriteIssues } from '../../src/entities/trial.ts'
import { actionErrorOf, apiErrorOf } from '../../src/requests/api-errors.ts'
import {
  ActionError,
  ApiError,
  EntityRuleError,
  fieldRule,
  InvalidFieldsError,
  NotAllowedError,
  parameterError,
  RequestError,
} from '../../src/requests/errors.ts'
import { FieldProblems, ignoredWarnings } from '../../src/requests/problems.ts'

function thrownBy(act: () => unknown): ApiError {
  try {
    act()
  } catch (error) {
    if (error instanceof ApiError) return error
  }
  throw new TypeError('it throws no error of the API')
}

const errorsOf = (error: ApiError | null) => Object(error?.body()).errors as unknown

describe('errors of an answer', () => {
  it('tell the field, a code and the reason as the check gives them', () => {
    const further: readonly FieldIssue[] = [
      { path: 'b.1', reason: 'is not one of c, d', code: 'unknown' },
      { path: 'c', reason: 'is needed', code: 'missing' },
      { path: '', reason: 'there is another one' },
      { path: 'd', reason: 'is missing in a list' },
    ]
    const error = new FieldError('update.a', 'must be a list', 'invalid', further)
    const errors = [
      { path: 'update.a', code: 'invalid', why: 'must be a list' },
      { path: 'b.1', code: 'unknown', why: 'is not one of c, d' },
      { path: 'c', code: 'missing', why: 'is needed' },
      { path: '', code: 'refused', why: 'there is another one' },
      { path: 'd', code: 'invalid', why: 'is missing in a list' },
    ]
    expect(errorsOf(apiErrorOf(error))).toEqual(errors)
    expect(errorsOf(actionErrorOf(error))).toEqual(errors)
  })

  it.each([
    [new EntityRuleError('a.b must be X', 'refused'), 'refused', 'a.b must be X'],
    [new EntityRuleError('there is no plan X', 'target'), 'target', 'there is no plan X'],
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
    [fieldRule('a.b', 'must be X'), 'a.b must be X', 'invalid', 'must be X'],
    [fieldRule('a.b', 'is missing', 'missing'), 'a.b is missing', 'missing', 'is missing'],
    [fieldRule('a.b:', 'there is no X'), 'a.b: there is no X', 'invalid', 'there is no X'],
    [parameterError('a.b', 'is odd'), 'Field a.b is odd', 'invalid', 'is odd'],
    [new ActionError('Illegal b', { path: 'a.b' }), 'Illegal b', 'invalid', 'Illegal b'],
    [
      new ActionError('No b', { path: 'a.b', code: 'missing' }),
      ...(['No b', 'missing', 'No b'] as const),
    ],
  ])('have the path of a field, whatever the text is: %s', (error, text, code, why) => {
    expect(error.message).toBe(text)
    expect(errorsOf(error)).toEqual([{ path: 'a.b', code, why }])
  })

  it('keep the codes of a part in the document around it', () => {
    const issues: readonly FieldIssue[] = [{ path: 'c', reason: 'is odd' }]
    const error = new FieldError('b', 'is missing', 'missing', issues).under('a.0')
    expect(error.message).toBe('a.0.b is missing')
    expect(errorsOf(apiErrorOf(error))).toEqual([
      { path: 'a.0.b', code: 'missing', why: 'is missing' },
      { path: 'a.0.c', code: 'invalid', why: 'is odd' },
    ])
    const whole = new FieldError('', 'must be an object').under('a.0')
    expect(errorsOf(apiErrorOf(whole))).toMatchObject([{ path: 'a.0', code: 'invalid' }])
  })

  it('are of the document of an entity write, without the parameter', () => {
    const issues = new WriteIssues(false)
    issues.note(new InvalidFieldsError([{ path: 'update.a', reason: 'must be a list' }]))
    issues.note(fieldRule('query.b', 'is missing', 'missing'))
    expect(errorsOf(thrownBy(() => issues.throwIfAny()))).toMatchObject([
      { path: 'a', code: 'invalid' },
      { path: 'query.b', code: 'missing' },
    ])
  })

  it('say how many are left off', () => {
    const refused = (isRule: boolean) => {
      const problems = new FieldProblems()
      for (let index = 0; index < 23; index += 1) problems.invalid(`query.f${index}`, 'is odd')
      if (isRule) problems.missing('query.key', 'declared')
      return thrownBy(() => problems.throwIfAny())
    }
    const more = { path: '', code: 'more', why: 'and 3 more' }
    for (const error of [refused(false), refused(true), actionErrorOf(refused(true))]) {
      const errors = errorsOf(error) as unknown[]
      expect(errors).toContainEqual(more)
      expect(errors.filter((each) => Object(each).path.startsWith('query.f'))).toHaveLength(20)
    }
    const issues = new WriteIssues(true)
    issues.note(refused(false))
    const noted = thrownBy(() => issues.throwIfAny())
    expect(errorsOf(noted)).toContainEqual(more)
    expect(errorsOf(thrownBy(() => issues.end(noted)))).toEqual(errorsOf(noted))
    const names = Array.from({ length: 22 }, (_, index) => `f${index}`)
    expect(ignoredWarnings(names, [], 'a field').at(-1)).toBe('and 2 more')
    expect(ignoredWarnings(names.slice(2), [], 'a field')).toHaveLength(20)
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
