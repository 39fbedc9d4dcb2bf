/**
 * Errors of invalid fields. The error for the first one that is found has the others, too, so that
 * a form can show all of them at once.
 */

/** Codes of what is wrong: the first three are of fields. */
export const ISSUE_CODES = [
  'missing',
  'unknown',
  'invalid',
  'refused',
  'target',
  'request',
  'not_logged_in',
  'not_allowed',
  'not_found',
  'conflict',
  'too_many',
  'internal',
  'unavailable',
  'more',
] as const

export type IssueCode = (typeof ISSUE_CODES)[number]

/** An invalid field: its dotted path, empty for a whole document, and the reason. */
export interface FieldIssue {
  readonly path: string
  readonly reason: string
  /** `invalid` by default; without a path the code of the error. */
  readonly code?: IssueCode
}

/**
 * The place of an error: issues, a field whose reason is the text of the error, or only a code if
 * it is not about a field.
 */
export type Wrong =
  | IssueCode
  | { readonly path: string; readonly code?: IssueCode }
  | readonly FieldIssue[]

/** The issues of an error with this text. */
export function issuesOf(reason: string, wrong: Wrong): readonly FieldIssue[] {
  if (typeof wrong === 'string') return [{ path: '', reason, code: wrong }]
  return 'path' in wrong ? [{ ...wrong, reason }] : wrong
}

/**
 * Text and issues of an error about one field. A path that ends with a colon has it in the text
 * only: `aid: there is no account 5`.
 */
export function about(
  path: string,
  reason: string,
  code: IssueCode = 'invalid',
): [text: string, issues: readonly FieldIssue[]] {
  return [`${path} ${reason}`.trimStart(), [{ path: path.replace(/:$/, ''), reason, code }]]
}

/** The issues of parameters of which all, or one, had to be sent. */
export function missing(paths: readonly string[], reason = 'is missing'): readonly FieldIssue[] {
  return paths.map((path) => ({ path, reason, code: 'missing' }))
}

/** An invalid field of a document. */
export class FieldError extends Error implements FieldIssue {
  override name = 'FieldError'
  readonly path: string
  readonly reason: string
  readonly code: IssueCode
  /** All invalid fields, this one first. */
  issues: readonly FieldIssue[]

  constructor(
    path: string,
    reason: string,
    code: IssueCode = 'invalid',
    further: readonly FieldIssue[] = [],
  ) {
    super(path === '' ? reason : `${path} ${reason}`)
    this.path = path
    this.reason = reason
    this.code = code
    this.issues = [path === '' ? { path, reason } : { path, reason, code }, ...further]
  }

  /** The same error of a document that is a part of another one. */
  under(parent: string): FieldError {
    const [first, ...others] = this.issues.map((issue) => issueUnder(parent, issue))
    return new FieldError(first?.path ?? parent, this.reason, this.code, others)
  }
}

/** The issue, of a document that is a part of another one. */
export function issueUnder<I extends FieldIssue>(parent: string, issue: I): I {
  return { ...issue, path: [parent, issue.path].filter((path) => path !== '').join('.') }
}

/** Throws the first of the errors, if any, with the issues of all. */
export function throwAll(errors: readonly (Error & { issues: readonly FieldIssue[] })[]): void {
  const [first] = errors
  if (first === undefined) return
  first.issues = errors.flatMap(({ issues }) => issues)
  throw first
}

/** Throws `FieldError` for the first of the issues, if any, which has the others, too. */
export function throwIssues([first, ...further]: readonly FieldIssue[]): void {
  if (first !== undefined) throw new FieldError(first.path, first.reason, first.code, further)
}

type Readers = Readonly<Record<string, () => unknown>>

type Results<R extends Readers> = { readonly [Name in keyof R]: ReturnType<R[Name]> }

/** Collects the issues of readers that throw `FieldError`; other errors are passed on. */
export class FieldIssues {
  readonly #found: FieldError[] = []

  /** Undefined if the reader has refused a field. */
  attempt<T>(read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      this.#add(error)
      return undefined
    }
  }

  async attemptAsync(read: () => Promise<unknown>): Promise<void> {
    try {
      await read()
    } catch (error) {
      this.#add(error)
    }
  }

  /** Throws `FieldError`. */
  throwIfAny(): void {
    throwAll(this.#found)
  }

  #add(error: unknown): void {
    if (!(error instanceof FieldError)) throw error
    this.#found.push(error)
  }
}

/** The results of all readers. Throws `FieldError` with the issues of all of them. */
export function readAll<const R extends Readers>(readers: R): Results<R> {
  const issues = new FieldIssues()
  const results: Record<string, unknown> = {}
  for (const [name, read] of Object.entries(readers)) results[name] = issues.attempt(read)
  issues.throwIfAny()
  return results as Results<R>
}

/** The results of a reader for all members. Throws as `readAll`. */
export function readEach<T, U>(
  members: Iterable<T>,
  read: (member: T, index: number) => U,
): readonly U[] {
  const issues = new FieldIssues()
  const results: (U | undefined)[] = []
  let index = 0
  for (const member of members) {
    const at = index
    results.push(issues.attempt(() => read(member, at)))
    index += 1
  }
  issues.throwIfAny()
  return results as U[]
}
