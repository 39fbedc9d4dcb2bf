/** Parts of an audit that MongoDB does not answer, although their reads are repeated. */
import { isUnanswered } from '../../catalog/patience.ts'

/** After so many parts in succession MongoDB is away, and the audit ends. */
const IN_SUCCESSION = 3
const LISTED_MAX = 1_000

/** The parts of an audit that could not be read. */
export class Unread {
  /** Unread parts, each with its reason. */
  readonly parts: string[] = []
  leftOut = 0
  #inSuccession = 0

  /** Null if the part cannot be read. Rejects if MongoDB is away. */
  async orName<T>(part: string, read: () => Promise<T>): Promise<T | null> {
    try {
      const found = await read()
      this.#inSuccession = 0
      return found
    } catch (error) {
      if (!isUnanswered(error)) throw error
      this.#inSuccession += 1
      if (this.#inSuccession >= IN_SUCCESSION) throw error
      if (this.parts.length < LISTED_MAX) this.parts.push(`${part}: ${error.message}`)
      else this.leftOut += 1
      return null
    }
  }
}

export function unreadLines({ parts, leftOut }: Pick<Unread, 'parts' | 'leftOut'>): string[] {
  return [
    ...parts.map((part) => `not checked: ${part}`),
    ...(leftOut > 0 ? [`and ${leftOut} more that were not checked`] : []),
  ]
}
