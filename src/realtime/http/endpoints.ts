import type { Reason } from '../../domain/charge-outcome.ts'
import { httpStatus } from '../codecs/result-codes.ts'
import {
  type AnswerOptions,
  type Exchange,
  framingError,
  type Head,
  type HttpStatus,
} from './exchange.ts'

export interface EndpointsOptions {
  readonly bodyBytesMax: number
  /** Takes a body, valid during the call, and answers once: at once or later. */
  readonly charge: (body: Buffer, answer: (reason: Reason, text: string) => void) => void
  /** Why a message was refused before it was decoded, in the dialect of the clients. */
  readonly encodeError: (field: string, why: string) => string
  readonly isReady: () => boolean
}

export type Endpoint = (exchange: Exchange, head: Head) => void

/** What is answered at which address; the same for both servers. */
export interface Endpoints {
  /** `POST /realtime`. */
  readonly charge: Endpoint
  /** What answers this method (in capitals) and path (without query); 404 and 405 are endpoints. */
  find(method: string, path: string): Endpoint
  /** From now on each answer ends its connection. */
  stop(): void
}

const RETRY: AnswerOptions = { header: ['Retry-After', '1'] }

export function createEndpoints(options: EndpointsOptions): Endpoints {
  const { bodyBytesMax, charge, encodeError, isReady } = options
  const tooLarge = encodeError('body', `must have at most ${bodyBytesMax} bytes`)
  let isStopping = false

  const answer = (exchange: Exchange, status: HttpStatus, text: string, more?: AnswerOptions) => {
    const plain = status === 503 ? RETRY : more
    exchange.answer(status, text, isStopping ? { ...plain, closeConnection: true } : plain)
  }

  /** Refuses what has no certain end; the connection goes with it, for so does the next request. */
  const framed =
    (endpoint: Endpoint): Endpoint =>
    (exchange, head) => {
      const error = framingError(head.framing)
      if (error === null) endpoint(exchange, head)
      else answer(exchange, 400, encodeError(...error), { closeConnection: true })
    }

  const chargeEndpoint = framed((exchange, head) => {
    if (!isJson(head.contentType)) {
      answer(exchange, 415, encodeError('content-type', 'must be application/json'))
      return
    }
    exchange.readBody(
      bodyBytesMax,
      (body) => charge(body, (reason, text) => answer(exchange, httpStatus[reason], text)),
      // What was announced can be skipped; without an announcement there may be no end.
      (isAnnounced) => answer(exchange, 413, tooLarge, { closeConnection: !isAnnounced }),
    )
  })
  const live = framed((exchange) => answer(exchange, 200, '{"status":1}'))
  const ready = framed((exchange) => {
    const status = isReady() ? 1 : 0
    answer(exchange, status === 1 ? 200 : 503, `{"status":${status}}`)
  })
  const unknown = framed((exchange) => answer(exchange, 404, encodeError('path', 'is unknown')))
  const wrongMethod = (method: string) =>
    framed((exchange) => {
      answer(exchange, 405, encodeError('method', `must be ${method}`), {
        header: ['Allow', method],
      })
    })
  const entry = (method: string, endpoint: Endpoint) =>
    ({ method, endpoint, otherwise: wrongMethod(method) }) as const
  const paths = new Map([
    ['/realtime', entry('POST', chargeEndpoint)],
    ['/health/live', entry('GET', live)],
    ['/health/ready', entry('GET', ready)],
  ])

  return {
    charge: chargeEndpoint,
    find(method, path) {
      const found = paths.get(path)
      if (found === undefined) return unknown
      return found.method === method ? found.endpoint : found.otherwise
    },
    stop() {
      isStopping = true
    },
  }
}

/** Absent is taken for JSON; a `charset` or another parameter is ignored. */
function isJson(contentType: string): boolean {
  if (contentType === 'application/json' || contentType === '') return true
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}
