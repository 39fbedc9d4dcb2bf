/** Refusals of the authentication routes, in the format of their answers. */
import type { Wrong } from '../domain/field-errors.ts'
import { ApiError } from '../requests/errors.ts'

export interface RefusalOptions {
  /** 200 for a valid request that is refused. */
  readonly httpStatus?: number
  /** Time until a retry is allowed, ms. */
  readonly retryAfterMs?: number
  /** Additional details of the answer; false by default. */
  readonly details?: object
}

/** The text names the field or the error; it never quotes a value. */
export class AuthRefusal extends ApiError {
  override name = 'AuthRefusal'
  override readonly httpStatus: number
  readonly retryAfterMs: number | null
  readonly details: object | false

  constructor(
    text: string,
    wrong: Wrong,
    { httpStatus = 200, retryAfterMs, details }: RefusalOptions = {},
  ) {
    super(text, wrong)
    this.httpStatus = httpStatus
    this.retryAfterMs = retryAfterMs ?? null
    this.details = details ?? false
  }

  protected override known(): object {
    const code = this.httpStatus === 200 ? {} : { code: this.httpStatus }
    return { status: 0, ...code, desc: this.message, details: this.details }
  }

  /** Value of the header `Retry-After`: whole seconds, at least one. */
  get retryAfterSeconds(): number | null {
    return this.retryAfterMs === null ? null : Math.max(1, Math.ceil(this.retryAfterMs / 1000))
  }
}
