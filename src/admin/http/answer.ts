/** Answers errors: those of the caller are returned, internal errors are logged. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { apiErrorOf } from '../../requests/api-errors.ts'
import { RequestError } from '../../requests/errors.ts'
import type { Logger } from '../../runtime/log.ts'
import { bodyErrorOf } from './body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether a call that can write has begun: its errors may follow a write. */
    mayHaveWritten: boolean
  }
}

const INTERNAL_ERROR = new RequestError(500, 'internal error')

/** Responds with the API error, or with a generic one for internal errors, which are logged. */
export function errorHandler(log: Pick<Logger, 'error'>) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const apiError = apiErrorOf(bodyErrorOf(error), request.mayHaveWritten)
    if (apiError === null) log.error({ err: error, req: request }, 'request failed')
    const response = apiError ?? INTERNAL_ERROR
    return reply.code(response.httpStatus).headers(response.headers).send(response.body())
  }
}
