/** What is wrong with a request, gathered so that a caller hears of all of it at once. */
import {
  DISPLAY,
  type DisplayCode,
  EntityRuleError,
  type InvalidField,
  InvalidFieldsError,
} from '../errors.ts'

/** More are counted, not told: an answer is not to grow with the nonsense in a request. */
const PROBLEMS_MAX = 20
const NAME_LENGTH_MAX = 100

/** A name as it is told: text of a caller may be long. */
export function truncatedName(name: string): string {
  return name.length <= NAME_LENGTH_MAX ? name : `${name.slice(0, NAME_LENGTH_MAX)}...`
}

export class FieldProblems {
  readonly #fields: InvalidField[] = []
  readonly #rules: string[] = []
  readonly #missing: string[] = []
  #display: DisplayCode = DISPLAY.rule
  #more = 0

  /** Whether what comes now is only counted: then nothing need be looked up for it. */
  get isFull(): boolean {
    return this.#fields.length + this.#rules.length >= PROBLEMS_MAX
  }

  /** A value of a wrong type, or a name that is not known. `path` begins with query or update. */
  invalid(path: string, reason: string): void {
    if (this.isFull) this.#more += 1
    else this.#fields.push({ path: truncatedName(path), reason })
  }

  /** A value that does not match its pattern (R3). */
  rule(path: string, reason: string): void {
    this.#display = DISPLAY.request
    if (this.isFull) this.#more += 1
    else this.#rules.push(`${truncatedName(path)} ${reason}`)
  }

  /**
   * A mandatory field that is missing: a declared one (R2), or a configured one (R21), which has
   * another code. All are named: their number is bounded by what is declared and configured.
   */
  missing(path: string, kind: 'declared' | 'configured'): void {
    if (kind === 'declared') this.#display = DISPLAY.request
    this.#missing.push(`${truncatedName(path)} is mandatory`)
  }

  /** Throws `EntityRuleError` if a rule is violated, else `InvalidFieldsError` if a field is invalid. */
  throwIfAny(): void {
    const more = this.#more === 0 ? [] : [`and ${this.#more} more`]
    const rules = [...this.#rules, ...this.#missing]
    if (rules.length > 0) {
      const fields = this.#fields.map(({ path, reason }) => `${path} ${reason}`)
      throw new EntityRuleError([...rules, ...fields, ...more].join('; '), this.#display)
    }
    const [first, ...rest] = this.#fields
    if (first === undefined) return
    const reason = more.length === 0 ? first.reason : `${first.reason} (${more.join()})`
    throw new InvalidFieldsError([{ path: first.path, reason }, ...rest])
  }
}
