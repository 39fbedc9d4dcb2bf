/** The answers of the endpoints under `/auth`. */
import {
  closed,
  constant,
  either,
  flag,
  integer,
  listOf,
  type Members,
  mapOf,
  ref,
  type Schema,
  text,
} from '../../catalog/entities/json-schema.ts'
import type { LoginInput } from '../../identity/login-fields.ts'
import { component, nullable, success } from '../http/answer-schema.ts'

const answer = <D extends Schema>(name: string, description: string, details: D, input: string) =>
  success(name, description, details, { input: ref<LoginInput>('loginInput', input) })

export const GRANTED_ACTION = closed(
  'An action.',
  {
    permitted: flag('Whether the user may do it.'),
    roles: listOf(text('A role.'), 'One of these roles is needed.'),
    usual: listOf(text('A role.'), 'The roles without rules, if a rule replaces them.'),
    fixed: flag('True: no rule changes the roles.'),
  },
  ['usual', 'fixed'],
)

const USER = {
  user: text('Name of the user.'),
  permissions: listOf(text('A role.'), 'Roles of the user.'),
  last_login: nullable(text('Time of the previous login.')),
  must_change_password: flag('True if the password has to be changed first.'),
  must_enrol_totp: flag('True if a second factor has to be set up first.'),
}
const OPTIONAL = ['must_change_password', 'must_enrol_totp'] as const

const CURRENT_USER = component(
  'currentUser',
  'The logged-in user, the session, and what the user may do.',
  {
    ...USER,
    protocol: text('Login protocol; `Open` if the port is open without authentication.'),
    idle_end: nullable(
      text('When the session ends unless it is used, ISO 8601; null without a session.'),
    ),
    absolute_end: nullable(
      text('When the session ends in any case, ISO 8601; null without a session.'),
    ),
    actions: mapOf(
      GRANTED_ACTION,
      'By collection and action, such as `accounts/get`; `api/credit` is `/api/credit`.',
    ),
    time_zone: text('Time zone of the node (IANA): `rating.timeZone`.'),
    clock: nullable(
      closed('The clock of the installation; null if it shows the real time.', {
        now: text('Its time, ISO 8601.'),
        ahead_ms: integer('Milliseconds ahead of the real time; negative if it is behind.'),
        test: flag('Whether it may be moved: `clock.test`.'),
      }),
    ),
    currency: nullable(
      text(
        'Currency of all money (ISO 4217), such as `EUR`; null if `rating.currencyCode` is no ' +
          'currency.',
      ),
    ),
  },
  OPTIONAL,
)

export const LOGIN_ANSWER = answer(
  'loginAnswer',
  'A session was opened; its cookie is in the response.',
  either(
    'The user, the user of the session without credentials, or the redirect.',
    component('user', 'The logged-in user.', USER, OPTIONAL),
    CURRENT_USER,
    component('redirect', 'Redirect of the browser to log in.', { redirect: text('The address.') }),
  ),
  'The parameters of the request, without the password.',
)

export const CURRENT_USER_ANSWER = answer(
  'currentUserAnswer',
  'The session.',
  CURRENT_USER,
  'Always empty.',
)

export const DONE_ANSWER = answer(
  'doneAnswer',
  'Success.',
  constant(true, 'Always true.'),
  'The parameters of the request, without passwords.',
)

export const LOGIN_OPTIONS = success(
  'loginOptions',
  'Login methods besides user name and password.',
  closed('The login methods.', {
    protocols: listOf(
      component('loginOption', 'A login method.', {
        type: text('Value of `protocol` for a login.'),
        label: text('Display name.'),
        name: text('Value of `provider` for a login.'),
      }),
      'Configured directories.',
    ),
  }),
)

const factorAnswer = <const P extends Members>(name: string, description: string, details: P) =>
  answer(
    name,
    description,
    closed('The details.', details),
    'The parameters of the request, without secrets.',
  )

export const TOTP_STATE = factorAnswer('totpState', 'The second factor of the user.', {
  enrolled: flag('Whether there is a second factor.'),
  enrolled_at: nullable(text('Time when it was set up.')),
  recovery_codes_left: integer('Number of unused recovery codes.'),
  required: flag('Whether a role of the user requires one.'),
})

export const TOTP_SECRET = factorAnswer(
  'totpSecret',
  'A second factor that is not confirmed yet.',
  {
    secret: text('The secret, in base 32; returned once.'),
    uri: text('The secret as a URI for authenticator apps.'),
  },
)

export const RECOVERY_CODES = factorAnswer(
  'recoveryCodes',
  'One-time codes that replace the second factor.',
  {
    recovery_codes: listOf(text('A code.'), 'The codes; returned once.'),
  },
)
