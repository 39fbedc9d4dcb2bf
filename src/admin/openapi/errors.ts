/** Error responses with their schemas and examples. */

import {
  choice,
  closed,
  constant,
  either,
  integer,
  listOf,
  ref,
  type Schema,
  text,
} from '../../catalog/entities/json-schema.ts'
import { ISSUE_CODES, missing } from '../../domain/field-errors.ts'
import { InvalidTokenError, OAuthError } from '../../identity/oauth/errors.ts'
import { AuthRefusal } from '../../identity/refusal.ts'
import {
  type ApiError,
  EntityRuleError,
  ExecutionError,
  InvalidFieldsError,
  missingParameters,
  NotAllowedError,
  NotLoggedInError,
  RequestError,
  TargetError,
} from '../../requests/errors.ts'
import { errorBody } from '../client-errors.ts'

const MESSAGE = text('The error, with the field and how to fix it.')
/** Actions repeat the text of each error in both places. */
const OF_ACTIONS: Readonly<Record<string, Schema>> = {
  desc: text('In answers of actions: the text.'),
  message: text('In answers of actions: the text.'),
}

const ISSUES = listOf(
  closed('Something that is wrong.', {
    path: text('Dotted path in the document or the parameters; empty: not about a field.'),
    code: choice(
      ISSUE_CODES,
      'What is wrong: `missing`, `unknown` or `invalid` of a field; `more`: so many others.',
    ),
    why: text('The reason.'),
  }),
  'All that is wrong, that of the text first. An answer has it if, and only if, it is an error.',
)

/** The body of an error. */
export const failed = (
  description: string,
  members: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema =>
  closed(
    description,
    { status: constant(0, '0: the request failed.'), ...members, errors: ref('errors') },
    optional,
  )

const coded = (description: string, code: number, display: Schema): Schema =>
  failed(
    description,
    { ...OF_ACTIONS, code: constant(code, 'Identifies the error.'), message: MESSAGE, display },
    ['desc'],
  )

const located = (description: string): Schema =>
  failed(
    description,
    {
      code: integer('500, or the HTTP status if that is not 200.'),
      data: closed('The error.', { message: MESSAGE }),
      ...OF_ACTIONS,
    },
    Object.keys(OF_ACTIONS),
  )

/** Components by error name. */
export const ERROR_SCHEMAS: Readonly<Record<string, Schema>> = {
  errors: ISSUES,
  ruleError: coded(
    'A rule is violated, or mandatory fields are missing; all of them are named.',
    17_577,
    closed('The rule.', {
      code: integer('Code of the rule.'),
      desc: text('Always `General error.`'),
    }),
  ),
  actionError: failed(
    'A call of the action API is refused.',
    {
      code: integer('17577, or the code of another error.'),
      message: MESSAGE,
      desc: text('The same text as in `message`.'),
      display: closed('For existing clients.', {
        code: integer('999.'),
        desc: text('Always `General error.`'),
      }),
      details: text('The cause, if existing clients know another text for the error.'),
    },
    ['display', 'details'],
  ),
  fieldsError: coded(
    'Values of a wrong type, or unknown fields.',
    17_576,
    text('Names of the fields as JSON text: `[{"name":"aid","error":3}]`.'),
  ),
  permissionError: coded(
    'The caller lacks the permission, or the collection has no such action.',
    17_575,
    MESSAGE,
  ),
  loginError: coded('The caller is not authenticated.', 17_574, MESSAGE),
  targetError: located('The addressed document does not exist or is not unique.'),
  requestError: located('The request cannot be parsed, or a store is unavailable.'),
  executionError: failed('An import or export failed as a whole.', {
    errorCode: integer('500.'),
    desc: MESSAGE,
  }),
  transportError: failed(
    'The server refused the request before it was processed.',
    {
      code: integer('The HTTP status.'),
      desc: MESSAGE,
      details: constant(false, 'In answers with 429: no further information.'),
    },
    ['details'],
  ),
  tokenError: failed(
    'The access token is unknown, expired or revoked.',
    {
      code: integer('99001.'),
      error: text('Always `invalid_token`.'),
      error_description: MESSAGE,
      ...OF_ACTIONS,
    },
    Object.keys(OF_ACTIONS),
  ),
  oauthError: failed(
    'A token request is refused (RFC 6749, section 5.2).',
    {
      error: text('Code of RFC 6749, such as `invalid_client`.'),
      error_description: MESSAGE,
      error_uri: text('URL with information on the error.'),
    },
    ['error_uri'],
  ),
  authError: failed(
    'A login or a change of a password is refused.',
    {
      code: integer('17574 if nobody is logged in; the HTTP status if it is not 200.'),
      desc: MESSAGE,
      details: either(
        'False; or further parameters that the login requires.',
        constant(false, 'No further information.'),
        closed('The password is right.', { totp_required: constant(true, 'Send `totp` as well.') }),
      ),
      input: ref('loginInput', 'The parameters of the request, without the password.'),
    },
    ['code', 'input'],
  ),
  loginInput: closed(
    'The parameters of the request, without the password.',
    {
      username: text('Name of the user.'),
      protocol: text('Login protocol: `Internal`, `Ldap`, `Saml`.'),
      provider: text('Name of the provider.'),
    },
    ['username', 'protocol', 'provider'],
  ),
  entityError: either(
    'An error that the caller can fix; HTTP status 200 and `status` 0.',
    ...['ruleError', 'fieldsError', 'permissionError', 'loginError'].map((name) => ref(name)),
    ...['targetError', 'executionError'].map((name) => ref(name)),
  ),
}

/** Examples by component name. */
export const ERROR_EXAMPLES: Readonly<Record<string, object>> = {
  ruleError: new EntityRuleError(
    'firstname is mandatory; lastname is mandatory',
    missing(['firstname', 'lastname'], 'is mandatory'),
  ).body(),
  actionError: body(missingParameters(['aid'])),
  fieldsError: body(new InvalidFieldsError([{ path: 'update.aid', reason: 'must be an integer' }])),
  permissionError: body(
    new NotAllowedError('No permission: this takes one of the roles write, admin'),
  ),
  loginError: body(new NotLoggedInError('No user is logged in: log in (POST /auth/login)')),
  targetError: body(
    new TargetError('plans: there is no revision with _id 65f0c0ffee0123456789ffff'),
  ),
  requestError: body(new RequestError(503, 'MongoDB is unavailable')),
  executionError: body(new ExecutionError('the file has no rows', 'refused')),
  transportError: errorBody(403, 'pages of other sites may not use the control plane'),
  tokenError: body(new InvalidTokenError()),
  oauthError: body(new OAuthError('invalid_client', 'The client credentials are not valid')),
  authError: {
    ...body(new AuthRefusal('the user name or the password is wrong', 'refused')),
    input: { username: 'ops@example.org', protocol: 'Internal' },
  },
}

function body(error: ApiError): object {
  return error.body()
}

const EXAMPLES = '#/components/examples/'

/** Components of the examples. */
export const EXAMPLE_COMPONENTS: Readonly<Record<string, Schema>> = Object.fromEntries(
  Object.entries(ERROR_EXAMPLES).map(([name, value]) => [
    name,
    { summary: ERROR_SCHEMAS[name]?.['description'], value },
  ]),
)

/** Content of a response with examples by name; examples of errors are referenced as components. */
export function content(
  schema: Schema,
  examples: Readonly<Record<string, unknown>>,
  type = 'application/json',
): Schema {
  const named = Object.entries(examples).map(([name, value]) => [
    name,
    ERROR_EXAMPLES[name] === value ? { $ref: `${EXAMPLES}${name}` } : { value },
  ])
  return { content: { [type]: { schema, examples: Object.fromEntries(named) } } }
}

function errorContent(name: string, example = ERROR_EXAMPLES[name]): Schema {
  return content(ref(name), { [name]: example })
}

const CHALLENGE = (scheme: string): Schema => ({
  'WWW-Authenticate': {
    description: 'Authentication method.',
    schema: text(`The scheme, \`${scheme}\`.`),
  },
})

const request = (status: number, description: string, message: string): Schema => ({
  description,
  ...errorContent('requestError', new RequestError(status, message).body()),
})

const transport = (status: number, description: string, desc: string): Schema => ({
  description,
  ...errorContent('transportError', errorBody(status, desc)),
})

/** Components of responses with their own HTTP status. */
export const ERROR_RESPONSES: Readonly<Record<string, Schema>> = {
  unreadable: request(400, 'The request cannot be parsed.', 'the body is not UTF-8'),
  badToken: {
    description: 'The access token is invalid.',
    headers: CHALLENGE('Bearer'),
    ...errorContent('tokenError'),
  },
  unauthenticated: {
    description: 'The caller is not authenticated, or the access token is invalid.',
    ...content(either('Why.', ref('loginError'), ref('tokenError')), {
      loginError: ERROR_EXAMPLES['loginError'],
      tokenError: ERROR_EXAMPLES['tokenError'],
    }),
  },
  forbidden: transport(
    403,
    'The request comes from a page of another site, or is addressed to an unknown host name.',
    'the control plane is not addressed by this name',
  ),
  notAllowed: {
    description:
      'The caller lacks the permission, or the request comes from a page of another site.',
    ...content(either('Why.', ref('permissionError'), ref('transportError')), {
      permissionError: ERROR_EXAMPLES['permissionError'],
      transportError: ERROR_EXAMPLES['transportError'],
    }),
  },
  noTestClock: {
    description:
      'The caller lacks the permission, the clock is not a test clock, or the request comes from ' +
      'a page of another site.',
    ...content(either('Why.', ref('permissionError'), ref('requestError'), ref('transportError')), {
      permissionError: ERROR_EXAMPLES['permissionError'],
      requestError: new RequestError(403, 'clock.test is false: the clock cannot be moved').body(),
      transportError: ERROR_EXAMPLES['transportError'],
    }),
  },
  clockMoving: request(409, 'Another move is running.', 'the clock is being moved'),
  badMethod: request(405, 'Writes must be sent by POST.', 'update must be sent by POST'),
  tooLarge: request(413, 'The body is too large.', 'the body is too large'),
  badType: request(
    415,
    'The media type of the body is not supported.',
    'Content-Type must be JSON or a form',
  ),
  failed: request(500, 'An internal error; the log of the node has the details.', 'internal error'),
  unavailable: request(
    503,
    'A store is unavailable. A write may have been done; if not, the text says so.',
    'MongoDB is unavailable: a write may have been done',
  ),
  badOAuth: { description: 'The request is refused.', ...errorContent('oauthError') },
  badClient: {
    description: 'The credentials in the header `Authorization` are invalid.',
    headers: CHALLENGE('Basic'),
    ...errorContent('oauthError'),
  },
  badLogin: { description: 'The parameters are invalid.', ...errorContent('authError') },
  tooMany: {
    description: 'Too many attempts; `Retry-After` has the seconds to wait.',
    headers: { 'Retry-After': { description: 'Seconds to wait.', schema: integer('Seconds.') } },
    ...errorContent(
      'authError',
      new AuthRefusal('too many wrong tries', 'too_many', { httpStatus: 429 }).body(),
    ),
  },
  loginUnavailable: {
    description:
      'A store or the directory of the login protocol is unavailable, or too many passwords are ' +
      'being compared: `Retry-After` then has the seconds to wait.',
    ...content(either('Why.', ref('requestError'), ref('authError')), {
      store: new RequestError(503, 'MongoDB is unavailable').body(),
      directory: new AuthRefusal('protocol ldap is unavailable now', 'unavailable', {
        httpStatus: 503,
      }).body(),
    }),
  },
  tooManyStreams: request(
    429,
    'The login session has too many streams: single samples can still be read.',
    'this login session has 2 streams already',
  ),
  tooManyTokens: {
    description: 'Too many requests; `Retry-After` has the seconds to wait.',
    headers: { 'Retry-After': { description: 'Seconds to wait.', schema: integer('Seconds.') } },
    ...errorContent(
      'oauthError',
      new OAuthError('temporarily_unavailable', 'Too many requests from this address').body(),
    ),
  },
}

export function response(name: string): Schema {
  return { $ref: `#/components/responses/${name}` }
}
