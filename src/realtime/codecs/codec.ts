import type { ChargeOutcome } from '../../domain/charge-outcome.ts'
import type { ChargeRequest } from '../../domain/charge-request.ts'

/** Input of decoding in addition to the bytes. */
export interface DecodeContext {
  /** Identity of the network element; see `ChargeRequest.origin`. */
  origin: string
  /** Clock of the node, epoch ms. */
  nowMs: number
  /** Limit of services per request. */
  servicesMax: number
  /** Limits of the event time in the past and in the future. */
  eventAgeMsMax: number
  eventFutureMsMax: number
  /** IANA time zone of event times without an offset. */
  zone: string
  /** Names of the fields (dotted where nested) that matching and identification read. */
  keptFields: readonly string[]
  /**
   * The subset that identification reads, and whether there are identification rules for a usage
   * type.
   */
  identifyingFields: readonly string[]
  identifies: (usaget: string) => boolean
}

/** Why a message is not a valid request. A value, not an exception: invalid input is routine. */
export interface DecodeError {
  /** Path of the field, such as `services.1.usagev`; `body` for the message as a whole. */
  field: string
  why: string
  /** The field occurs more often than allowed. */
  isTooMany?: true
}

/** Positions of values by their names; positions are characters of the text. */
export interface Place {
  readonly at: number
  /** Members of a record, or elements of a list by their index. */
  readonly members: Map<string, Place>
}

export interface Places {
  readonly root: Place
  /** Position at which the text becomes invalid; null if it is valid. */
  readonly errorAt: number | null
}

/**
 * A decoded message. The envelope holds what the answer needs but charging does not; it stays on
 * the thread that owns the socket.
 */
export type Decoded<Envelope, Request extends ChargeRequest | null = ChargeRequest | null> =
  | {
      readonly ok: true
      /** Null if the message is not charged; it is answered as granted immediately. */
      readonly request: Request
      readonly envelope: Envelope
    }
  | { readonly ok: false; readonly error: DecodeError }

/**
 * Decoder and encoder of a message format, which change together. `Out` is the type of an answer,
 * text or bytes.
 */
export interface MessageCodec<Envelope, Out> {
  /** Never throws. Keeps no reference to `body`. */
  decode(body: Buffer, context: DecodeContext): Decoded<Envelope>
  /** Pure: a replayed outcome yields the same bytes. */
  encode(envelope: Envelope, outcome: ChargeOutcome): Out
  encodeError(error: DecodeError): Out
}

/** Codec of a message format over HTTP. */
export interface Codec<Envelope> extends MessageCodec<Envelope, string> {
  /** Media type of answers, such as `application/json`. */
  readonly contentType: string
}
