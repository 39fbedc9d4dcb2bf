/**
 * The errors of a write, of which none hides another one. A write that is only tried
 * (`validate`) runs as usual, in a transaction that is aborted.
 */
import { FieldError, type FieldIssue, throwAll } from '../domain/field-errors.ts'
import { isUnset } from '../domain/fields.ts'
import { booleanOf } from '../requests/cast-value.ts'
import { DISPLAY, EntityRuleError, fieldRule, InvalidFieldsError } from '../requests/errors.ts'
import type { RawParameters } from '../requests/raw-parameters.ts'

/** Further ones are only counted. */
export const ISSUES_MAX = 1000

/** Whether the caller has sent `validate`. Throws `EntityRuleError`. */
export function isTrialIn(raw: RawParameters): boolean {
  const value = raw.get('validate')
  if (isUnset(value)) return false
  const read = booleanOf(value)
  if (read === null)
    throw fieldRule('validate', 'must be true or false', 'invalid', DISPLAY.request)
  return read
}

/** An error about a document. */
type DocumentError = FieldError | EntityRuleError | InvalidFieldsError

function isOfDocument(error: unknown): error is DocumentError {
  const isRule = error instanceof FieldError || error instanceof EntityRuleError
  return isRule || error instanceof InvalidFieldsError
}

/**
 * Collects what is wrong with a write, which goes on without the refused fields and is not
 * committed. The first issue of a field counts.
 */
export class WriteIssues {
  /** Whether the write is only tried. */
  readonly isTrial: boolean
  readonly #issues = new Map<string, FieldIssue>()
  /** Fields without which the write goes on: what is then wrong with them is a consequence. */
  readonly #leftOut: string[] = []
  #unlisted = 0
  #first: DocumentError | null = null
  /** The error of `throwIfAny`, whose issues are noted already. */
  #thrown: unknown = null

  constructor(isTrial: boolean) {
    this.isTrial = isTrial
  }

  get isEmpty(): boolean {
    return this.#first === null
  }

  /** Notes the issues of an error; false for errors that are not about a document. */
  note(error: unknown): boolean {
    if (!isOfDocument(error)) return false
    if (error === this.#thrown) return true
    this.#first ??= error
    if (!(error instanceof FieldError)) this.#unlisted += error.unlisted
    for (const issue of error.issues) {
      const { reason } = issue
      const path = issue.path.replace(/^update\./, '')
      const key = path === '' ? `: ${reason}` : path
      const isConsequence = this.#leftOut.some((one) => path === one || path.startsWith(`${one}.`))
      if (!isConsequence && !this.#issues.has(key)) this.#issues.set(key, { ...issue, path })
    }
    return true
  }

  /** Whether something is wrong with this field of `update`, or with a part of it. */
  isRefused(name: string): boolean {
    return [...this.#issues.keys()].some((path) => path === name || path.startsWith(`${name}.`))
  }

  /** The write goes on without the refused fields. */
  leaveOutRefused(): void {
    for (const { path } of this.#issues.values()) if (path !== '') this.#leftOut.push(path)
  }

  /** Throws what was noted: the first error with all issues; of a trial, one of invalid fields. */
  throwIfAny(): void {
    if (this.#first === null) return
    const issues = [...this.#issues.values()]
    const visible = issues.slice(0, ISSUES_MAX)
    const unlisted = this.#unlisted + issues.length - visible.length
    // The write itself would answer an error that is not about a field in the same way.
    const isOfField = issues.length > 1 || issues[0]?.path !== ''
    this.#thrown = this.#first
    if (this.isTrial && isOfField) this.#thrown = new InvalidFieldsError(visible, unlisted)
    else {
      this.#first.issues = visible
      if (!(this.#first instanceof FieldError)) this.#first.unlisted = unlisted
    }
    throw this.#thrown
  }

  /** Throws the error that has ended the write, or that of which it is a consequence. */
  end(error: unknown): never {
    if (this.note(error) || !this.isTrial) this.throwIfAny()
    throw error
  }
}

/** Runs a check. What it refuses is noted, if something notes it, and the write goes on. */
export async function orNote(issues: WriteIssues | undefined, check: () => unknown): Promise<void> {
  try {
    await check()
  } catch (error) {
    if (issues?.note(error) !== true) throw error
  }
}

/**
 * Runs all checks of a document. Throws the error of the first one that refuses it, with what the
 * others have found as its further issues; errors that are not about the document end the checks.
 */
export async function checkAll(checks: readonly (() => unknown)[]): Promise<void> {
  const refused: DocumentError[] = []
  for (const check of checks) {
    try {
      await check()
    } catch (error) {
      if (!isOfDocument(error)) throw error
      refused.push(error)
    }
  }
  throwAll(refused)
}
