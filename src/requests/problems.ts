/** Collects the errors of a request, so that the response has all of them. */

import { proposal } from '../config/nearest.ts'
import type { FieldIssue, IssueCode } from '../domain/field-errors.ts'
import { missing } from '../domain/field-errors.ts'
import {
  DISPLAY,
  type DisplayCode,
  EntityRuleError,
  InvalidFieldsError,
  PROBLEMS_MAX,
} from './errors.ts'

const NAME_LENGTH_MAX = 100

/** A name for an error text, truncated because clients may send long ones. */
export function truncatedName(name: string): string {
  return name.length <= NAME_LENGTH_MAX ? name : `${name.slice(0, NAME_LENGTH_MAX)}...`
}

/** Warnings about names that are ignored. `what`: what they are not, such as `a field of plans`. */
export function ignoredWarnings(
  names: readonly string[],
  known: readonly string[],
  what: string,
): readonly string[] {
  const texts = names.slice(0, PROBLEMS_MAX).map((name) => {
    return `${truncatedName(name)} is not ${what}: ignored${proposal(name, known)}`
  })
  const more = names.length - texts.length
  return more === 0 ? texts : [...texts, `and ${more} more`]
}

export class FieldProblems {
  readonly #fields: FieldIssue[] = []
  readonly #rules: FieldIssue[] = []
  readonly #missing: FieldIssue[] = []
  readonly #max: number
  #display: DisplayCode = DISPLAY.rule
  #more = 0

  constructor(max = PROBLEMS_MAX) {
    this.#max = max
  }

  /** True if further errors are only counted, so that their details need not be determined. */
  get isFull(): boolean {
    return this.#fields.length + this.#rules.length >= this.#max
  }

  /** A value of a wrong type, or an unknown name. `path` starts with `query` or `update`. */
  invalid(path: string, reason: string, code: IssueCode = 'invalid'): void {
    if (this.isFull) this.#more += 1
    else this.#fields.push({ path: truncatedName(path), reason, code })
  }

  /** A value that does not match its pattern. */
  rule(path: string, reason: string): void {
    this.#display = DISPLAY.request
    if (this.isFull) this.#more += 1
    else this.#rules.push({ path: truncatedName(path), reason })
  }

  /**
   * A missing mandatory field; declared and configured fields have different codes. There is no
   * limit, because the number of such fields is bounded.
   */
  missing(path: string, kind: 'declared' | 'configured'): void {
    if (kind === 'declared') this.#display = DISPLAY.request
    this.#missing.push(...missing([truncatedName(path)], 'is mandatory'))
  }

  /**
   * Throws `EntityRuleError` if a rule is violated, otherwise `InvalidFieldsError` if a field is
   * invalid.
   */
  throwIfAny(): void {
    const more = this.#more === 0 ? [] : [`and ${this.#more} more`]
    const rules = [...this.#rules, ...this.#missing]
    if (rules.length > 0) {
      const issues = [...rules, ...this.#fields]
      const texts = issues.map(({ path, reason }) => `${path} ${reason}`)
      const refused = new EntityRuleError([...texts, ...more].join('; '), issues, this.#display)
      refused.unlisted = this.#more
      throw refused
    }
    if (this.#fields.length > 0) throw new InvalidFieldsError(this.#fields, this.#more)
  }
}
