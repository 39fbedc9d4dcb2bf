/** Refusals of the API. */
import type { components } from '../dist/api.d.ts'

/** Something that is wrong; `path` is empty if it is not about a field. */
export type Issue = components['schemas']['errors'][number]

/** The API has refused or failed a call; `message` is its text. */
export class ApiError extends Error {
  override name = 'ApiError'
  /** HTTP status; many refusals have 200. */
  readonly status: number
  /** Code of the API, `returnCode` of charging, or the HTTP status. */
  readonly code: number
  /** All that is wrong; empty if the answer is not of the admin port. */
  readonly errors: readonly Issue[]
  /** The whole answer; undefined if it is not JSON. */
  readonly answer: unknown

  constructor(
    message: string,
    status: number,
    code: number,
    errors: readonly Issue[],
    answer: unknown,
  ) {
    super(message)
    this.status = status
    this.code = code
    this.errors = errors
    this.answer = answer
  }
}

interface Refused {
  readonly code?: unknown
  readonly errorCode?: unknown
  readonly returnCode?: unknown
  readonly message?: string
  readonly desc?: string
  readonly error_description?: string
  readonly data?: { readonly message?: string }
  readonly errors?: readonly Issue[]
}

/** Null for a success, and for a denied charge, which is an answer. */
export function errorOf(status: number, answer: unknown): ApiError | null {
  const isJson = typeof answer === 'object' && answer !== null
  const body: Refused = isJson ? answer : {}
  const isOk = status >= 200 && status < 300
  if (isOk && isJson && body.errors === undefined) return null
  const { message, desc, error_description, data, errors = [] } = body
  const bare = isOk ? 'The answer is not JSON' : `HTTP ${status}`
  const text = message ?? data?.message ?? desc ?? error_description ?? bare
  const codes = [body.code, body.errorCode, body.returnCode]
  const code = codes.find((each) => typeof each === 'number') ?? status
  return new ApiError(text, status, code, errors, answer)
}
