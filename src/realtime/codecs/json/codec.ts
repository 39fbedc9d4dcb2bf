import type { Reason } from '../../../domain/charge-outcome.ts'
import type { ChargeRequest } from '../../../domain/charge-request.ts'
import type { AnswerSettings } from '../../../file-types/file-type.ts'
import { markOpening } from '../../../file-types/map.ts'
import type { Codec, DecodeContext, Decoded } from '../codec.ts'
import { JsonEncoder } from './answer-encoder.ts'
import { decode, type JsonEnvelope } from './decode.ts'

/** Every message of this format is charged. */
export interface JsonCodec extends Codec<JsonEnvelope> {
  decode(body: Buffer, context: DecodeContext): Decoded<JsonEnvelope, ChargeRequest>
  /** Encodes a refusal before the message format is known; `detail` is a readable reason. */
  encodeRefusal(reason: Reason, detail: string): string
}

/** Codec of the plain JSON format of docs/WIRE.md. */
export function createJsonCodec(settings: AnswerSettings): JsonCodec {
  const encoder = new JsonEncoder(settings)
  return {
    contentType: 'application/json',
    decode(body, context) {
      const decoded = decode(body, context)
      if (decoded.ok && decoded.request.kind === 'start') {
        markOpening(decoded.request.services, () => settings)
      }
      return decoded
    },
    encode: (envelope, outcome) => encoder.encode(envelope, outcome),
    encodeError: ({ field, why }) => encoder.encodeRefusal('malformed', `${field} ${why}`),
    encodeRefusal: (reason, detail) => encoder.encodeRefusal(reason, detail),
  }
}
