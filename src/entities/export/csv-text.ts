/** Rows as CSV. */
import { stringify } from 'csv-stringify/sync'
import { neutralCell } from './formula.ts'

/**
 * Quotes cells that a program with another delimiter might split (the part after it could be a
 * formula), and neutralises those that a spreadsheet would execute. `lineEnd`: RFC 4180 has CR and
 * LF.
 */
export function csvText(
  rows: readonly (readonly string[])[],
  delimiter: string,
  lineEnd: '\n' | '\r\n' = '\n',
): string {
  const neutral = rows.map((row) => row.map(neutralCell))
  return stringify(neutral, {
    delimiter,
    record_delimiter: lineEnd,
    quoted_match: /^\s|[,;\t\r\n]|\s$/,
  })
}
