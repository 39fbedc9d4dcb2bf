/** Set-up of actions that only tests have: `echo`, `fail` and `move`. */
import { Type } from '@sinclair/typebox'
import { action, DONE_OR_FAILED, moneyAction } from '../../../../../src/admin/actions/action.ts'
import { param } from '../../../../../src/admin/actions/parameters.ts'
import { CatalogUnavailableError } from '../../../../../src/catalog/errors.ts'
import { FieldError } from '../../../../../src/domain/fields.ts'
import { RequestError, TargetError } from '../../../../../src/requests/errors.ts'
import { StoreDownError } from '../../../../../src/store/redis.ts'
import { type Fields, useActionServer } from '../action-server.ts'
import type { SetUp } from './set-up.ts'
import type { World } from './steps.ts'
import { requireMatch } from './tags.ts'

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
  answer: { status: DONE_OR_FAILED },
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

export function framework(): SetUp {
  const server = useActionServer([echo, fail, move])
  return {
    server,
    verbs: {
      /** A body as it is. */
      async body(_world: World, name: string, text: string, expected: Fields) {
        requireMatch(await server.send(name, text), expected, text)
      },
    },
  }
}
