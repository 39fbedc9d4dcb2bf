import { codeAt, lengthOf } from '../../../domain/text-codes.ts'

/** A text as a JSON string. */
export function quote(text: string): string {
  const length = lengthOf(text)
  for (let at = 0; at < length; at += 1) {
    const code = codeAt(text, at)
    const isPlain = code >= 0x20 && code <= 0x7e && code !== QUOTE && code !== BACKSLASH
    if (!isPlain) return JSON.stringify(text)
  }
  return `"${text}"`
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

const UNUSABLE = /[\p{Cc}\p{Surrogate}]/u

/**
 * Whether a text has control characters or unpaired surrogates, which do not survive in keys or in
 * UTF-8.
 */
export function isUnusable(text: string): boolean {
  const length = lengthOf(text)
  for (let at = 0; at < length; at += 1) {
    const code = codeAt(text, at)
    if (code < 0x20) return true
    if (code < 0x7f) continue
    if (code <= 0x9f) return true
    // Only an expression in Unicode mode detects unpaired surrogates.
    if (code >= 0xd800 && code <= 0xdfff) return UNUSABLE.test(text)
  }
  return false
}
