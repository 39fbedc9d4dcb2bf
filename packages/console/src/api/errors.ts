/** Refusals of the API in one form. */

export interface FieldError {
  /** Path in the request, for example `update.price.0.to`. */
  readonly path: string
  readonly reason: string
}

/**
 * `login`: nobody is logged in. `forbidden`: a role is missing. `fields`: values are invalid.
 * `conflict`: the revision has changed since it was read. `unavailable`: a store does not answer.
 * `offline`: the server does not answer. `refused`: any other rule.
 */
export type RefusalKind =
  | 'login'
  | 'forbidden'
  | 'fields'
  | 'conflict'
  | 'unavailable'
  | 'offline'
  | 'refused'

/** A call that the API has refused, or that has not reached it. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly kind: RefusalKind
  /** Code of the API, or the HTTP status; 0 if the server did not answer. */
  readonly code: number
  /** Text of the API, in English. */
  readonly text: string
  readonly fields: readonly FieldError[]
  /** The whole answer, for example with the present revision of a conflict. */
  readonly answer: unknown

  constructor(kind: RefusalKind, code: number, text: string, more: RefusalDetails = {}) {
    super(text)
    this.kind = kind
    this.code = code
    this.text = text
    this.fields = more.fields ?? []
    this.answer = more.answer
  }
}

interface RefusalDetails {
  readonly fields?: readonly FieldError[]
  readonly answer?: unknown
}

/** Any error of a read, to be shown. */
export function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  return new Refusal('refused', 0, error instanceof Error ? error.message : String(error))
}

const NOT_LOGGED_IN = 17_574
const NOT_ALLOWED = 17_575
const INVALID_FIELDS = 17_576
const INVALID = 'Invalid fields: '

/** Null for a success. `answer`: the parsed body; `httpStatus`: of the response. */
export function refusalOf(httpStatus: number, answer: unknown): Refusal | null {
  const body = typeof answer === 'object' && answer !== null ? (answer as ErrorBody) : {}
  if (httpStatus < 400 && body.status !== 0) return null
  const code = codeOf(body) ?? httpStatus
  const text = body.message ?? body.data?.message ?? body.desc ?? `HTTP ${httpStatus}`
  return new Refusal(kindOf(httpStatus, code), code, text, { answer, fields: fieldsOf(code, body) })
}

interface ErrorBody {
  readonly status?: unknown
  readonly code?: unknown
  readonly errorCode?: unknown
  readonly message?: string
  readonly desc?: string
  readonly display?: unknown
  readonly fields?: readonly FieldError[]
  readonly data?: { readonly message?: string }
}

function codeOf({ code, errorCode }: ErrorBody): number | null {
  const known = code ?? errorCode
  return typeof known === 'number' ? known : null
}

function kindOf(httpStatus: number, code: number): RefusalKind {
  if (httpStatus === 401 || code === NOT_LOGGED_IN) return 'login'
  if (httpStatus === 403 || code === NOT_ALLOWED) return 'forbidden'
  if (httpStatus === 409 || code === 409) return 'conflict'
  if (code === INVALID_FIELDS) return 'fields'
  return httpStatus >= 502 && httpStatus <= 504 ? 'unavailable' : 'refused'
}

/** Without `fields`, `display` names the paths, and the message has them with their reasons. */
function fieldsOf(code: number, body: ErrorBody): readonly FieldError[] {
  const { message = '', display, fields } = body
  if (fields !== undefined) return fields
  if (code !== INVALID_FIELDS || !message.startsWith(INVALID)) return []
  const named = namesIn(display)
  return message
    .slice(INVALID.length)
    .split(/; (?=(?:query|update|options)\b)/)
    .map((part, index) => {
      const [path = '', ...reason] = part.split(' ')
      return { path: path || (named[index] ?? ''), reason: reason.join(' ') }
    })
}

function namesIn(display: unknown): readonly string[] {
  if (typeof display !== 'string') return []
  try {
    const parsed: unknown = JSON.parse(display)
    return Array.isArray(parsed) ? parsed.map((each) => String(each?.name ?? '')) : []
  } catch {
    return []
  }
}
