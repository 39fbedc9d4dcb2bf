/**
 * Where parameters come from (spec/entity-api.md 1.2): the query string, and a body of JSON, a
 * form, or a form in parts. Names in the body win.
 */
import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, RequestError, RuleError } from '../errors.ts'
import { addForm, FormParameters } from './form-names.ts'
import { BODY_BYTES_MAX } from './json-limits.ts'
import { parseJson } from './json-text.ts'
import { NO_FILES, type ReadParts, readParts, type UploadLimits } from './multipart.ts'
import type { RawParameters } from './raw-parameters.ts'

export interface RequestParameters extends ReadParts {
  readonly values: RawParameters
}

/**
 * Registers what reads bodies, for the routes of this instance, which is one of its own
 * (`server.register`): other media types are refused. A body may have `BODY_BYTES_MAX`.
 */
export function registerBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers()
  const add = (type: string, read: (text: string) => RawParameters) =>
    server.addContentTypeParser(
      type,
      { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX },
      async (_request: FastifyRequest, body: Buffer) => read(textOf(body)),
    )
  add('application/json', jsonBody)
  add('application/x-www-form-urlencoded', formBody)
  server.register(multipart)
}

/**
 * The parameters of a request, of the query string and its body, which is read here if it comes in
 * parts. Files are refused unless `uploads` allows them; the caller disposes of them. Throws
 * `RequestError` 413 for what is too large, 400 for what is cut off, `RuleError` for names and JSON
 * that cannot be read.
 */
export async function readParameters(
  request: FastifyRequest,
  reply: FastifyReply,
  uploads: UploadLimits = NO_FILES,
): Promise<RequestParameters> {
  const values = queryParameters(request.url)
  if (!request.isMultipart()) {
    const body = (request.body ?? new Map()) as RawParameters
    for (const [name, value] of body) values.set(name, value)
    return { values, files: [], dispose: async () => undefined }
  }
  const form = new FormParameters()
  try {
    const parts = await readParts(request, form, uploads)
    for (const [name, value] of form.values()) values.set(name, value)
    return { values, ...parts }
  } catch (error) {
    // What is still to come is not read, so no further request can come behind it.
    reply.header('connection', 'close')
    throw error
  }
}

/** Those of the query string of a URL alone. Throws `RuleError`. */
export function queryParameters(url: string): Map<string, unknown> {
  const query = new FormParameters()
  const mark = url.indexOf('?')
  if (mark >= 0) addForm(url.slice(mark + 1), query)
  return query.values()
}

/**
 * The error that a caller is told for one of reading its body: those of this API are themselves.
 * Null for an error that is not the caller's.
 */
export function requestErrorOf(error: unknown): ApiError | null {
  if (error instanceof ApiError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (!code.startsWith('FST_ERR_CTP_')) return null
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new RequestError(413, 'the body is too large')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new RequestError(415, `a body must be JSON, or a form, by its 'content-type'`)
  }
  return new RequestError(400, 'the body cannot be read')
}

function textOf(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw new RequestError(400, 'the body is not UTF-8')
  }
}

function jsonBody(text: string): RawParameters {
  const value = text.trim() === '' ? {} : parseJson(text, 'body')
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return new Map(Object.entries(value))
  }
  throw new RuleError('body must be an object with the parameters')
}

function formBody(text: string): RawParameters {
  const form = new FormParameters()
  addForm(text, form)
  return form.values()
}
