/**
 * Protects against cells that a spreadsheet would execute as a formula, by prefixing an apostrophe.
 * Texts that already start with apostrophes before such a character get another one, so that an
 * import can remove exactly what an export has added.
 */

const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/
const NEUTRAL = /^'+[=+\-@\t\r\n＝＋－＠]/
/** For example a phone number: a sign and digits are harmless. */
const PLAIN_NUMBER = /^[+-]?\d+(?:\.\d+)?$/

export function neutralCell(text: string): string {
  return FORMULA.test(text) && !PLAIN_NUMBER.test(text) ? `'${text}` : text
}

/** Reverts `neutralCell`. */
export function originalCell(text: string): string {
  return NEUTRAL.test(text) ? text.slice(1) : text
}
