/** Schemas of the responses of endpoints besides the entity API. */

import {
  anyValue,
  choice,
  either,
  flag,
  integer,
  listOf,
  mapOf,
  object,
  ref,
  type Schema,
  text,
} from './schema.ts'

const DONE: Schema = { type: 'integer', const: 1, description: '1: it was done.' }
const SUCCESS = text('Always `success`.')

const check = (description: string) => text(`${description}; \`ok\`, or what is wrong.`)

/** A successful response; all its details are required. */
const succeeded = (description: string, details: Readonly<Record<string, Schema>>): Schema =>
  object(
    description,
    {
      status: DONE,
      desc: SUCCESS,
      details: object('The details.', details, Object.keys(details)),
      input: ref('loginInput', 'What was sent, without secrets.'),
    },
    ['status', 'desc', 'details', 'input'],
  )

/** OpenAPI components. */
export const NODE_SCHEMAS: Readonly<Record<string, Schema>> = {
  heartbeat: object(
    'Whether the stores answer.',
    {
      status: { type: 'integer', enum: [0, 1], description: '1: both stores answer.' },
      message: text('What is away.'),
      version: text('Version of the interface.'),
    },
    ['status', 'message', 'version'],
  ),
  liveness: object('Whether it runs.', { status: text('Always `live`.') }, ['status']),
  readiness: object(
    'Whether it is ready, and what is not.',
    {
      status: choice(['ready', 'unavailable'], 'Whether all of it is ready.'),
      redis: check('Redis'),
      mongo: check('MongoDB'),
      ledger: check('Data of the ledger in Redis'),
      changes: check('Changes of processes that have died'),
      users: text('`none`: nobody can log in.'),
      catalogue: choice(['ok', 'incomplete', 'unknown'], 'Whether charging uses all entities.'),
    },
    ['status', 'redis', 'mongo', 'ledger', 'changes', 'catalogue'],
  ),
  catalogueHealth: object(
    'Stored entities that charging leaves out.',
    {
      status: choice(['ok', 'incomplete', 'unknown'], 'Whether there are any.'),
      skipped: listOf(
        mapOf({ type: ['string', 'number'], description: 'Name, path, reason.' }, 'One of them.'),
        'The first of them.',
      ),
    },
    ['status', 'skipped'],
  ),
  apiDescription: {
    ...object('A document of OpenAPI 3.1.', { openapi: text('Always `3.1.0`.') }, ['openapi']),
    additionalProperties: anyValue('A part of it.'),
  },
  user: object(
    'Who is logged in.',
    {
      user: text('Name of the user.'),
      permissions: listOf(text('A role.'), 'Roles of the user.'),
      last_login: { type: ['string', 'null'], description: 'Time of the login before this one.' },
      must_change_password: flag('True: the password has to be changed first.'),
      must_enrol_totp: flag('True: a second factor has to be set up first.'),
      protocol: text('How the user has logged in.'),
    },
    ['user', 'permissions', 'last_login'],
  ),
  redirect: object('Where the browser has to go to log in.', { redirect: text('The address.') }, [
    'redirect',
  ]),
  loginAnswer: object(
    'A session was opened: its cookie is in the answer.',
    {
      status: DONE,
      desc: SUCCESS,
      details: either('The user, or where to go.', ref('user'), ref('redirect')),
      input: ref('loginInput', 'What was sent, without the password.'),
    },
    ['status', 'desc', 'details', 'input'],
  ),
  doneAnswer: object(
    'It was done.',
    {
      status: DONE,
      desc: SUCCESS,
      details: flag('Always true.'),
      input: ref('loginInput', 'What was sent, without passwords.'),
    },
    ['status', 'desc', 'details'],
  ),
  totpState: succeeded('The own second factor.', {
    enrolled: flag('Whether there is one.'),
    enrolled_at: { type: ['string', 'null'], description: 'When it was set up.' },
    recovery_codes_left: integer('Recovery codes that are not used.'),
    required: flag('Whether a role of the user requires one.'),
  }),
  totpSecret: succeeded('A second factor that waits for its confirmation.', {
    secret: text('The secret, in base 32; shown once.'),
    uri: text('The same as an address for authenticator apps.'),
  }),
  recoveryCodes: succeeded('Codes that stand in for the second factor, each once.', {
    recovery_codes: listOf(text('A code.'), 'The codes; shown once.'),
  }),
  loginOption: object(
    'A way to log in.',
    {
      type: text('As in `protocol` of a login.'),
      label: text('Its name for people.'),
      name: text('As in `provider` of a login.'),
    },
    ['type', 'label', 'name'],
  ),
  loginOptions: object(
    'Ways to log in beside user name and password.',
    {
      status: DONE,
      desc: SUCCESS,
      details: object(
        'The ways.',
        { protocols: listOf(ref('loginOption'), 'Directories that are configured.') },
        ['protocols'],
      ),
    },
    ['status', 'desc', 'details'],
  ),
  tokenAnswer: object(
    'A token (RFC 6749, section 5.1).',
    {
      access_token: text('The token; it is sent as `Authorization: Bearer TOKEN`.'),
      expires_in: integer('Seconds for which it holds.'),
      token_type: { type: 'string', const: 'Bearer', description: 'How it is sent.' },
      scope: { type: ['string', 'null'], description: 'Scope, if one was asked for.' },
      refresh_token: text('Gives the next one, where that is enabled.'),
    },
    ['access_token', 'expires_in', 'token_type', 'scope'],
  ),
  revoked: object('The token is good for nothing now.', { status: DONE }, ['status']),
  settingsInput: object('What was asked for.', {
    action: text('The action.'),
    category: text('The category.'),
    path: text('The path in it.'),
  }),
  settingsAnswer: object(
    'A setting as it is stored, without secrets.',
    {
      status: DONE,
      desc: SUCCESS,
      input: ref('settingsInput', 'What was asked for.'),
      details: anyValue('The value; of `list` the categories, of `history` the versions.'),
      effective: anyValue('What holds, with all that is not stored.'),
      rev: integer('Its version; 0: nothing was stored.'),
    },
    ['status', 'desc', 'input', 'details'],
  ),
}
