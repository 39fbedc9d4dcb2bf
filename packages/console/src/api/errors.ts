/** Refusals of the API by what the console does about them. */
import { type ApiError, errorOf, type Issue } from '../../../client/src/errors.ts'

export type { Issue } from '../../../client/src/errors.ts'

/**
 * `login`: nobody is logged in. `forbidden`: a role is missing. `conflict`: the revision has
 * changed since it was read. `unavailable`: a store does not answer. `offline`: the server does
 * not answer. `refused`: any other rule.
 */
export type RefusalKind = 'login' | 'forbidden' | 'conflict' | 'unavailable' | 'offline' | 'refused'

/** A call that the API has refused, or that has not reached it. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly kind: RefusalKind
  /** Code of the API, or the HTTP status; 0 if the server did not answer. */
  readonly code: number
  /** Text of the API, in English. */
  readonly text: string
  /** The issues of the answer, if at least one is about a field. */
  readonly fields: readonly Issue[]
  /** The whole answer, for example with the present revision of a conflict. */
  readonly answer: unknown

  constructor(kind: RefusalKind, code: number, text: string, more: RefusalDetails = {}) {
    super(text)
    const { issues = [], answer } = more
    this.kind = kind
    this.code = code
    this.text = text
    this.fields = issues.some(({ path }) => path !== '') ? issues : []
    this.answer = answer
  }
}

interface RefusalDetails {
  readonly issues?: readonly Issue[]
  readonly answer?: unknown
}

/** Any error of a read, to be shown. */
export function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  return new Refusal('refused', 0, error instanceof Error ? error.message : String(error))
}

/** Null for a success. `answer`: the parsed body, undefined if it is not JSON. */
export function refusalOf(httpStatus: number, answer: unknown): Refusal | null {
  const error = errorOf(httpStatus, answer)
  if (error === null) return null
  return new Refusal(kindOf(error), error.code, error.message, { issues: error.errors, answer })
}

const KIND_OF_CODE: Partial<Record<Issue['code'], RefusalKind>> = {
  not_logged_in: 'login',
  not_allowed: 'forbidden',
  conflict: 'conflict',
  unavailable: 'unavailable',
}
/** Without issues a proxy has answered. */
const KIND_OF_STATUS: Readonly<Record<number, RefusalKind>> = {
  401: 'login',
  403: 'forbidden',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
}

function kindOf({ status, errors: [first] }: ApiError): RefusalKind {
  const kind = first === undefined ? KIND_OF_STATUS[status] : KIND_OF_CODE[first.code]
  return kind ?? 'refused'
}

/** Why a field is refused; `path` is without `query.`. */
export function errorAt(issues: readonly Issue[], path: string): string | null {
  return issues.find((each) => each.path.replace(/^query\./, '') === path)?.why ?? null
}
