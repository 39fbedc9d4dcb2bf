/**
 * Cells that a spreadsheet would run as a formula. An apostrophe in front makes them text; one that
 * is there in front of such a beginning gets another one, so that an import takes back exactly what
 * an export has added.
 */

const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/
const NEUTRAL = /^'+[=+\-@\t\r\n＝＋－＠]/
/** Also a phone number: a sign and digits do nothing. */
const PLAIN_NUMBER = /^[+-]?\d+(?:\.\d+)?$/

export function neutralCell(text: string): string {
  return FORMULA.test(text) && !PLAIN_NUMBER.test(text) ? `'${text}` : text
}

/** The cell as it was before `neutralCell`. */
export function originalCell(text: string): string {
  return NEUTRAL.test(text) ? text.slice(1) : text
}
