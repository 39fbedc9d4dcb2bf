/**
 * Answers of refused requests: in their message format if it is known, otherwise in the plain one.
 */
import type { Reason } from '../../domain/charge-outcome.ts'
import type { DecodeError } from '../codecs/codec.ts'
import type { MessageFormat, MissingMessageFormat } from '../message-formats.ts'
import type { AnswerOptions, Exchange, HttpStatus } from './exchange.ts'
import type { RequestRefusal } from './refusal.ts'

/** Answers an exchange, adding headers that depend on the server's state. */
export type SendAnswer = (
  exchange: Exchange,
  status: HttpStatus,
  contentType: string,
  text: string,
  options?: AnswerOptions,
) => void

/** Encodes a refusal before the message format is known, in the plain format (JSON). */
export type EncodeRefusal = (reason: Reason, detail: string) => string

export type Refusals = ReturnType<typeof createRefusals>

export const JSON_TYPE = 'application/json'

const CHALLENGE: AnswerOptions = { header: ['WWW-Authenticate', 'Bearer'] }

export function createRefusals(encodeRefusal: EncodeRefusal, answer: SendAnswer) {
  const refuse = (
    exchange: Exchange,
    status: HttpStatus,
    error: DecodeError,
    format: MessageFormat | null = null,
    more?: AnswerOptions,
  ): void => {
    const text =
      format === null
        ? encodeRefusal('malformed', `${error.field} ${error.why}`)
        : format.codec.encodeError(error)
    answer(exchange, status, format?.codec.contentType ?? JSON_TYPE, text, more)
  }
  const storeDown = (exchange: Exchange, { field, why }: DecodeError) =>
    answer(exchange, 503, JSON_TYPE, encodeRefusal('storeDown', `${field} ${why}`))

  return {
    refuse,
    /** The message format does not accept the method. */
    refuseMethod(exchange: Exchange, format: MessageFormat) {
      const allowed = format.allowsGet ? ['GET', 'POST'] : ['POST']
      const error = { field: 'method', why: `must be ${allowed.join(' or ')}` }
      refuse(exchange, 405, error, format, { header: ['Allow', allowed.join(', ')] })
    },
    /** There is no message format of this name, or it has not been read yet. */
    refuseName(exchange: Exchange, name: string, { missing, why }: MissingMessageFormat) {
      const field = `file_type ${name}`
      if (missing === 'notLoaded') storeDown(exchange, { field, why })
      else refuse(exchange, 404, { field, why })
    },
    /** A refusal by authentication. */
    refusePeer(exchange: Exchange, refusal: RequestRefusal) {
      const { refused, field, why, retryAfterS } = refusal
      if (refused === 503) storeDown(exchange, refusal)
      else if (refused === 429) {
        const header = ['Retry-After', String(retryAfterS)] as const
        const text = encodeRefusal('overloaded', `${field} ${why}`)
        answer(exchange, 429, JSON_TYPE, text, { header })
      } else refuse(exchange, refused, refusal, null, refused === 401 ? CHALLENGE : undefined)
    },
  }
}
