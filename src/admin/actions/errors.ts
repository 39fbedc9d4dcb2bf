/** Errors of the action API: shapes of the entity API, with the text in `desc` and `message`. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { actionErrorOf } from '../../requests/api-errors.ts'
import { type ApiError, RequestError } from '../../requests/errors.ts'
import type { Logger } from '../../runtime/log.ts'
import { bodyErrorOf } from '../http/body.ts'

/** The body of an error with its text in both places. */
export function actionErrorBody(error: ApiError): object {
  const { message } = error
  return { ...error.body(), desc: message, message }
}

const INTERNAL_ERROR = new RequestError(500, 'internal error')

/** Responds with the error, or with a generic one for internal errors, which are logged. */
export function actionErrorHandler(log: Pick<Logger, 'error'>) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const apiError = actionErrorOf(bodyErrorOf(error), request.mayHaveWritten)
    if (apiError === null) log.error({ err: error, req: request }, 'request failed')
    const response = apiError ?? INTERNAL_ERROR
    return reply.code(response.httpStatus).headers(response.headers).send(actionErrorBody(response))
  }
}
