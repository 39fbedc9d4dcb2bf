/** Common behaviour of actions: parameters, envelopes, errors, methods, permissions. */
import { Type } from '@sinclair/typebox'
import { describe, expect, it } from 'vitest'
import { action, moneyAction } from '../../../src/admin/actions/action.ts'
import { param } from '../../../src/admin/actions/parameters.ts'
import { RequestError, TargetError } from '../../../src/admin/entities/errors.ts'
import { CatalogUnavailableError } from '../../../src/catalog/errors.ts'
import { FieldError } from '../../../src/domain/fields.ts'
import { StoreDownError } from '../../../src/store/redis.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'

const echo = action({
  name: 'echo',
  level: 'read',
  about: 'Return the parameters',
  isReadByGet: true,
  parameters: Type.Object({
    aid: param.integer('An integer.', { minimum: 0 }),
    aprice: param.optional(param.amount('An amount.')),
    on: param.optional(param.flag('A flag.')),
    at: param.optional(param.date('A date.')),
    kind: param.optional(param.choice(['charge', 'refund'], 'A choice.')),
    label: param.optional(param.text('A text.', { maxLength: 5 })),
    list: param.optional(param.list({}, 'A list.')),
    map: param.optional(param.object('An object.')),
    any: param.optional(param.json('Anything.')),
  }),
  answer: {},
  example: { parameters: {}, answer: {} },
  async run({ aprice, at, ...others }) {
    if (others.any === 'mongo') throw new CatalogUnavailableError('MongoDB: no answer')
    if (others.any === 'redis') throw new StoreDownError('Redis: no answer')
    return { details: { ...others, aprice: aprice?.toString(), at: at?.toISOString() } }
  },
})

const fail = action({
  name: 'fail',
  level: 'write',
  about: 'Fail',
  parameters: Type.Object({ how: param.text('How.') }),
  answer: {},
  example: { parameters: {}, answer: {} },
  async run({ how }) {
    if (how === 'target') throw new TargetError('there is no such bill')
    if (how === 'request') throw new RequestError(503, 'MongoDB is unavailable')
    if (how === 'mongo') throw new CatalogUnavailableError('MongoDB: no answer')
    if (how === 'field') throw new FieldError('payments.0.aid', 'must be an integer')
    if (how === 'body') return { status: 0, desc: 'remove failed' }
    throw new Error('a secret')
  },
})

const move = moneyAction({
  name: 'move',
  level: 'admin',
  about: 'Move money',
  parameters: Type.Object({}),
  answer: {},
  example: { parameters: {}, answer: {} },
  run: ({ reason }, call) => call.commit('move', async () => ({ details: { reason } })),
})

const api = useActionServer([echo, fail, move])

describe('parameters', () => {
  const sent = {
    aid: '17',
    aprice: '12.30',
    on: 'yes',
    at: '2026-03-01',
    kind: 'refund',
    label: 'a',
    list: [1, { b: 2 }],
    map: { c: 3 },
    any: [4],
  }
  const details = { ...sent, aid: 17, aprice: '12.3', on: true, at: '2026-03-01T00:00:00.000Z' }

  it.each(['form', 'json', 'multipart'] as const)('are cast from %s', async (as) => {
    const answer = await api.ask('echo', sent, { as })
    expect(answer).toMatchObject({ http: 200, status: 1, desc: 'success', details })
    expect(answer.text).toMatch(/^\{"status":1,"desc":"success","input":\{/)
  })

  it('are cast from the query string, by GET', async () => {
    const answer = await api.ask('echo', sent, { as: 'query', method: 'GET' })
    expect(answer).toMatchObject({ status: 1, details })
  })

  it('of the query string and the body are merged; the body takes precedence', async () => {
    const answer = await api.ask('echo?aid=1&label=abc', { aid: 2 })
    expect(answer).toMatchObject({ details: { aid: 2, label: 'abc' }, input: { aid: '2' } })
  })

  it('keep amounts exact', async () => {
    for (const [aprice, shown] of [
      [0.1, '0.1'],
      ['-0.10000000000000000000001', '-0.10000000000000000000001'],
      ['12.50', '12.5'],
    ] as const) {
      const { details } = await api.ask('echo', { aid: 1, aprice }, { as: 'json' })
      expect(details).toEqual({ aid: 1, aprice: shown })
    }
  })

  it('are returned without credentials', async () => {
    const answer = await api.ask('echo', { aid: 1, access_token: 't', _sig_: 's', signature: 's' })
    expect(answer['input']).toEqual({ aid: '1' })
  })

  it('that are null are not sent', async () => {
    const answer = await api.ask('echo', { aid: 1, label: null, list: null }, { as: 'json' })
    expect(answer['details']).toEqual({ aid: 1 })
  })

  it.each([
    [{}, 'Following field/s are missing: aid'],
    [{ aid: 'x' }, 'Field aid should be of type Integer'],
    [{ aid: '' }, 'Field aid should be of type Integer'],
    [{ aid: 1.5 }, 'Field aid should be of type Integer'],
    [{ aid: -1 }, 'Field aid must be at least 0'],
    [{ aid: 1, aprice: '1,5' }, 'Field aprice should be of type Float'],
    [{ aid: 1, aprice: '' }, 'Field aprice should be of type Float'],
    [{ aid: 1, aprice: 'NaN' }, 'Field aprice should be of type Float'],
    [{ aid: 1, on: 'maybe' }, 'Field on should be of type Boolean'],
    [{ aid: 1, at: 'someday' }, 'Field at should be of type Date'],
    [{ aid: 1, kind: 'gift' }, 'Field kind must be one of charge, refund'],
    [{ aid: 1, label: 'abcdef' }, 'Field label has more than 5 characters'],
    [{ aid: 1, label: 'a\0' }, 'Field label has a zero byte'],
    [{ aid: 1, label: {} }, 'Field label should be of type String'],
    [{ aid: 1, list: '{"a":1}' }, 'Field list should be of type Array'],
    [{ aid: 1, list: '[' }, /^list is not JSON: /],
    [{ aid: 1, map: [1] }, 'Field map should be of type Object'],
  ])('are refused by name: %j', async (params, reason) => {
    const answer = await api.ask('echo', params, { as: 'json' })
    const text = typeof reason === 'string' ? reason : expect.stringMatching(reason)
    expect(answer).toMatchObject({
      http: 200,
      status: 0,
      code: 17577,
      message: text,
      desc: text,
      display: { code: 999, desc: 'General error.' },
    })
  })
})

describe('an error', () => {
  it.each([
    ['target', 200, { status: 0, code: 500, data: { message: 'there is no such bill' } }],
    ['request', 503, { status: 0, code: 503, data: { message: 'MongoDB is unavailable' } }],
    ['field', 200, { status: 0, code: 17577, message: 'payments.0.aid must be an integer' }],
    ['body', 200, { status: 0, desc: 'remove failed', input: { how: 'body' } }],
    ['bug', 500, { status: 0, code: 500, data: { message: 'internal error' } }],
  ])('of the kind %s has its text in desc and message', async (how, http, body) => {
    const answer = await api.ask('fail', { how })
    expect(answer).toMatchObject({ http, ...body })
    if (how !== 'body') expect(answer['desc']).toBe(answer['message'])
    expect(answer.text).not.toContain('secret')
  })

  it('of a store says whether a write may have been done', async () => {
    for (const [any, name] of Object.entries({ mongo: 'MongoDB', redis: 'Redis' })) {
      const desc = `${name} is unavailable: the read can be repeated`
      expect(await api.ask('echo', { aid: 1, any })).toMatchObject({ http: 503, desc })
      const get = { as: 'query', method: 'GET' } as const
      expect(await api.ask('echo', { aid: 1, any }, get)).toMatchObject({ http: 503, desc })
    }
    const desc = 'MongoDB is unavailable: a write may have been done'
    expect(await api.ask('fail', { how: 'mongo' })).toMatchObject({ http: 503, desc })
  })

  it.each([
    ['{', /^body is not JSON/],
    ['[1]', /^body must be an object/],
    ['{"aid":1e400}', /cannot be kept exactly/],
  ])('of the body %s', async (body, text) => {
    const answer = await api.send('echo', body)
    expect(answer).toMatchObject({ status: 0, desc: expect.stringMatching(text) })
    expect(answer['message']).toBe(answer['desc'])
  })
})

describe('a method', () => {
  it.each(['GET', 'PUT', 'DELETE', 'PATCH'])('%s is refused for writes', async (method) => {
    const answer = await api.ask('move', {}, { method, as: 'query' })
    expect(answer).toMatchObject({ http: 405, status: 0, desc: 'move must be sent by POST' })
    expect(answer.headers.get('allow')).toBe('POST')
  })
})

describe('access', () => {
  it.each([
    ['echo', '-', 17574],
    ['echo', 'write', 17575],
    ['fail', 'read', 17575],
    ['move', 'read,write', 17575],
    ['nothing', '-', 17574],
  ])('to %s as %s is refused with %i', async (name, role, code) => {
    const answer = await api.ask(name, {}, { role })
    expect(answer).toMatchObject({ status: 0, code, desc: answer['message'] })
  })

  it('does not depend on the case of the name', async () => {
    expect(await api.ask('Echo', { aid: 1 })).toMatchObject({ status: 1, details: { aid: 1 } })
  })

  it('to an unknown action is refused with 404', async () => {
    const answer = await api.ask('nothing', {})
    expect(answer).toMatchObject({ http: 404, code: 404 })
    expect(answer['desc']).toBe('there is no route for POST /api/nothing')
  })
})
