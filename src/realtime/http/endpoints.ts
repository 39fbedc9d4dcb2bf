import { framingError, NEEDS_LENGTH } from '../../runtime/http-framing.ts'
import { Charging, type ChargingOptions, isFileTypeName } from './charging.ts'
import type { AnswerOptions, Exchange, Head } from './exchange.ts'
import { JSON_TYPE, type SendAnswer } from './refusals.ts'

export interface EndpointsOptions extends ChargingOptions {
  readonly isReady: () => boolean
}

/** Routes requests to their handlers; the same for both servers. */
export interface Endpoints {
  /** Answers a request, immediately or later. */
  handle(exchange: Exchange, head: Head): void
  /** From now on each answer closes its connection. */
  stop(): void
}

export const CHARGE_PATH = '/realtime'
/** Prefix of paths with a file type. */
const NAMED_PATH = `${CHARGE_PATH}/`

const RETRY: AnswerOptions = { header: ['Retry-After', '1'] }
const CLOSE: AnswerOptions = { closeConnection: true }
const ALLOW_GET: AnswerOptions = { header: ['Allow', 'GET'] }

export function createEndpoints(options: EndpointsOptions): Endpoints {
  const { encodeRefusal, isReady } = options
  let isStopping = false

  const answer: SendAnswer = (exchange, status, contentType, text, more) => {
    const plain = status === 503 ? RETRY : more
    const ending = isStopping ? { ...plain, closeConnection: true } : plain
    exchange.answer(status, contentType, text, ending)
  }
  const refuse = (
    exchange: Exchange,
    status: 400 | 404 | 405 | 411,
    why: string,
    more?: AnswerOptions,
  ) => answer(exchange, status, JSON_TYPE, encodeRefusal('malformed', why), more)
  const charging = new Charging(options, answer)

  const health = (exchange: Exchange, { method, path }: Head) => {
    if (method !== 'GET') return refuse(exchange, 405, 'method must be GET', ALLOW_GET)
    const status = path === '/health/live' || isReady() ? 1 : 0
    answer(exchange, status === 1 ? 200 : 503, JSON_TYPE, `{"status":${status}}`)
  }

  return {
    handle(exchange, head) {
      const error = framingError(head.framing, head.host) ?? lengthError(head)
      // The end of the request is uncertain, and so is the beginning of the next one.
      if (error !== null) {
        return refuse(exchange, error.status, `${error.field} ${error.why}`, CLOSE)
      }
      const { path } = head
      // The absolute form for proxies, which names a second host in addition to the header.
      if (!path.startsWith('/')) return refuse(exchange, 400, 'target must be a path')
      if (path === CHARGE_PATH) return charging.handle(exchange, head, '')
      const name = path.startsWith(NAMED_PATH) ? path.slice(NAMED_PATH.length) : ''
      if (isFileTypeName(name)) return charging.handle(exchange, head, name)
      if (path === '/health/live' || path === '/health/ready') return health(exchange, head)
      refuse(exchange, 404, 'path is unknown')
    },
    stop() {
      isStopping = true
    },
  }
}

/**
 * If the server does not accept chunks, a POST must have a length: the native server stops reading
 * headers at one without a name, and would take the body of a length behind it for the next
 * request.
 */
function lengthError({ framing, method, readsChunks }: Head) {
  if (readsChunks) return null
  return framing.encodings > 0 || (method === 'POST' && framing.lengths === 0) ? NEEDS_LENGTH : null
}
