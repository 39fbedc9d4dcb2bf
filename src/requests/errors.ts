/**
 * Errors of the entity API, in the formats that its clients expect. Clients evaluate `status`,
 * `code` and the text; the HTTP status is 200 for every error that the caller can fix.
 */

import {
  about,
  type FieldIssue,
  type IssueCode,
  issuesOf,
  missing,
  type Wrong,
} from '../domain/field-errors.ts'

/** Error classes; the codes are those of the existing system. */
export const CODE = {
  notLoggedIn: 17_574,
  notAllowed: 17_575,
  invalidFields: 17_576,
  rule: 17_577,
  general: 500,
} as const

/** Codes of specific rules, in `display.code`. */
export const DISPLAY = {
  rule: 0,
  date: 1,
  refused: 2,
  reopen: 3,
  sort: 10_403,
  service: 66_601,
  planRecurrence: 988_888,
  request: 999_999,
} as const

export type DisplayCode = (typeof DISPLAY)[keyof typeof DISPLAY]

const CODE_OF_STATUS: Readonly<Record<number, IssueCode>> = {
  200: 'refused',
  401: 'not_logged_in',
  403: 'not_allowed',
  404: 'not_found',
  409: 'conflict',
  429: 'too_many',
  500: 'internal',
  503: 'unavailable',
}

/** The code of an error that is not about a field. */
export function codeOfStatus(httpStatus: number): IssueCode {
  return CODE_OF_STATUS[httpStatus] ?? 'request'
}

/** An entry of `errors`. */
export interface AnsweredIssue {
  /** Dotted path in the document or in the parameters; empty: not about a field. */
  readonly path: string
  readonly code: IssueCode
  readonly why: string
}

/** The member `errors` of the body of every error. `unlisted`: the number of further issues. */
export function answeredIssues(
  issues: readonly FieldIssue[],
  unlisted = 0,
): readonly AnsweredIssue[] {
  const listed = issues.map(({ path, reason, code = path === '' ? 'refused' : 'invalid' }) => {
    return { path, code, why: reason }
  })
  return withMore(listed, unlisted)
}

/** Further errors are only counted, to limit the size of the response. */
export const PROBLEMS_MAX = 20

/** The first of many errors, and how many others there are. */
export function firstErrors(all: readonly AnsweredIssue[]): readonly AnsweredIssue[] {
  return withMore(all.slice(0, PROBLEMS_MAX), Math.max(0, all.length - PROBLEMS_MAX))
}

function withMore(listed: readonly AnsweredIssue[], unlisted: number): readonly AnsweredIssue[] {
  if (unlisted === 0) return listed
  return [...listed, { path: '', code: 'more', why: `and ${unlisted} more` }]
}

/**
 * An error that is returned to the caller unchanged; its text must not contain secrets or
 * internals.
 */
export abstract class ApiError extends Error {
  readonly httpStatus: number = 200
  readonly headers: Readonly<Record<string, string>> = {}
  /** All that is wrong, that of the message first. */
  issues: readonly FieldIssue[]
  /** Number of further issues. */
  unlisted = 0

  constructor(message: string, wrong: Wrong) {
    super(message)
    this.issues = issuesOf(message, wrong)
  }

  /** The response body as existing clients know it. */
  protected abstract known(): object

  /** The complete response body. */
  body(): object {
    return { ...this.known(), errors: answeredIssues(this.issues, this.unlisted) }
  }
}

/** A rule is violated (shape A). The text names the field or date. */
export class EntityRuleError extends ApiError {
  override name = 'EntityRuleError'
  readonly displayCode: DisplayCode

  constructor(message: string, wrong: Wrong, displayCode: DisplayCode = DISPLAY.rule) {
    super(message, wrong)
    this.displayCode = displayCode
  }

  protected override known(): object {
    const display = { code: this.displayCode, desc: 'General error.' }
    return { status: 0, code: CODE.rule, message: this.message, display }
  }
}

/** The rule of a field is violated; see `about`. */
export function fieldRule(
  path: string,
  reason: string,
  code: IssueCode = 'invalid',
  displayCode: DisplayCode = DISPLAY.rule,
): EntityRuleError {
  return new EntityRuleError(...about(path, reason, code), displayCode)
}

/** Throws the first of the issues, if any, as a violated rule that has the others, too. */
export function throwRules(
  issues: readonly FieldIssue[],
  displayCode: DisplayCode = DISPLAY.rule,
): void {
  const [first] = issues
  if (first === undefined) return
  throw new EntityRuleError(`${first.path} ${first.reason}`, issues, displayCode)
}

/** A call of the action API is refused; clients read the text in `message` or in `desc`. */
export class ActionError extends ApiError {
  override name = 'ActionError'
  /** Code that existing clients know for this refusal; its text is then also in `display`. */
  readonly displayCode: number | null

  constructor(message: string, wrong: Wrong, displayCode: number | null = null) {
    super(message, wrong)
    this.displayCode = displayCode
  }

  protected override known(): object {
    const { message } = this
    const code = this.displayCode
    const display = code === null ? { code: 999, desc: 'General error.' } : { code, desc: message }
    return { status: 0, code: CODE.rule, message, desc: message, display }
  }
}

/** The refusal of a rule by a call of the action API. */
export function asActionError(
  error: EntityRuleError,
  displayCode: number | null = null,
): ActionError {
  const refused = new ActionError(error.message, error.issues, displayCode)
  refused.unlisted = error.unlisted
  return refused
}

/** A parameter, or a member of one, has a wrong value. */
export function parameterError(
  path: string,
  reason: string,
  code: IssueCode = 'invalid',
): ActionError {
  return new ActionError(`Field ${path} ${reason}`, [{ path, reason, code }])
}

export function missingParameters(paths: readonly string[], hint = ''): ActionError {
  return new ActionError(
    `Following field/s are missing: ${paths.join(', ')}${hint}`,
    missing(paths),
  )
}

/** An entity that others need is to be deleted or shortened. */
export class InUseError extends EntityRuleError {
  override name = 'InUseError'
  /** For example `plan GOLD`. */
  readonly what: string
  /** The entities that need it and their number. */
  readonly usedBy: string

  constructor(what: string, usedBy: string) {
    super(
      `${what} cannot be deleted: in its validity period it is needed by ${usedBy}`,
      'refused',
      DISPLAY.refused,
    )
    this.what = what
    this.usedBy = usedBy
  }
}

/** Values of a wrong type, or unknown keys (shape A, code 17576). */
export class InvalidFieldsError extends ApiError {
  override name = 'InvalidFieldsError'
  readonly #names: readonly string[]

  /** `more`: the number of further ones. */
  constructor(fields: readonly FieldIssue[], more = 0) {
    const texts = fields.map(({ path, reason }) => `${path} ${reason}`.trimStart())
    const rest = more === 0 ? [] : [`and ${more} more`]
    super(`Invalid fields: ${[...texts, ...rest].join('; ')}`, fields)
    this.unlisted = more
    const paths = fields.map(({ path }) => path).filter((path) => path !== '')
    this.#names = paths.map((path) => path.replace(/^(?:query|update|options|project)\./, ''))
  }

  /**
   * `display` is JSON text, as existing clients expect; error 3 means that the value was rejected.
   */
  protected override known(): object {
    const display = JSON.stringify(this.#names.map((name) => ({ name, error: 3 })))
    return { status: 0, code: CODE.invalidFields, message: this.message, display }
  }
}

/** The addressed document does not exist, is not unique, or cannot be deleted (shape B). */
export class TargetError extends ApiError {
  override name = 'TargetError'

  constructor(message: string) {
    super(message, 'target')
  }

  protected override known(): object {
    return { status: 0, code: CODE.general, data: { message: this.message } }
  }
}

/** The caller is not authenticated, or the session has ended (shape A, code 17574). */
export class NotLoggedInError extends ApiError {
  override name = 'NotLoggedInError'
  override readonly httpStatus: number

  constructor(message: string, httpStatus = 200) {
    super(message, 'not_logged_in')
    this.httpStatus = httpStatus
  }

  protected override known(): object {
    const { message } = this
    return { status: 0, code: CODE.notLoggedIn, message, display: message }
  }
}

/** The collection has no such action, or the caller lacks the permission (shape A, code 17575). */
export class NotAllowedError extends ApiError {
  override name = 'NotAllowedError'
  override readonly httpStatus: number

  constructor(message: string, httpStatus = 200) {
    super(message, 'not_allowed')
    this.httpStatus = httpStatus
  }

  protected override known(): object {
    const { message } = this
    return { status: 0, code: CODE.notAllowed, message, display: message }
  }
}

/** An import or export fails as a whole (shape C). */
export class ExecutionError extends ApiError {
  override name = 'ExecutionError'

  protected override known(): object {
    return { status: 0, errorCode: CODE.general, desc: this.message }
  }
}

/** The revision is not, or no longer, of a version that `If-Match` names. */
export class VersionConflictError extends ApiError {
  override name = 'VersionConflictError'
  override readonly httpStatus = 409
  override readonly headers: Readonly<Record<string, string>>
  readonly #entity: object | null

  /** `entity`: the present revision as a read shows it; null if it has been deleted. */
  constructor(message: string, entity: object | null, headers: Readonly<Record<string, string>>) {
    super(message, 'conflict')
    this.#entity = entity
    this.headers = headers
  }

  protected override known(): object {
    const { httpStatus: code, message } = this
    return { status: 0, code, data: { message }, entity: this.#entity }
  }
}

/** The request cannot be parsed, or a store is unavailable (shape B, with its HTTP status). */
export class RequestError extends ApiError {
  override name = 'RequestError'
  override readonly httpStatus: number
  override readonly headers: Readonly<Record<string, string>>

  constructor(httpStatus: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message, codeOfStatus(httpStatus))
    this.httpStatus = httpStatus
    this.headers = headers
  }

  protected override known(): object {
    return { status: 0, code: this.httpStatus, data: { message: this.message } }
  }
}
