/**
 * Reads the parameters of a request: from the query string, and from a JSON, form or multipart
 * body. Parameters in the body take precedence.
 */
import { type Readable, Transform } from 'node:stream'
import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { parseOrdered } from '../../catalog/signature/ordered-json.ts'
import { signatureParameter } from '../../catalog/signature/signed-text.ts'
import { EntityRuleError, RequestError } from '../../requests/errors.ts'
import { FormParameters } from '../../requests/form-names.ts'
import {
  BODY_BYTES_MAX,
  DEPTH_MAX,
  type JsonLimits,
  SMALL_BODY_BYTES_MAX,
} from '../../requests/json-limits.ts'
import { parseJson } from '../../requests/json-text.ts'
import type { OrderedParameters, RawParameters } from '../../requests/raw-parameters.ts'
import { NO_FILES, type ReadParts, readParts, type UploadLimits } from './multipart.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Limits on JSON bodies of this route, if they differ. */
    jsonLimits?: JsonLimits
  }
}

export interface RequestParameters extends ReadParts {
  readonly values: RawParameters
  /**
   * The parameters in the order in which they were sent, for signatures; without files. If there is
   * no signature, the members of nested JSON values may be in a different order.
   */
  readonly ordered: OrderedParameters
}

/** Parameters of a body or a query string. */
interface Parameters {
  readonly values: RawParameters
  /** In the order in which they were sent. */
  ordered(): OrderedParameters
}

/**
 * Registers the body parsers for the routes of this instance, which must be encapsulated
 * (`server.register`); other media types are refused.
 */
export function registerBodies(server: FastifyInstance, bodyLimit = BODY_BYTES_MAX): void {
  server.removeAllContentTypeParsers()
  const add = (type: string, read: (text: string, limits?: JsonLimits) => Parameters) =>
    server.addContentTypeParser(
      type,
      { parseAs: 'buffer', bodyLimit },
      async (request: FastifyRequest, body: Buffer) => {
        if (request.isUnidentified) await ownTurn()
        return read(textOf(body), request.routeOptions.config.jsonLimits)
      },
    )
  add('application/json', jsonBody)
  add('application/x-www-form-urlencoded', formOf)
  server.register(multipart)
  server.addHook('preParsing', async (request, reply, payload) => {
    // Files are stored for callers only; the fields have a limit of their own (multipart.ts).
    if (!request.isUnidentified || isForm(request)) return payload
    return boundedBody(payload, Number(request.headers['content-length']), reply)
  })
}

/** Whether the parser of multipart forms will read the body. */
function isForm({ headers }: FastifyRequest): boolean {
  return headers['content-type']?.split(';')[0]?.trim().toLowerCase() === 'multipart/form-data'
}

let lastTurn: Promise<void> = Promise.resolve()

/**
 * Bodies of unidentified callers are parsed in different turns of the event loop, so that others
 * wait for one of them and not for all that have arrived.
 */
function ownTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => new Promise<void>((resolve) => setImmediate(resolve)))
  return lastTurn
}

/**
 * The event loop parses a body at once, for up to a tenth of a second per megabyte: only that of a
 * caller who is known before may be large. `length`: NaN if it is sent in chunks.
 */
function boundedBody(payload: Readable, length: number, reply: FastifyReply): Readable {
  if (length <= SMALL_BODY_BYTES_MAX) return payload
  const refuse = () => {
    // The rest is not read.
    reply.header('connection', 'close')
    return new RequestError(
      413,
      `a body of more than ${SMALL_BODY_BYTES_MAX} bytes needs a session, or a token in the ` +
        'header or the query',
    )
  }
  if (length > SMALL_BODY_BYTES_MAX) throw refuse()
  let bytes = 0
  const bounded = new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length
      done(bytes > SMALL_BODY_BYTES_MAX ? refuse() : null, chunk)
    },
  })
  payload.once('error', (error) => bounded.destroy(error))
  return payload.pipe(bounded)
}

/**
 * The parameters in the query string and the body of a request; a multipart body is read here.
 * Files are refused unless `uploads` allows them; the caller disposes of them. Throws
 * `RequestError` 413 if something is too large and 400 if the body is incomplete, or
 * `EntityRuleError` for invalid names and JSON.
 */
export async function readParameters(
  request: FastifyRequest,
  reply: FastifyReply,
  uploads: UploadLimits = NO_FILES,
): Promise<RequestParameters> {
  const query = queryOf(request.url)
  if (!request.isMultipart()) {
    const body = (request.body ?? NO_PARAMETERS) as Parameters
    return { ...merged(query, body), files: [], dispose: async () => undefined }
  }
  const form = new FormParameters()
  try {
    const parts = await readParts(request, form, uploads)
    return { ...merged(query, parametersOf(form)), ...parts }
  } catch (error) {
    // The rest of the body is not read, so the connection cannot be reused.
    reply.header('connection', 'close')
    throw error
  }
}

/**
 * Only the parameters in the query string of a URL, in the order in which they were sent. Throws
 * `EntityRuleError`.
 */
export function queryParameters(url: string): OrderedParameters {
  return merged(queryOf(url), NO_PARAMETERS).ordered
}

/** The parameters of a body that is not multipart. */
export function bodyParameters({ body }: FastifyRequest): RawParameters {
  return ((body ?? NO_PARAMETERS) as Parameters).values
}

function queryOf(url: string): Parameters {
  const mark = url.indexOf('?')
  return formOf(mark < 0 ? '' : url.slice(mark + 1))
}

const NO_PARAMETERS: Parameters = { values: new Map(), ordered: () => new Map() }

/** A parameter in both has the position of the first and the value of the second. */
function merged(
  query: Parameters,
  body: Parameters,
): Pick<RequestParameters, 'values' | 'ordered'> {
  const values = new Map([...query.values, ...body.values])
  // Only signatures need the order, and determining it means parsing the body again.
  const isSigned = signatureParameter(values) !== null
  return { values, ordered: isSigned ? new Map([...query.ordered(), ...body.ordered()]) : values }
}

/** An error of reading a body that the client has caused becomes a `RequestError`. */
export function bodyErrorOf(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (isAborted(error, code)) return new RequestError(400, 'the body is incomplete')
  if (!code.startsWith('FST_ERR_CTP_')) return error
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new RequestError(413, 'the body is too large')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new RequestError(415, `a body must be JSON, or a form, by its 'content-type'`)
  }
  return new RequestError(400, 'the body cannot be read')
}

/** The client has disconnected. Fastify marks errors of reading a body as client errors (400). */
function isAborted(error: unknown, code: string): boolean {
  if (code === 'ERR_STREAM_PREMATURE_CLOSE') return true
  return code === 'ECONNRESET' && (error as { statusCode?: unknown }).statusCode === 400
}

function textOf(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw new RequestError(400, 'the body is not UTF-8')
  }
}

function jsonBody(text: string, limits?: JsonLimits): Parameters {
  if (text.trim() === '') return NO_PARAMETERS
  const value = parseJson(text, 'body', limits)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new EntityRuleError('body must be an object with the parameters', 'request')
  }
  return {
    values: new Map(Object.entries(value)),
    ordered: () => orderedBody(text),
  }
}

/**
 * Only fails for a member that was overwritten by a later one of the same name, and therefore not
 * checked before.
 */
function orderedBody(text: string): OrderedParameters {
  try {
    return parseOrdered(text, DEPTH_MAX) as OrderedParameters
  } catch {
    throw new EntityRuleError(`body is nested deeper than ${DEPTH_MAX} levels`, 'request')
  }
}

function formOf(text: string): Parameters {
  const form = new FormParameters()
  form.addText(text)
  return parametersOf(form)
}

function parametersOf(form: FormParameters): Parameters {
  return { values: form.values(), ordered: () => form.ordered() }
}
