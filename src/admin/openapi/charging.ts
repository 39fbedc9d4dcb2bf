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
import { PLAIN_JSON } from '../../file-types/built-in.ts'
import { answerSettingsOf, fileTypeDefaultsOf } from '../../file-types/defaults.ts'
import { isForm } from '../../file-types/file-type.ts'
import { type InstalledFileType, installedFileTypes } from '../../file-types/installed.ts'
import { answerTypeOf, FORM_TYPE, REQUEST_TYPES } from '../../file-types/media-types.ts'
import {
  CHARGE_REQUESTS,
  type ChargeExample,
  chargeAnswers,
  chargeExamples,
  chargeRefusals,
} from './charging-examples.ts'
import { chargingSchemas } from './charging-schemas.ts'
import { COMPOUNDS } from './compounds.ts'
import type { OpenApiDocument } from './document.ts'
import { codeSamples, type Operation } from './operations.ts'
import type { Sample } from './samples.ts'

const ABOUT =
  'Charges sessions and events of network elements. A denial has HTTP status 200, `status` 0 and ' +
  'the reason in `returnCode`; an outage has HTTP status 503, and the same request may be ' +
  'repeated. The fields of the plain JSON format have schemas; other built-in file types have ' +
  'media types and examples; messages of further ones are as their documents describe them.'

const PATH = '/realtime'
const TAG = { name: 'charging', description: 'Charging of network elements' } as const

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

const NAME = text('Name of the file type: a built-in one, or one of the installation.', {
  pattern: '^[A-Za-z0-9_]{1,64}$',
})
const MESSAGE = text('A message of the file type, as text.')
const FORM = object('The message, unless the pairs themselves are one.', {
  request: MESSAGE,
  file_type: NAME,
})

type Content = Readonly<Record<string, Schema>>

/** Requests and answers of a path. */
interface Format {
  readonly about: string
  readonly sample: Pick<Sample, 'json' | 'message'>
  readonly request: Content
  /** Answers that the component of this name describes if they are plain, with plain examples. */
  answer(name: string, examples: object): Content
}

export function chargingDocument(config: Config, version: string): OpenApiDocument {
  const { realtime } = config
  const { returnCodes: codes } = answerSettingsOf(config)
  const baseUrl = `http${realtime.tls.enabled ? 's' : ''}://127.0.0.1:${realtime.port}`
  const refusals = chargeRefusals(codes, realtime.bodyBytesMax)
  const operation = createOperations({ baseUrl, answers: chargeAnswers(codes), refusals })
  const any = formatOfAny(false)
  const preset = formatOfAny(realtime.defaultFileType === PLAIN_JSON)
  const examples = chargeExamples(codes)
  const builtIn = installedFileTypes([], fileTypeDefaultsOf(config)).flatMap((each) => {
    const format = formatOf(each, examples[each.name])
    if (format === null) return []
    const path = `${PATH}/${each.name}`
    return [[path, { post: operation('POST', path, format) }] as const]
  })
  return {
    openapi: '3.1.0',
    info: { title: 'Tollgate charging', version, description: ABOUT },
    servers: [{ url: baseUrl, description: 'The charging port, on the machine of the node.' }],
    tags: [TAG],
    paths: {
      [PATH]: { get: operation('GET', PATH, any), post: operation('POST', PATH, preset) },
      ...Object.fromEntries(builtIn),
      [NAMED]: { get: operation('GET', NAMED, any), post: operation('POST', NAMED, any) },
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
const JSON_TYPE = 'application/json'

/** Any file type. `isPlain`: JSON is the plain format, unless the query names another one. */
function formatOfAny(isPlain: boolean): Format {
  const release = JSON.stringify(CHARGE_REQUESTS['release'])
  return {
    about: 'A start, update or release of a session, or a single event.',
    sample: { json: CHARGE_REQUESTS['start'] },
    request: {
      [JSON_TYPE]: plain('chargeRequest', isPlain, CHARGE_REQUESTS),
      [FORM_TYPE]: { schema: FORM, example: { request: release, file_type: PLAIN_JSON } },
      ...texts([...REQUEST_TYPES.xml, ...REQUEST_TYPES.key_value]),
    },
    answer: (name, examples) => ({
      [JSON_TYPE]: plain(name, isPlain, examples),
      ...texts(['text/xml', 'text/plain', FORM_TYPE]),
    }),
  }
}

/** A built-in file type with its example; null without one. */
function formatOf(
  { fileType, document }: InstalledFileType,
  example: ChargeExample | undefined,
): Format | null {
  if (fileType?.type !== 'realtime' || example === undefined) return null
  const { parser, encoder } = fileType
  const { request, answer } = example
  const types = REQUEST_TYPES[parser.type]
  const [answerType = JSON_TYPE] = answerTypeOf(encoder).split(';')
  const start = (name: string, value: unknown) => ({
    schema: typeof value === 'string' ? MESSAGE : jsonOf(name, false),
    examples: named({ start: value }),
  })
  const text = typeof request === 'string' ? request : JSON.stringify(request)
  const isFormItself = parser.type === 'key_value' && isForm(parser)
  return {
    about: `${(document as { description: string }).description}.`,
    sample: { message: [types[0], text] },
    request: {
      ...Object.fromEntries(types.map((type) => [type, start('chargeRequest', request)])),
      [FORM_TYPE]: isFormItself ? start('', request) : { schema: FORM, example: { request: text } },
    },
    answer: (name, examples) =>
      name === 'chargeAnswer'
        ? { [answerType]: start(name, answer) }
        : { ...texts([answerType]), [JSON_TYPE]: plain(name, answerType !== JSON_TYPE, examples) },
  }
}

interface OperationParts {
  readonly baseUrl: string
  readonly answers: ReturnType<typeof chargeAnswers>
  readonly refusals: ReturnType<typeof chargeRefusals>
}

function createOperations({ baseUrl, answers, refusals }: OperationParts) {
  return (method: 'GET' | 'POST', path: string, format: Format): Operation => {
    const isGet = method === 'GET'
    const inPath = path === NAMED
    const example = { record_type: 'release_request', session_id: 'pgw1;1789000000;7' }
    const sent = isGet
      ? { query: { ...(!inPath && { file_type: 'NAME' }), request: JSON.stringify(example) } }
      : format.sample
    const target = inPath ? path.replace('{file_type}', isGet ? 'NAME' : PLAIN_JSON) : path
    const id = path.slice(1).replace(/[{}]/g, '').split('/')
    const parameters = [
      ...(inPath || path === PATH
        ? [parameter(inPath ? 'path' : 'query', ['file_type', NAME], PLAIN_JSON)]
        : []),
      ...(isGet ? [parameter('query', ['request', MESSAGE], JSON.stringify(example))] : []),
    ]
    return {
      operationId: [...id, method.toLowerCase()].join('.'),
      tags: [TAG.name],
      summary: isGet ? 'Charge by a message in the query' : 'Charge',
      description: isGet
        ? 'For file types with `allow_get` only: URLs are usually logged.'
        : format.about,
      ...codeSamples({ method, path: target, baseUrl, ...sent }),
      ...(parameters.length > 0 && { parameters }),
      ...(!isGet && {
        requestBody: {
          description: 'The message, of at most `realtime.bodyBytesMax` bytes in UTF-8.',
          required: true,
          content: format.request,
        },
      }),
      responses: responsesOf({ answers, refusals }, isGet, format),
    }
  }
}

function parameter(
  place: 'path' | 'query',
  [name, schema]: readonly [name: string, schema: Schema],
  example: string,
): Schema {
  const { description } = schema
  return { name, in: place, description, required: place === 'path', schema, example }
}

/** The plain format, or any. */
function jsonOf(name: string, isPlain: boolean): Schema {
  if (isPlain) return ref(name)
  return either('As the file type has it.', ref(name), ref('jsonObject'), ref('jsonList'))
}

const texts = (types: readonly string[]): Content =>
  Object.fromEntries(types.map((type) => [type, { schema: MESSAGE }]))

const named = (examples: object) =>
  Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]))

const plain = (name: string, isPlain: boolean, examples: object): Schema => ({
  schema: jsonOf(name, isPlain),
  examples: named(examples),
})

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
  { answers, refusals }: Omit<OperationParts, 'baseUrl'>,
  isGet: boolean,
  format: Format,
): Record<string, Schema> {
  const { failed } = refusals
  const refused = REFUSALS.filter(({ onlyPost }) => !(isGet && onlyPost)).map((refusal) => {
    const { status, description, headers, isOfFileType = false } = refusal
    const name = status === '429' ? 'chargeOverRate' : 'chargeRefusal'
    const examples = { refused: refusals[status] }
    const content = isOfFileType
      ? format.answer(name, examples)
      : { [JSON_TYPE]: plain(name, true, examples) }
    return [status, { description, ...(headers !== undefined && { headers }), content }]
  })
  return {
    '200': {
      description: 'Granted or denied.',
      content: format.answer('chargeAnswer', answers),
    },
    ...Object.fromEntries(refused),
    '503': {
      description: 'Overload, outage, or no answer in time: repeat the same request.',
      headers: RETRY,
      content: format.answer('chargeFailure', { failed }),
    },
  }
}
