/** What the routes of authentication refuse, in the shape of their answers (spec 5.1). */
import { ApiError } from '../entities/errors.ts'

export interface RefusalOptions {
  /** 200 for what was understood, and is not so. */
  readonly httpStatus?: number
  /** When it may be tried again, ms from now. */
  readonly retryAfterMs?: number
  /** What the answer tells beside its text; false if not given. */
  readonly details?: object
}

/** Its text names the field or what is wrong; it never quotes a value. */
export class AuthRefusal extends ApiError {
  override name = 'AuthRefusal'
  override readonly httpStatus: number
  readonly retryAfterMs: number | null
  readonly details: object | false

  constructor(text: string, { httpStatus = 200, retryAfterMs, details }: RefusalOptions = {}) {
    super(text)
    this.httpStatus = httpStatus
    this.retryAfterMs = retryAfterMs ?? null
    this.details = details ?? false
  }

  override body(): object {
    const code = this.httpStatus === 200 ? {} : { code: this.httpStatus }
    return { status: 0, ...code, desc: this.message, details: this.details }
  }

  /** As the header `Retry-After` has it: whole seconds, at least one. */
  get retryAfterSeconds(): number | null {
    return this.retryAfterMs === null ? null : Math.max(1, Math.ceil(this.retryAfterMs / 1000))
  }
}
