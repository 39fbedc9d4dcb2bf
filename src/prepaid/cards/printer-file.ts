/** The text of the file for the printer of cards: CSV with a header, and a row for each card. */
import { stringify } from 'csv-stringify/sync'
import type { CardDocument } from '../../catalog/records/card.ts'
import { dateText } from '../../entities/views.ts'

/** The cards of a file. */
export interface PrintedCards
  extends Pick<CardDocument, 'batch_number' | 'charging_plan_name' | 'service_provider' | 'to'> {
  readonly count: number
  readonly firstSerial: number
}

export const SECRET_DIGITS = 12
const SECRET = /^\d{12}$/

const COLUMNS = [
  'batch_number',
  'serial_number',
  'secret',
  'charging_plan_name',
  'service_provider',
  'to',
] as const

/** Writes and reads the rows of one file. */
export class PrinterFile {
  static readonly header = `${COLUMNS.join(',')}\n`

  readonly #cards: PrintedCards
  /** The end of all rows. */
  readonly #common: string

  constructor(cards: PrintedCards, timeZone: string) {
    this.#cards = cards
    const { charging_plan_name, service_provider, to } = cards
    const end = dateText(to.getTime(), timeZone)
    this.#common = stringify([['', charging_plan_name, service_provider, end]])
  }

  /** The rows of cards from this index on. */
  rows(first: number, secrets: readonly string[]): string {
    return secrets.map((secret, index) => this.#row(first + index, secret)).join('')
  }

  /**
   * The secrets of a file of which the end may be missing; a row that is incomplete is left out.
   * Null if it is the file of other cards.
   */
  secretsIn(text: string): string[] | null {
    const { header } = PrinterFile
    if (!text.startsWith(header)) return header.startsWith(text) ? [] : null
    const secrets: string[] = []
    for (let at = header.length; at < text.length; ) {
      const index = secrets.length
      if (index === this.#cards.count) return null
      const secretAt = at + this.#begin(index).length
      const secret = text.slice(secretAt, secretAt + SECRET_DIGITS)
      const row = this.#row(index, secret)
      const found = text.slice(at, at + row.length)
      if (found !== row || !SECRET.test(secret)) {
        const isLast = at + found.length === text.length
        return isLast && !found.endsWith('\n') ? secrets : null
      }
      secrets.push(secret)
      at += row.length
    }
    return secrets
  }

  #row(index: number, secret: string): string {
    return this.#begin(index) + secret + this.#common
  }

  #begin(index: number): string {
    const { batch_number, firstSerial } = this.#cards
    return `${batch_number},${firstSerial + index},`
  }
}
