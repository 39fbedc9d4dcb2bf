/** Charge requests over HTTP: authentication, message format, and location of the message. */
import { httpStatus } from '../../file-types/http-status.ts'
import { monotonicMs } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { ChargeOf } from '../charge.ts'
import type { DecodeError } from '../codecs/codec.ts'
import { isMessageFormat, type MessageFormat, type MessageFormats } from '../message-formats.ts'
import type {
  Admitted,
  AuthenticationResult,
  Authenticator,
  PendingAuthentication,
} from './authenticate.ts'
import { BufferedExchange } from './buffered-exchange.ts'
import { withoutCredentials } from './client-credentials.ts'
import { accepts, mediaKind, requiredContentTypes } from './content-types.ts'
import type { Exchange, Head } from './exchange.ts'
import type { RequestRefusal } from './refusal.ts'
import { createRefusalLog, type RefusalLog } from './refusal-log.ts'
import { createRefusals, type EncodeRefusal, type Refusals, type SendAnswer } from './refusals.ts'
import { sourceClassOf } from './source-class.ts'
import {
  decodeValue,
  NO_PARAMETERS,
  type Parameters,
  readForm,
  readParameters,
  withoutFileType,
} from './urlencoded.ts'

export interface ChargingOptions {
  readonly bodyBytesMax: number
  readonly authenticator: Authenticator
  readonly messageFormats: MessageFormats
  readonly charge: ChargeOf<string>
  readonly encodeRefusal: EncodeRefusal
  readonly metrics: Pick<Metrics, 'refused'>
  readonly log: Pick<Logger, 'warn' | 'error'>
}

/** Origin of requests without authentication. No peer may have this name. */
export const ANONYMOUS_ORIGIN = 'http'

const FILE_TYPE_CHARS_MAX = 64

export class Charging {
  readonly #options: ChargingOptions
  readonly #answer: SendAnswer
  readonly #refusals: Refusals
  readonly #refusalLog: RefusalLog
  readonly #tooLarge: DecodeError

  constructor(options: ChargingOptions, answer: SendAnswer) {
    this.#options = options
    this.#answer = answer
    this.#refusals = createRefusals(options.encodeRefusal, answer)
    this.#refusalLog = createRefusalLog(options.log, monotonicMs)
    this.#tooLarge = { field: 'body', why: `must have at most ${options.bodyBytesMax} bytes` }
  }

  /** Handles a request for `/realtime`, or `/realtime/NAME` with that name; '' if absent. */
  handle(exchange: Exchange, head: Head, pathName: string): void {
    const verdict = this.#options.authenticator.authenticate(head, exchange)
    if (verdict.refused === 0) this.#admit(exchange, head, pathName, verdict)
    else if (verdict.refused === 'undecided') this.#decide(exchange, head, pathName, verdict)
    else this.#refuse(exchange, verdict)
  }

  #refuser(exchange: Exchange, refusal: RequestRefusal): () => void {
    return () => this.#refuse(exchange, refusal)
  }

  #refuse(exchange: Exchange, refusal: RequestRefusal): void {
    this.#record(exchange, refusal)
    this.#refusals.refusePeer(exchange, refusal)
  }

  /** Counts and logs a refusal, without the request's content. */
  #record(
    exchange: Exchange,
    { peer, cause, field, why }: Pick<RequestRefusal, 'peer' | 'cause' | 'field' | 'why'>,
  ): void {
    const address = exchange.remoteAddress()
    this.#options.metrics.refused(peer, cause, sourceClassOf(address))
    this.#refusalLog({ peer, cause, address, why: `${field} ${why}` })
  }

  /** Authenticates asynchronously while the body is received. */
  #decide(
    exchange: Exchange,
    head: Head,
    pathName: string,
    undecided: PendingAuthentication,
  ): void {
    const { authenticator, bodyBytesMax } = this.#options
    const hasBody = head.method === 'POST'
    const held = new BufferedExchange(exchange, hasBody ? bodyBytesMax : null)
    const take = (verdict: AuthenticationResult) => {
      if (held.isGone) return
      if (verdict.refused !== 0) this.#refuse(held, verdict)
      else {
        // Credentials are not part of a message in the query.
        const rest = { ...head, query: withoutCredentials(head.query) }
        this.#admit(held, rest, pathName, verdict)
      }
    }
    const decide = (body: Buffer | null) =>
      void authenticator.decide(head, body, undecided).then(take)
    if (undecided.needsBody && hasBody) this.#readBody(held, null, decide)
    else decide(null)
  }

  #admit(exchange: Exchange, head: Head, pathName: string, from: Admitted): void {
    const query = head.query === '' ? NO_PARAMETERS : readParameters(head.query)
    const name = agree(pathName, query)
    if (typeof name !== 'string') this.#refusals.refuse(exchange, 400, name)
    else if (head.method !== 'POST') this.#takeQuery(exchange, head, name, from)
    else {
      const kind = mediaKind(head.contentType)
      if (kind === 'form') this.#takeForm(exchange, name, from)
      else this.#takeBody(exchange, kind, name, from)
    }
  }

  /** A message in the body. */
  #takeBody(
    exchange: Exchange,
    kind: ReturnType<typeof mediaKind>,
    name: string,
    from: Admitted,
  ): void {
    const format = this.#messageFormat(exchange, name, from)
    if (format === null) return
    if (!accepts(format.parser, kind)) {
      const error = { field: 'content-type', why: requiredContentTypes[format.parser] }
      this.#refusals.refuse(exchange, 415, error, format)
      return
    }
    this.#readBody(exchange, format, (body) => this.#charge(exchange, format, from, body))
  }

  /** A message in the form parameter `request`; the form may also name its file type. */
  #takeForm(exchange: Exchange, headName: string, from: Admitted): void {
    // A file type named in the head is looked up before the body is read.
    const named = headName === '' ? null : this.#messageFormat(exchange, headName, from)
    if (headName !== '' && named === null) return
    this.#readBody(exchange, named, (body) => {
      const form = readForm(body)
      const name = agree(headName, form)
      if (typeof name !== 'string') {
        this.#refusals.refuse(exchange, 400, name, named)
        return
      }
      const format = named ?? this.#messageFormat(exchange, name, from)
      if (format === null) return
      const request = 'why' in form ? '' : form.request
      if (request === '') this.#charge(exchange, format, from, body)
      else this.#chargeValue(exchange, format, from, request)
    })
  }

  /** A message in the query, if its format allows GET. */
  #takeQuery(exchange: Exchange, head: Head, name: string, from: Admitted): void {
    const format = this.#messageFormat(exchange, name, from)
    if (format === null) return
    if (head.method !== 'GET' || !format.allowsGet) {
      this.#refusals.refuseMethod(exchange, format)
      return
    }
    if (head.query.length > this.#options.bodyBytesMax) {
      this.#refusals.refuse(exchange, 413, this.#tooLarge, format)
      return
    }
    const query = readParameters(head.query)
    const request = 'why' in query ? '' : query.request
    if (request !== '') this.#chargeValue(exchange, format, from, request)
    else if (format.parser === 'key_value') {
      const message = Buffer.from(withoutFileType(head.query))
      this.#charge(exchange, format, from, message)
    } else {
      const error = { field: 'request', why: 'is required in the query' }
      this.#refusals.refuse(exchange, 400, error, format)
    }
  }

  /**
   * The message format of this name ('' for the default) if the peer may use it; null after a
   * refusal.
   */
  #messageFormat(exchange: Exchange, pathName: string, { peer }: Admitted): MessageFormat | null {
    const { messageFormats } = this.#options
    const name = pathName === '' ? messageFormats.defaultName : pathName
    if (peer !== null && peer.fileTypes !== null && !peer.fileTypes.has(name)) {
      const error = { field: `file_type ${name}`, why: 'may not be used with this key' }
      this.#record(exchange, { peer: peer.name, cause: 'file_type', ...error })
      this.#refusals.refuse(exchange, 403, error)
      return null
    }
    const found = messageFormats.find(name)
    if (isMessageFormat(found)) return found
    this.#refusals.refuseName(exchange, name, found)
    return null
  }

  #readBody(exchange: Exchange, format: MessageFormat | null, take: (body: Buffer) => void): void {
    exchange.readBody(this.#options.bodyBytesMax, take, (isAnnounced) => {
      // A body of announced length can be skipped; one without may be endless.
      const closing = { closeConnection: !isAnnounced }
      this.#refusals.refuse(exchange, 413, this.#tooLarge, format, closing)
    })
  }

  #chargeValue(exchange: Exchange, format: MessageFormat, from: Admitted, value: string): void {
    const body = decodeValue(value)
    if (body !== null) {
      this.#charge(exchange, format, from, body)
      return
    }
    const error = { field: 'request', why: 'has a % without two hexadecimal digits after it' }
    this.#refusals.refuse(exchange, 400, error, format)
  }

  #charge(
    exchange: Exchange,
    { codec, name: fileType }: MessageFormat,
    from: Admitted,
    body: Buffer,
  ): void {
    const { peer } = from
    const origin = peer === null ? ANONYMOUS_ORIGIN : peer.name
    const name = peer === null ? '' : origin
    const refuseOverRate =
      from.rateRefusal === null ? null : this.#refuser(exchange, from.rateRefusal)
    const received = { body, codec, fileType, origin, peer: name, client: exchange, refuseOverRate }
    this.#options.charge(received, (reason, text) =>
      this.#answer(exchange, httpStatus[reason], codec.contentType, text ?? ''),
    )
  }
}

/** The name in path or parameter, which must agree; '' if absent. */
function agree(pathName: string, parameters: Parameters | DecodeError): string | DecodeError {
  if ('why' in parameters) return parameters
  if (parameters.fileType === '') return pathName
  const name = decodeValue(parameters.fileType)?.toString('latin1')
  // An invalid name is not repeated in the answer: it may be long or contain anything.
  if (name === undefined || !isFileTypeName(name)) return NOT_A_NAME
  return pathName === '' || pathName === name ? name : DIFFERENT_NAMES
}

const NOT_A_NAME = { field: 'file_type', why: 'must have 1 to 64 letters, digits or underscores' }
const DIFFERENT_NAMES = { field: 'file_type', why: 'differs from the one given before' }

/** Whether the name is a valid file type name: 1 to 64 of `A-Z`, `a-z`, `0-9`, `_`. */
export function isFileTypeName(name: string): boolean {
  if (name.length === 0 || name.length > FILE_TYPE_CHARS_MAX) return false
  for (let index = 0; index < name.length; index += 1) {
    const code = name.charCodeAt(index)
    const isDigit = code >= 0x30 && code <= 0x39
    const isLetter = (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a
    if (!isDigit && !isLetter && code !== UNDERSCORE) return false
  }
  return true
}

const UNDERSCORE = 0x5f
