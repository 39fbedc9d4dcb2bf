/** Refusals of the API. */

/** An invalid field. */
export interface FieldIssue {
  /** Path in the request, or name of the field. */
  readonly path: string
  readonly reason: string
}

/** The API has refused or failed a call; `message` is its text. */
export class ApiError extends Error {
  override name = 'ApiError'
  /** HTTP status; many refusals have 200. */
  readonly status: number
  /** Code of the API, `returnCode` of charging, or the HTTP status. */
  readonly code: number
  /** The invalid fields, if the API names them. */
  readonly errors: readonly FieldIssue[]
  /** The whole answer; undefined if it is not JSON. */
  readonly answer: unknown

  constructor(
    message: string,
    status: number,
    code: number,
    errors: readonly FieldIssue[],
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
  readonly status?: unknown
  readonly code?: unknown
  readonly errorCode?: unknown
  readonly returnCode?: unknown
  readonly message?: string
  readonly desc?: string
  readonly error_description?: string
  readonly data?: { readonly message?: string }
  readonly display?: unknown
  readonly fields?: readonly FieldIssue[]
}

/** Null for a success, and for a denied charge, which is an answer. */
export function errorOf(status: number, answer: unknown): ApiError | null {
  const isJson = typeof answer === 'object' && answer !== null
  const body: Refused = isJson ? answer : {}
  const isOk = status >= 200 && status < 300
  if (isOk && isJson && !isRefused(body)) return null
  const { message, desc, error_description, data } = body
  const bare = isOk ? 'The answer is not JSON' : `HTTP ${status}`
  const text = message ?? data?.message ?? desc ?? error_description ?? bare
  const codes = [body.code, body.errorCode, body.returnCode]
  const code = codes.find((each) => typeof each === 'number') ?? status
  return new ApiError(text, status, code, issuesOf(body, text), answer)
}

/** `remove` answers with the number of lines, which may be 0, or false. */
function isRefused({ status, desc, returnCode }: Refused): boolean {
  if (status === 0) return desc !== 'success' && returnCode === undefined
  return status === false
}

/** Without `fields`, `display` names them as JSON text. */
function issuesOf({ fields, display }: Refused, reason: string): readonly FieldIssue[] {
  if (fields !== undefined) return fields
  if (typeof display !== 'string' || !display.startsWith('[')) return []
  const named: readonly { readonly name: string }[] = JSON.parse(display)
  return named.map(({ name }) => ({ path: name, reason }))
}
