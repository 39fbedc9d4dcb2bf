import type { Reason } from '../../../domain/charge-outcome.ts'
import type { ChargeRequest } from '../../../domain/charge-request.ts'
import type { AnswerSettings } from '../../../file-types/file-type.ts'
import type { Codec, DecodeContext, Decoded } from '../codec.ts'
import { JsonEncoder } from './answer-encoder.ts'
import { decode, type JsonEnvelope } from './decode.ts'

/** Each of its messages is to be charged. */
export interface JsonCodec extends Codec<JsonEnvelope> {
  decode(body: Buffer, context: DecodeContext): Decoded<JsonEnvelope, ChargeRequest>
  /** What is refused before its dialect is known; `detail` says why, for a person. */
  encodeRefusal(reason: Reason, detail: string): string
}

/** The plain JSON dialect of docs/WIRE.md. */
export function createJsonCodec(settings: AnswerSettings): JsonCodec {
  const encoder = new JsonEncoder(settings)
  return {
    contentType: 'application/json',
    decode,
    encode: (envelope, outcome) => encoder.encode(envelope, outcome),
    encodeError: ({ field, why }) => encoder.encodeRefusal('malformed', `${field} ${why}`),
    encodeRefusal: (reason, detail) => encoder.encodeRefusal(reason, detail),
  }
}
