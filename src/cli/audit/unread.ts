/** Reads of an audit that MongoDB does not answer in time: they are repeated, then named. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Catalog } from '../../catalog/connection.ts'
import { CatalogUnavailableError, SlowReadError } from '../../catalog/errors.ts'

const ATTEMPTS = 3
const PAUSE_MS = 500
/** After so many parts in succession MongoDB is away, and the audit ends. */
const IN_SUCCESSION = 3
const LISTED_MAX = 1_000

/** The catalogue for an audit, whose operations only read: each is repeated. */
export function repeatingReads(catalog: Catalog, pauseMs = PAUSE_MS): Catalog {
  const repeated: Repeat = (read) => repeatedRead(read, pauseMs)
  return {
    ...catalog,
    run: (what, operation) => repeated(() => catalog.run(what, operation)),
    read: (what, operation, options) => repeated(() => catalog.read(what, operation, options)),
  }
}

type Repeat = <T>(read: () => Promise<T>) => Promise<T>

/** Rejects with the error of the last attempt. */
export async function repeatedRead<T>(read: () => Promise<T>, pauseMs = PAUSE_MS): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read()
    } catch (error) {
      if (!isUnanswered(error) || attempt === ATTEMPTS) throw error
      await pause(pauseMs)
    }
  }
}

function isUnanswered(error: unknown): error is Error {
  return error instanceof CatalogUnavailableError || error instanceof SlowReadError
}

/** The parts of an audit that could not be read. */
export class Unread {
  /** With the reasons. */
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
