/** Which AVPs of a message somebody could read. */
import { type AvpRule, ruleByKey, ruleCount } from './avp-rules.ts'

const CODE = /^(?:(\d{1,10}):)?(\d{1,10})$/

export class AvpNames {
  /** By the index of the rule. */
  readonly #isRead: Uint8Array
  /** What AVPs are called that the dictionary lacks, by vendor and code. */
  readonly #unknown = new Map<string, string>()

  /** `words`: of a document that reads messages, among them all names of AVPs. */
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

  /** Null if nobody reads it. */
  unknown(code: number, vendor: number): string | null {
    if (this.#unknown.size === 0) return null
    return this.#unknown.get(`${vendor}:${code}`) ?? null
  }

  #addUnknown(word: string): void {
    const [, vendor = '0', code] = CODE.exec(word) ?? []
    if (code !== undefined) this.#unknown.set(`${Number(vendor)}:${Number(code)}`, word)
  }
}
