/**
 * A write that is only tried (`validate`): it runs as usual, in a transaction that is aborted. What
 * is wrong with one field does not hide what is wrong with the others.
 */
import { FieldError, type FieldIssue } from '../domain/field-errors.ts'
import { isUnset } from '../domain/fields.ts'
import { booleanOf } from '../requests/cast-value.ts'
import {
  ApiError,
  DISPLAY,
  EntityRuleError,
  INVALID_FIELDS_CODE,
  type InvalidField,
  InvalidFieldsError,
} from '../requests/errors.ts'
import type { RawParameters } from '../requests/raw-parameters.ts'

/** Further ones are only counted. */
export const TRIAL_ISSUES_MAX = 1000

/** Whether the caller has sent `validate`. Throws `EntityRuleError`. */
export function isTrialIn(raw: RawParameters): boolean {
  const value = raw.get('validate')
  if (isUnset(value)) return false
  const read = booleanOf(value)
  if (read === null) throw new EntityRuleError('validate must be true or false', DISPLAY.request)
  return read
}

/** The invalid fields that an error names; null for errors that are not about a document. */
function issuesOf(error: unknown): readonly FieldIssue[] | null {
  if (error instanceof FieldError || error instanceof EntityRuleError) return error.issues
  return error instanceof InvalidFieldsError ? error.fields : null
}

/** All that is wrong with a write that was tried (shape A, code 17576, with `fields`). */
export class TrialRefusedError extends ApiError {
  override name = 'TrialRefusedError'
  readonly fields: readonly InvalidField[]

  constructor(fields: readonly InvalidField[], more: number) {
    const texts = fields.map(({ path, reason }) => `${path} ${reason}`.trimStart())
    const rest = more === 0 ? [] : [`and ${more} more`]
    super(`Invalid fields: ${[...texts, ...rest].join('; ')}`)
    this.fields = fields
  }

  override body(): object {
    const { message, fields } = this
    const named = fields.filter(({ path }) => path !== '')
    const display = JSON.stringify(named.map(({ path }) => ({ name: path, error: 3 })))
    return { status: 0, code: INVALID_FIELDS_CODE, message, display, fields }
  }
}

/** Collects what is wrong with a write. The first issue of a field counts. */
export class WriteTrial {
  readonly #issues = new Map<string, FieldIssue>()
  /** Fields without which the trial goes on: what is then wrong with them is a consequence. */
  readonly #leftOut: string[] = []
  #firstError: unknown = null

  /** Notes the issues of an error; false for errors that are not about a document. */
  note(error: unknown): boolean {
    const issues = issuesOf(error)
    if (issues === null) return false
    this.#firstError ??= error
    for (const { path: full, reason } of issues) {
      const path = full.replace(/^update\./, '')
      const key = path === '' ? `: ${reason}` : path
      const isConsequence = this.#leftOut.some((one) => path === one || path.startsWith(`${one}.`))
      if (!isConsequence && !this.#issues.has(key)) this.#issues.set(key, { path, reason })
    }
    return true
  }

  /** Whether something is wrong with this field of `update`, or with a part of it. */
  isRefused(name: string): boolean {
    return [...this.#issues.keys()].some((path) => path === name || path.startsWith(`${name}.`))
  }

  /** The trial goes on without the refused fields. */
  leaveOutRefused(): void {
    for (const { path } of this.#issues.values()) if (path !== '') this.#leftOut.push(path)
  }

  /** Throws what was noted. */
  throwIfAny(): void {
    const issues = [...this.#issues.values()]
    if (issues.length === 0) return
    // The write itself would answer an error that is not about a field in the same way.
    if (issues.length === 1 && issues[0]?.path === '') throw this.#firstError
    const visible = issues.slice(0, TRIAL_ISSUES_MAX)
    throw new TrialRefusedError(visible, issues.length - visible.length)
  }

  /** Throws the error that has ended the trial, with what was noted before. */
  end(error: unknown): never {
    if (!(error instanceof TrialRefusedError) && this.note(error)) this.throwIfAny()
    throw error
  }
}

/** Runs a check. In a trial, what it refuses is noted, and the trial goes on. */
export async function orNote(trial: WriteTrial | undefined, check: () => unknown): Promise<void> {
  try {
    await check()
  } catch (error) {
    if (trial?.note(error) !== true) throw error
  }
}

/**
 * Runs all checks of a document. Throws the error of the first one that refuses it, with what the
 * others have found as its further issues; errors that are not about the document end the checks.
 */
export async function checkAll(checks: readonly (() => unknown)[]): Promise<void> {
  let first: unknown = null
  const further: FieldIssue[] = []
  for (const check of checks) {
    try {
      await check()
    } catch (error) {
      const issues = issuesOf(error)
      if (issues === null) throw error
      if (first === null) first = error
      else further.push(...issues)
    }
  }
  if (first !== null) throw withFurther(first, further)
}

function withFurther(error: unknown, further: readonly FieldIssue[]): unknown {
  if (further.length === 0) return error
  if (error instanceof FieldError) {
    return new FieldError(error.path, error.reason, [...error.issues.slice(1), ...further])
  }
  if (!(error instanceof EntityRuleError)) return error
  const { message, displayCode, issues } = error
  return new EntityRuleError(message, displayCode, [...issues, ...further])
}
