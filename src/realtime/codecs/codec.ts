import type { ChargeOutcome } from '../../domain/charge-outcome.ts'
import type { ChargeRequest } from '../../domain/charge-request.ts'

/** What a dialect needs to know besides the bytes. */
export interface DecodeContext {
  /** Identity of the network element; see `ChargeRequest.origin`. */
  origin: string
  /** The node's clock, epoch ms. */
  nowMs: number
  /** Most services in one request. */
  servicesMax: number
  /** How far an event may lie in the past and in the future. */
  eventAgeMsMax: number
  eventFutureMsMax: number
  /** IANA zone of event times that carry no offset. */
  zone: string
  /** Names of the fields (dotted where nested) that matching and identification read. */
  keptFields: readonly string[]
  /** Of them, what identification reads; and whether there are rules of it for a usage type. */
  identifyingFields: readonly string[]
  identifies: (usaget: string) => boolean
}

/** Why a message is not a request. A value, not an exception: bad input is daily business. */
export interface DecodeError {
  /** Path of the field, such as `services.1.usagev`; `body` for the message as a whole. */
  field: string
  why: string
  /** The field is there more often than it may be. */
  isTooMany?: true
}

/**
 * A decoded message. The envelope is what the answer needs and charging does not; it stays in the
 * thread that owns the socket.
 */
export type Decoded<Envelope, Request extends ChargeRequest | null = ChargeRequest | null> =
  | {
      readonly ok: true
      /** Null: it is not to be charged, and answered as granted at once. */
      readonly request: Request
      readonly envelope: Envelope
    }
  | { readonly ok: false; readonly error: DecodeError }

/**
 * Both directions of a dialect in one place, because they change together. `Out`: what an answer is
 * made of, text or bytes.
 */
export interface MessageCodec<Envelope, Out> {
  /** Never throws, whatever the bytes. Keeps no reference to `body`. */
  decode(body: Buffer, context: DecodeContext): Decoded<Envelope>
  /** Depends on its arguments alone: a replayed outcome gives the same bytes. */
  encode(envelope: Envelope, outcome: ChargeOutcome): Out
  encodeError(error: DecodeError): Out
}

/** A dialect over HTTP. */
export interface Codec<Envelope> extends MessageCodec<Envelope, string> {
  /** Media type of the answers, as in `application/json`. */
  readonly contentType: string
}
