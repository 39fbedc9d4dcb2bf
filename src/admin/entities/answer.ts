/** Errors as answers: what a caller can mend is named, what failed inside is in the log. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  CatalogUnavailableError,
  DuplicateEntityError,
  EntityConflictError,
  ReadCancelledError,
  SlowReadError,
} from '../../catalog/errors.ts'
import { FieldError } from '../../domain/fields.ts'
import type { Logger } from '../../runtime/log.ts'
import { StoreDownError } from '../../store/redis.ts'
import { ApiError, DISPLAY, EntityRuleError, RequestError } from './errors.ts'
import { requestErrorOf } from './requests/body.ts'

const SORT = DISPLAY.sort

/** Null: an error that is nobody's business but ours. */
export function apiErrorOf(error: unknown): ApiError | null {
  if (error instanceof ApiError) return error
  if (error instanceof FieldError) return new EntityRuleError(error.message)
  if (error instanceof DuplicateEntityError || error instanceof EntityConflictError) {
    return new EntityRuleError(error.message)
  }
  if (error instanceof SlowReadError) {
    return new EntityRuleError(
      `the query was stopped after ${error.limitMs} ms: ask by the key or a field that has an ` +
        'index, or sort by the key',
      DISPLAY.request,
    )
  }
  // Nobody reads it: the status is for the log.
  if (error instanceof ReadCancelledError) return new RequestError(499, 'the client has gone')
  if (error instanceof CatalogUnavailableError) {
    return new RequestError(503, 'MongoDB is unavailable: a write may have been done all the same')
  }
  if (error instanceof StoreDownError) {
    return new RequestError(503, 'Redis is unavailable: a write may have been done all the same')
  }
  if (error instanceof Error && /Sort exceeded memory limit/.test(error.message)) {
    return new EntityRuleError(
      'sort: there is too much to sort: ask for less, or sort by the key',
      SORT,
    )
  }
  // MongoDB finds out only when it meets a document that has both lists.
  if (error instanceof Error && /parallel arrays/.test(error.message)) {
    return new EntityRuleError('sort: two of the fields are lists, there is no order of both', SORT)
  }
  if (isRefusedRegex(error)) {
    return new RequestError(400, 'query: the store cannot run one of the regular expressions')
  }
  return requestErrorOf(error)
}

/** `Location51091`: it does not compile; 238: the embedded store does not know its syntax. */
const REGEX_CODES: ReadonlySet<unknown> = new Set([51_091, 238])

/**
 * MongoDB's syntax is that of PCRE, of which each version knows other properties, names of classes
 * and escapes: only the store can tell.
 */
function isRefusedRegex(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return REGEX_CODES.has(error.code) && /regular expression/i.test(error.message)
}

const INTERNAL_ERROR = new RequestError(500, 'internal error')

/** Answers with the error itself, or if it is ours with as much as anybody may know. */
export function errorHandler(log: Pick<Logger, 'error'>) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const known = apiErrorOf(error)
    if (known === null) log.error({ err: error, req: request }, 'request failed')
    const told = known ?? INTERNAL_ERROR
    return reply.code(told.httpStatus).headers(told.headers).send(told.body())
  }
}
