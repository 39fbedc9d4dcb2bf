/**
 * Where parameters come from (spec/entity-api.md 1.2): the query string, and a body of JSON, a
 * form, or a form in parts. Names in the body win.
 */
import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { parseOrdered } from '../../../catalog/signature/ordered-json.ts'
import { signatureParameter } from '../../../catalog/signature/signed-text.ts'
import { ApiError, EntityRuleError, RequestError } from '../errors.ts'
import { FormParameters } from './form-names.ts'
import { BODY_BYTES_MAX, DEPTH_MAX } from './json-limits.ts'
import { parseJson } from './json-text.ts'
import { NO_FILES, type ReadParts, readParts, type UploadLimits } from './multipart.ts'
import type { RawParameters, SentParameters } from './raw-parameters.ts'

export interface RequestParameters extends ReadParts {
  readonly values: RawParameters
  /**
   * The same in the order of sending, for signatures; of files nothing. Where none of them is a
   * signature, nested values of JSON may be in another order.
   */
  readonly sent: SentParameters
}

/** A body, or a part of an address. */
interface Parameters {
  readonly values: RawParameters
  /** In the order of sending. */
  sent(): SentParameters
}

/**
 * Registers what reads bodies, for the routes of this instance, which is one of its own
 * (`server.register`): other media types are refused.
 */
export function registerBodies(server: FastifyInstance, bodyLimit = BODY_BYTES_MAX): void {
  server.removeAllContentTypeParsers()
  const add = (type: string, read: (text: string) => Parameters) =>
    server.addContentTypeParser(
      type,
      { parseAs: 'buffer', bodyLimit },
      async (_request: FastifyRequest, body: Buffer) => read(textOf(body)),
    )
  add('application/json', jsonBody)
  add('application/x-www-form-urlencoded', formOf)
  server.register(multipart)
}

/**
 * The parameters of a request, of the query string and its body, which is read here if it comes in
 * parts. Files are refused unless `uploads` allows them; the caller disposes of them. Throws
 * `RequestError` 413 for what is too large, 400 for what is cut off, `EntityRuleError` for names and JSON
 * that cannot be read.
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
    // What is still to come is not read, so no further request can come behind it.
    reply.header('connection', 'close')
    throw error
  }
}

/** Those of the query string of a URL alone, as they were sent. Throws `EntityRuleError`. */
export function queryParameters(url: string): SentParameters {
  return merged(queryOf(url), NO_PARAMETERS).sent
}

/** Those of a body that is no form in parts. */
export function bodyParameters({ body }: FastifyRequest): RawParameters {
  return ((body ?? NO_PARAMETERS) as Parameters).values
}

function queryOf(url: string): Parameters {
  const mark = url.indexOf('?')
  return formOf(mark < 0 ? '' : url.slice(mark + 1))
}

const NO_PARAMETERS: Parameters = { values: new Map(), sent: () => new Map() }

/** Who is in both has the place of the first, and the value of the second. */
function merged(query: Parameters, body: Parameters): Pick<RequestParameters, 'values' | 'sent'> {
  const values = new Map([...query.values, ...body.values])
  // To read a body once more in its order is for those who need it.
  const isSigned = signatureParameter(values) !== null
  return { values, sent: isSigned ? new Map([...query.sent(), ...body.sent()]) : values }
}

/**
 * The error that a caller is told for one of reading its body: those of this API are themselves.
 * Null for an error that is not the caller's.
 */
export function requestErrorOf(error: unknown): ApiError | null {
  if (error instanceof ApiError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (isAborted(error, code)) return new RequestError(400, 'the body was cut off')
  if (!code.startsWith('FST_ERR_CTP_')) return null
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new RequestError(413, 'the body is too large')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new RequestError(415, `a body must be JSON, or a form, by its 'content-type'`)
  }
  return new RequestError(400, 'the body cannot be read')
}

/** The client has left. Fastify marks errors of reading a body as the client's own (400). */
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

function jsonBody(text: string): Parameters {
  if (text.trim() === '') return NO_PARAMETERS
  const value = parseJson(text, 'body')
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new EntityRuleError('body must be an object with the parameters')
  }
  return {
    values: new Map(Object.entries(value)),
    sent: () => orderedBody(text),
  }
}

/** What it refuses stands behind a member of the same name, which alone was read before. */
function orderedBody(text: string): SentParameters {
  try {
    return parseOrdered(text, DEPTH_MAX) as SentParameters
  } catch {
    throw new EntityRuleError(`body is nested deeper than ${DEPTH_MAX} levels`)
  }
}

function formOf(text: string): Parameters {
  const form = new FormParameters()
  form.addText(text)
  return parametersOf(form)
}

function parametersOf(form: FormParameters): Parameters {
  return { values: form.values(), sent: () => form.sent() }
}
