/** Maps errors to responses: errors of the caller are returned, internal errors are logged. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isCustomerSystemAway } from '../../billing/run/external-accounts.ts'
import {
  CatalogUnavailableError,
  DuplicateEntityError,
  EntityConflictError,
  ReadCancelledError,
  SlowReadError,
} from '../../catalog/errors.ts'
import { CardKeyError } from '../../catalog/settings/card-secrets.ts'
import { FieldError } from '../../domain/fields.ts'
import { CustomerSystemError } from '../../external/customers/errors.ts'
import { ApiError, DISPLAY, EntityRuleError, RequestError } from '../../requests/errors.ts'
import type { Logger } from '../../runtime/log.ts'
import { StoreDownError } from '../../store/redis.ts'
import { requestErrorOf } from './body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether a call that can write has begun: its errors may follow a write. */
    mayHaveWritten: boolean
  }
}

const SORT = DISPLAY.sort

/** Null for an internal error. `mayHaveWritten`: what an unavailable store may have done. */
export function apiErrorOf(error: unknown, mayHaveWritten = true): ApiError | null {
  if (error instanceof ApiError) return error
  if (error instanceof FieldError) return new EntityRuleError(error.message)
  if (error instanceof DuplicateEntityError || error instanceof EntityConflictError) {
    return new EntityRuleError(error.message)
  }
  if (error instanceof SlowReadError) {
    return new EntityRuleError(
      `the query was stopped after ${error.limitMs} ms: query by the key or an ` +
        'indexed field, or sort by the key',
      DISPLAY.request,
    )
  }
  // The client has disconnected; the status only appears in the log.
  if (error instanceof ReadCancelledError)
    return new RequestError(499, 'the client has disconnected')
  if (error instanceof CatalogUnavailableError) return unavailable('MongoDB', mayHaveWritten)
  if (error instanceof CardKeyError) return new RequestError(503, error.message)
  if (error instanceof StoreDownError) return unavailable('Redis', mayHaveWritten)
  if (error instanceof CustomerSystemError) {
    const { message } = error
    return isCustomerSystemAway(error)
      ? new RequestError(503, message)
      : new EntityRuleError(message)
  }
  if (error instanceof Error && /Sort exceeded memory limit/.test(error.message)) {
    return new EntityRuleError(
      'sort: too many documents to sort: restrict the query, or sort by the key',
      SORT,
    )
  }
  // MongoDB detects this only when it sorts a document in which both fields are lists.
  if (error instanceof Error && /parallel arrays/.test(error.message)) {
    return new EntityRuleError(
      'sort: two of the fields are lists, and documents cannot be sorted by both',
      SORT,
    )
  }
  if (isRefusedRegex(error)) {
    return new RequestError(400, 'query: the store cannot run one of the regular expressions')
  }
  return requestErrorOf(error)
}

function unavailable(store: string, mayHaveWritten: boolean): RequestError {
  const outcome = mayHaveWritten ? 'a write may have been done' : 'the request can be repeated'
  return new RequestError(503, `${store} is unavailable: ${outcome}`)
}

/** 51091: the expression does not compile; 238: the embedded store does not support its syntax. */
const REGEX_CODES: ReadonlySet<unknown> = new Set([51_091, 238])

/**
 * MongoDB uses PCRE, whose versions differ in properties, class names and escapes, so only the
 * store can validate the expression.
 */
function isRefusedRegex(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return REGEX_CODES.has(error.code) && /regular expression/i.test(error.message)
}

const INTERNAL_ERROR = new RequestError(500, 'internal error')

/** Responds with the API error, or with a generic one for internal errors, which are logged. */
export function errorHandler(log: Pick<Logger, 'error'>) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const apiError = apiErrorOf(error, request.mayHaveWritten)
    if (apiError === null) log.error({ err: error, req: request }, 'request failed')
    const response = apiError ?? INTERNAL_ERROR
    return reply.code(response.httpStatus).headers(response.headers).send(response.body())
  }
}
