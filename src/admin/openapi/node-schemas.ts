/** Schemas of the responses of endpoints outside the entity API. */
import {
  closed,
  either,
  flag,
  integer,
  listOf,
  mapOf,
  ref,
  type Schema,
  text,
} from '../../catalog/entities/json-schema.ts'

const DONE: Schema = { type: 'integer', const: 1, description: '1: success.' }
const SUCCESS = text('Always `success`.')

/** A successful response; all its details are required. */
const succeeded = (description: string, details: Readonly<Record<string, Schema>>): Schema =>
  closed(description, {
    status: DONE,
    desc: SUCCESS,
    details: closed('The details.', details),
    input: ref('loginInput', 'The parameters of the request, without secrets.'),
  })

const USER: Readonly<Record<string, Schema>> = {
  user: text('Name of the user.'),
  permissions: listOf(text('A role.'), 'Roles of the user.'),
  last_login: { type: ['string', 'null'], description: 'Time of the previous login.' },
  must_change_password: flag('True if the password has to be changed first.'),
  must_enrol_totp: flag('True if a second factor has to be set up first.'),
}
const OPTIONAL = ['must_change_password', 'must_enrol_totp'] as const

/** OpenAPI components. */
export const NODE_SCHEMAS: Readonly<Record<string, Schema>> = {
  user: closed('The logged-in user.', USER, OPTIONAL),
  currentUser: closed(
    'The logged-in user, the session, and what the user may do.',
    {
      ...USER,
      protocol: text('Login protocol; `Open` if the port is open without authentication.'),
      idle_end: {
        type: ['string', 'null'],
        description: 'When the session ends unless it is used, ISO 8601; null without a session.',
      },
      absolute_end: {
        type: ['string', 'null'],
        description: 'When the session ends in any case, ISO 8601; null without a session.',
      },
      actions: mapOf(
        closed(
          'An action.',
          {
            permitted: flag('Whether the user may do it.'),
            roles: listOf(text('A role.'), 'One of these roles is needed.'),
            usual: listOf(text('A role.'), 'The roles without rules, if a rule replaces them.'),
            fixed: flag('True: no rule changes the roles.'),
          },
          ['usual', 'fixed'],
        ),
        'By collection and action, such as `accounts/get`; `api/credit` is `/api/credit`.',
      ),
      time_zone: text('Time zone of the node (IANA): `rating.timeZone`.'),
      clock: {
        ...closed('The clock of the installation; null if it shows the real time.', {
          now: text('Its time, ISO 8601.'),
          ahead_ms: integer('Milliseconds ahead of the real time; negative if it is behind.'),
          test: flag('Whether it may be moved: `clock.test`.'),
        }),
        type: ['object', 'null'],
      },
      currency: {
        type: ['string', 'null'],
        description:
          'Currency of all money (ISO 4217), such as `EUR`; null if `rating.currencyCode` is no ' +
          'currency.',
      },
    },
    OPTIONAL,
  ),
  redirect: closed('Redirect of the browser to log in.', { redirect: text('The address.') }),
  loginAnswer: closed('A session was opened; its cookie is in the response.', {
    status: DONE,
    desc: SUCCESS,
    details: either(
      'The user, the user of the session without credentials, or the redirect.',
      ref('user'),
      ref('currentUser'),
      ref('redirect'),
    ),
    input: ref('loginInput', 'The parameters of the request, without the password.'),
  }),
  currentUserAnswer: closed('The session.', {
    status: DONE,
    desc: SUCCESS,
    details: ref('currentUser'),
    input: ref('loginInput', 'Always empty.'),
  }),
  doneAnswer: closed('Success.', {
    status: DONE,
    desc: SUCCESS,
    details: { type: 'boolean', const: true, description: 'Always true.' },
    input: ref('loginInput', 'The parameters of the request, without passwords.'),
  }),
  totpState: succeeded('The second factor of the user.', {
    enrolled: flag('Whether there is a second factor.'),
    enrolled_at: { type: ['string', 'null'], description: 'Time when it was set up.' },
    recovery_codes_left: integer('Number of unused recovery codes.'),
    required: flag('Whether a role of the user requires one.'),
  }),
  totpSecret: succeeded('A second factor that is not confirmed yet.', {
    secret: text('The secret, in base 32; returned once.'),
    uri: text('The secret as a URI for authenticator apps.'),
  }),
  recoveryCodes: succeeded('One-time codes that replace the second factor.', {
    recovery_codes: listOf(text('A code.'), 'The codes; returned once.'),
  }),
  loginOption: closed('A login method.', {
    type: text('Value of `protocol` for a login.'),
    label: text('Display name.'),
    name: text('Value of `provider` for a login.'),
  }),
  loginOptions: closed('Login methods besides user name and password.', {
    status: DONE,
    desc: SUCCESS,
    details: closed('The login methods.', {
      protocols: listOf(ref('loginOption'), 'Configured directories.'),
    }),
  }),
  tokenAnswer: closed(
    'A token (RFC 6749, section 5.1).',
    {
      access_token: text('The token; it is sent as `Authorization: Bearer TOKEN`.'),
      expires_in: integer('Validity in seconds.'),
      token_type: { type: 'string', const: 'Bearer', description: 'How it is sent.' },
      scope: { type: ['string', 'null'], description: 'Scope, if one was requested.' },
      refresh_token: text('Token for the refresh grant, if that is enabled.'),
    },
    ['refresh_token'],
  ),
  revoked: closed('The token is revoked.', { status: DONE }),
}
