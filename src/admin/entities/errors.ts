/**
 * Errors of the entity API, in the shapes that its clients know (spec/entity-api.md 1.7). Clients
 * look at `status`, `code` and the text; the HTTP status is 200 for all that a caller can mend.
 */

/** Classes of errors; the codes of the existing system. */
const CODE = {
  notLoggedIn: 17_574,
  notAllowed: 17_575,
  invalidFields: 17_576,
  rule: 17_577,
  general: 500,
} as const

/** Codes of single rules, in `display.code`. */
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

/** An error that is told to the caller as it is: its text holds no secret, and nothing internal. */
export abstract class ApiError extends Error {
  readonly httpStatus: number = 200
  readonly headers: Readonly<Record<string, string>> = {}
  /** The whole answer. */
  abstract body(): object
}

/** A rule is violated (shape A). The text names the field or date. */
export class EntityRuleError extends ApiError {
  override name = 'EntityRuleError'
  readonly displayCode: DisplayCode

  constructor(message: string, displayCode: DisplayCode = DISPLAY.rule) {
    super(message)
    this.displayCode = displayCode
  }

  override body(): object {
    const display = { code: this.displayCode, desc: 'General error.' }
    return { status: 0, code: CODE.rule, message: this.message, display }
  }
}

/** An entity that is to go, or to hold for less time, is needed by others. */
export class InUseError extends EntityRuleError {
  override name = 'InUseError'
  /** Such as `plan GOLD`. */
  readonly what: string
  /** Who needs it, and how many they are. */
  readonly usedBy: string

  constructor(what: string, usedBy: string) {
    super(`${what} cannot be deleted: in its time it is needed by ${usedBy}`, DISPLAY.refused)
    this.what = what
    this.usedBy = usedBy
  }
}

export interface InvalidField {
  /** With `query.` or `update.` in front. */
  path: string
  reason: string
}

/** Values of a wrong type, or keys that are not known (shape A, code 17576). */
export class InvalidFieldsError extends ApiError {
  override name = 'InvalidFieldsError'
  readonly fields: readonly InvalidField[]

  constructor(fields: readonly InvalidField[]) {
    super(`Invalid fields: ${fields.map(({ path, reason }) => `${path} ${reason}`).join('; ')}`)
    this.fields = fields
  }

  /** `display` is a text of JSON, as existing clients read it; 3: the value was rejected. */
  override body(): object {
    const named = this.fields.map(({ path }) => ({ name: path.replace(/^\w+\./, ''), error: 3 }))
    const display = JSON.stringify(named)
    return { status: 0, code: CODE.invalidFields, message: this.message, display }
  }
}

/** What is addressed is not there, or not one; or it cannot go (shape B). */
export class TargetError extends ApiError {
  override name = 'TargetError'

  override body(): object {
    return { status: 0, code: CODE.general, data: { message: this.message } }
  }
}

/** Nobody has logged in, or the session has ended (shape A, code 17574). */
export class NotLoggedInError extends ApiError {
  override name = 'NotLoggedInError'
  override readonly httpStatus: number

  constructor(message: string, httpStatus = 200) {
    super(message)
    this.httpStatus = httpStatus
  }

  override body(): object {
    const { message } = this
    return { status: 0, code: CODE.notLoggedIn, message, display: message }
  }
}

/** No such action for this collection, or no right to it (shape A, code 17575). */
export class NotAllowedError extends ApiError {
  override name = 'NotAllowedError'
  override readonly httpStatus: number

  constructor(message: string, httpStatus = 200) {
    super(message)
    this.httpStatus = httpStatus
  }

  override body(): object {
    const { message } = this
    return { status: 0, code: CODE.notAllowed, message, display: message }
  }
}

/** An import or export that fails as a whole (shape C). */
export class ExecutionError extends ApiError {
  override name = 'ExecutionError'
  readonly errorCode: number

  constructor(message: string, errorCode: number = CODE.general) {
    super(message)
    this.errorCode = errorCode
  }

  override body(): object {
    return { status: 0, errorCode: this.errorCode, desc: this.message }
  }
}

/**
 * A request that cannot be read at all, or a store that is down (shape B, with its HTTP status).
 */
export class RequestError extends ApiError {
  override name = 'RequestError'
  override readonly httpStatus: number

  constructor(httpStatus: number, message: string) {
    super(message)
    this.httpStatus = httpStatus
  }

  override body(): object {
    return { status: 0, code: this.httpStatus, data: { message: this.message } }
  }
}
