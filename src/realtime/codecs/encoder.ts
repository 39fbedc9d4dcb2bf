import type { AnswerSource, Message } from '../../file-types/file-type.ts'
import type { DecodeError } from './codec.ts'

/**
 * Answers as text, in one syntax. Made once per file type from its `ResponseNode` tree; the text
 * depends on the arguments alone. `form` is what the parser remembered of the request's shape
 * (diameter); null where the shape of answers does not follow from it.
 */
export interface AnswerEncoder {
  /** Media type, as in `application/json`. */
  readonly contentType: string
  encode(answer: AnswerSource, form: unknown): string
  /** Says status 0, the return code given, and as `desc` what is wrong. */
  encodeError(error: DecodeError, code: number, form: unknown): string
}

/** Bytes as a message, in one syntax. Never throws, and keeps no reference to the bytes. */
export interface MessageParser {
  parse(body: Buffer): ParsedMessage
}

export type ParsedMessage =
  | { readonly ok: true; readonly message: Message; readonly form: unknown }
  | { readonly ok: false; readonly error: DecodeError; readonly form: unknown }
