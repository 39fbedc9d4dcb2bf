import type { AnswerSource, Message } from '../../file-types/file-type.ts'
import type { DecodeError } from './codec.ts'

/**
 * Encodes answers as text in one syntax. Created once per file type from its `ResponseNode` tree; a
 * pure function of its arguments. `form` is the layout of the request as recorded by the parser
 * (diameter), null if answers do not depend on it.
 */
export interface AnswerEncoder {
  encode(answer: AnswerSource, form: unknown): string
  /** Status 0, the given return code, and the error as `desc`. */
  encodeError(error: DecodeError, code: number, form: unknown): string
}

/** Parses bytes in one syntax. Never throws, and keeps no reference to the bytes. */
export interface MessageParser {
  parse(body: Buffer): ParsedMessage
}

export type ParsedMessage =
  | { readonly ok: true; readonly message: Message; readonly form: unknown }
  | { readonly ok: false; readonly error: DecodeError; readonly form: unknown }
