/** The OpenAPI document of the charging port: `/realtime` in the formats of all file types. */
import {
  either,
  integer,
  object,
  ref,
  type Schema,
  text,
} from '../../catalog/entities/json-schema.ts'
import type { Config } from '../../config/schema.ts'
import { builtInFileTypes, PLAIN_JSON } from '../../file-types/built-in.ts'
import { answerSettingsOf } from '../../file-types/defaults.ts'
import { CHARGE_REQUESTS, chargeAnswers, chargeRefusals } from './charging-examples.ts'
import { chargingSchemas } from './charging-schemas.ts'
import { COMPOUNDS } from './compounds.ts'
import type { OpenApiDocument } from './document.ts'
import { codeSamples, type Operation } from './operations.ts'

const ABOUT =
  'Charges sessions and events of network elements. A denial has HTTP status 200, `status` 0 and ' +
  'the reason in `returnCode`; an outage has HTTP status 503, and the same request may be ' +
  'repeated. This document describes the plain JSON format; messages of other file types are as ' +
  'their documents describe them.'

const PATH = '/realtime'
const TAG = { name: 'charging', description: 'Charging of network elements' } as const
const FORM = 'application/x-www-form-urlencoded'

const SECURITY_SCHEMES: Readonly<Record<string, Schema>> = {
  key: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Api-Key',
    description: 'Key of a network element (`tollgate peer add`).',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'The same key, or an access token of a client with the role `charge`.',
  },
  tokenParameter: {
    type: 'apiKey',
    in: 'query',
    name: 'access_token',
    description: 'An access token. URLs are usually logged.',
  },
  signature: {
    type: 'apiKey',
    in: 'query',
    name: '_sig_',
    description: 'Signature of all parameters, with the time in `_t_`. Also in the body.',
  },
}

const fileTypeNames = [PLAIN_JSON, ...builtInFileTypes().keys()]
const NAME = text(
  `Name of the file type: ${fileTypeNames.join(', ')}, or one of the installation.`,
  { pattern: '^[A-Za-z0-9_]{1,64}$' },
)
const MESSAGE = text('A message of the file type, as text.')
/** Media types of messages that are not JSON: in requests, and in answers. */
const TEXT_TYPES = {
  request: ['application/xml', 'text/xml', 'text/plain'],
  answer: ['text/xml', 'text/plain', FORM],
} as const

type Part = readonly [name: string, schema: Schema]

export function chargingDocument(config: Config, version: string): OpenApiDocument {
  const { realtime } = config
  const { returnCodes: codes } = answerSettingsOf(config)
  const baseUrl = `http${realtime.tls.enabled ? 's' : ''}://127.0.0.1:${realtime.port}`
  const refusals = chargeRefusals(codes, realtime.bodyBytesMax)
  const operation = createOperations({ baseUrl, answers: chargeAnswers(codes), refusals })
  const isPlain = realtime.defaultFileType === PLAIN_JSON
  return {
    openapi: '3.1.0',
    info: { title: 'Tollgate charging', version, description: ABOUT },
    servers: [{ url: baseUrl, description: 'The charging port, on the machine of the node.' }],
    tags: [TAG],
    paths: {
      [PATH]: { get: operation('GET', PATH, false), post: operation('POST', PATH, isPlain) },
      [NAMED]: { get: operation('GET', NAMED, false), post: operation('POST', NAMED, false) },
    },
    components: {
      schemas: {
        ...chargingSchemas(codes, realtime.servicesMax),
        ...Object.fromEntries(JSON_SCHEMAS.map((name) => [name, COMPOUNDS[name] ?? {}])),
      },
      responses: {},
      examples: {},
      securitySchemes: SECURITY_SCHEMES,
    },
    // `realtime.openTo` decides who needs none.
    security: [{}, ...Object.keys(SECURITY_SCHEMES).map((name) => ({ [name]: [] }))],
  }
}

const NAMED = `${PATH}/{file_type}`
/** JSON messages of other file types. */
const JSON_SCHEMAS = ['jsonObject', 'jsonValue', 'jsonList', 'jsonRows', 'jsonCells'] as const

interface OperationParts {
  readonly baseUrl: string
  readonly answers: ReturnType<typeof chargeAnswers>
  readonly refusals: ReturnType<typeof chargeRefusals>
}

function createOperations({ baseUrl, answers, refusals }: OperationParts) {
  /** `isPlain`: JSON is the plain format, unless the query names another file type. */
  return (method: 'GET' | 'POST', path: string, isPlain: boolean): Operation => {
    const isGet = method === 'GET'
    const inPath = path === NAMED
    const example = { record_type: 'release_request', session_id: 'pgw1;1789000000;7' }
    const sent = isGet
      ? { query: { ...(!inPath && { file_type: 'NAME' }), request: JSON.stringify(example) } }
      : { json: CHARGE_REQUESTS['start'] }
    const target = inPath ? path.replace('{file_type}', isGet ? 'NAME' : PLAIN_JSON) : path
    return {
      operationId: ['realtime', ...(inPath ? ['file_type'] : []), method.toLowerCase()].join('.'),
      tags: [TAG.name],
      summary: isGet ? 'Charge by a message in the query' : 'Charge',
      description: isGet
        ? 'For file types with `allow_get` only: URLs are usually logged.'
        : 'A start, update or release of a session, or a single event.',
      ...codeSamples({ method, path: target, baseUrl, ...sent }),
      parameters: [
        parameter(inPath ? 'path' : 'query', ['file_type', NAME], PLAIN_JSON),
        ...(isGet ? [parameter('query', ['request', MESSAGE], JSON.stringify(example))] : []),
      ],
      ...(!isGet && { requestBody: requestBody(isPlain) }),
      responses: responsesOf({ baseUrl, answers, refusals }, isGet, isPlain),
    }
  }
}

function parameter(place: 'path' | 'query', [name, schema]: Part, example: string): Schema {
  const { description } = schema
  return { name, in: place, description, required: place === 'path', schema, example }
}

function requestBody(isPlain: boolean): Schema {
  const examples = named(CHARGE_REQUESTS)
  const form = object('The message, unless the pairs themselves are one.', {
    request: MESSAGE,
    file_type: NAME,
  })
  const example = { request: JSON.stringify(CHARGE_REQUESTS['release']), file_type: PLAIN_JSON }
  const texts = TEXT_TYPES.request.map((type) => [type, { schema: MESSAGE }])
  return {
    description: 'The message, of at most `realtime.bodyBytesMax` bytes in UTF-8.',
    required: true,
    content: {
      'application/json': { schema: jsonOf('chargeRequest', isPlain), examples },
      [FORM]: { schema: form, example },
      ...Object.fromEntries(texts),
    },
  }
}

/** The plain format, or any. */
function jsonOf(name: string, isPlain: boolean): Schema {
  if (isPlain) return ref(name)
  return either('As the file type has it.', ref(name), ref('jsonObject'), ref('jsonList'))
}

const named = (examples: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]))

const header = (name: string, description: string): Schema => ({
  [name]: { description, schema: text(description) },
})
const RETRY: Schema = {
  'Retry-After': {
    description: 'Seconds to wait.',
    schema: integer('Seconds to wait.', { minimum: 1 }),
  },
}

interface Refusal {
  readonly status: '400' | '401' | '403' | '404' | '405' | '411' | '413' | '415' | '429'
  readonly description: string
  /** Whether it may be in the format of the file type. */
  readonly isOfFileType?: boolean
  readonly headers?: Schema
  readonly onlyPost?: boolean
}

const REFUSALS: readonly Refusal[] = [
  {
    status: '400',
    description: 'The message is malformed, or the file type is named twice.',
    isOfFileType: true,
  },
  {
    status: '401',
    description: 'A required key is missing, or it is unknown.',
    headers: header('WWW-Authenticate', 'The scheme, `Bearer`.'),
  },
  {
    status: '403',
    description: 'The key may not be used from here or for this file type; a page in a browser.',
  },
  { status: '404', description: 'The file type is unknown, disabled, or invalid.' },
  {
    status: '405',
    description: 'The file type does not accept the method.',
    isOfFileType: true,
    headers: header('Allow', 'The accepted methods.'),
  },
  { status: '411', description: 'The body has no `Content-Length`.', onlyPost: true },
  { status: '413', description: 'The message is too long.', isOfFileType: true },
  {
    status: '415',
    description: 'The content type is not one of the file type.',
    isOfFileType: true,
    onlyPost: true,
  },
  { status: '429', description: 'Over the rate of the key: repeat it later.', headers: RETRY },
]

function responsesOf(
  { answers, refusals }: OperationParts,
  isGet: boolean,
  isPlain: boolean,
): Record<string, Schema> {
  const { failed } = refusals
  const refused = REFUSALS.filter(({ onlyPost }) => !(isGet && onlyPost)).map((refusal) => {
    const { status, description, headers, isOfFileType = false } = refusal
    const name = status === '429' ? 'chargeOverRate' : 'chargeRefusal'
    const content = messages(jsonOf(name, isPlain || !isOfFileType), {
      refused: refusals[status],
    })
    const own = isOfFileType ? content : { 'application/json': content['application/json'] }
    return [status, { description, ...(headers !== undefined && { headers }), content: own }]
  })
  return {
    '200': {
      description: 'Granted or denied.',
      content: messages(jsonOf('chargeAnswer', isPlain), answers),
    },
    ...Object.fromEntries(refused),
    '503': {
      description: 'Overload, outage, or no answer in time: repeat the same request.',
      headers: RETRY,
      content: messages(jsonOf('chargeFailure', isPlain), { failed }),
    },
  }
}

/** JSON with examples, or the text of another message format. */
function messages(schema: Schema, examples: object): Record<string, Schema> {
  const texts = TEXT_TYPES.answer.map((type) => [type, { schema: MESSAGE }])
  return {
    'application/json': { schema, examples: named({ ...examples }) },
    ...Object.fromEntries(texts),
  }
}
