/** The AVPs that a file type reads; all others are skipped by the reader. */
import { type AvpRule, ruleByKey, ruleCount } from './avp-rules.ts'

const CODE = /^(?:(\d{1,10}):)?(\d{1,10})$/

export class AvpNames {
  /** By the index of the rule. */
  readonly #isRead: Uint8Array
  /** Names of AVPs that are not in the dictionary, by vendor and code. */
  readonly #unknown = new Map<string, string>()

  /**
   * `words`: all words of a file type's document, including the names of all AVPs that it reads.
   */
  constructor(words: ReadonlySet<string>) {
    const rules: AvpRule[] = []
    for (const word of words) {
      const rule = ruleByKey(word)
      if (rule !== undefined) rules.push(rule)
      else this.#addUnknown(word)
    }
    this.#isRead = new Uint8Array(ruleCount())
    for (const { index } of rules) this.#isRead[index] = 1
  }

  isRead({ index }: AvpRule): boolean {
    return this.#isRead[index] === 1
  }

  /** Name of an AVP that is not in the dictionary; null if the file type does not read it. */
  unknown(code: number, vendor: number): string | null {
    if (this.#unknown.size === 0) return null
    return this.#unknown.get(`${vendor}:${code}`) ?? null
  }

  #addUnknown(word: string): void {
    const [, vendor = '0', code] = CODE.exec(word) ?? []
    if (code !== undefined) this.#unknown.set(`${Number(vendor)}:${Number(code)}`, word)
  }
}
