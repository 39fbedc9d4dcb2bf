/** What a message names its session by, and what tells it from others of the session. */
import { RuleError } from '../../rating/rule-error.ts'
import { isUnset } from '../../rating/rule-fields.ts'
import type { Message } from './file-type.ts'
import { type Findings, TEXT_CHARS_MAX } from './findings.ts'
import { compilePath, type Path, pathsAt, type Scope } from './paths.ts'

/** The session id; empty if the message has none of its fields. */
export type SessionId = (message: Message, findings: Findings) => string

/** The values of `stamp_fields`; empty if the entry has none of them. */
export type Stamp = (scope: Scope, findings: Findings) => string

const DEFAULT_FIELDS = [compilePath('session_id') as Path]

/** The first of the fields, for errors. */
export interface SessionFields {
  readonly read: SessionId
  readonly name: string
}

/** Compiles `session_id_fields`, by default `session_id`. Throws `RuleError`. */
export function compileSessionId(value: unknown, path: string): SessionFields {
  const paths = isUnset(value) ? DEFAULT_FIELDS : someAt(value, path)
  const [first] = paths as [Path]
  const texts = joinedTexts(paths)
  return {
    name: first.name,
    read: (message, findings) => {
      const id = texts((each) => each.in(message), findings)
      if (id.length <= TEXT_CHARS_MAX) return id
      findings.fail(first.name, `must make an id of at most ${TEXT_CHARS_MAX} characters`)
      return ''
    },
  }
}

/** Compiles `stamp_fields`; null if there are none. Throws `RuleError`. */
export function compileStamp(value: unknown, path: string): Stamp | null {
  if (isUnset(value) || (Array.isArray(value) && value.length === 0)) return null
  const texts = joinedTexts(someAt(value, path))
  return (scope, findings) => texts((each) => stampPart(each.read(scope)), findings)
}

function someAt(value: unknown, path: string): readonly Path[] {
  const paths = pathsAt(value, path)
  if (paths.length === 0) throw new RuleError(path, 'must have at least one field')
  return paths
}

/** Stamps only tell messages apart: seconds with a fraction and flags do that as well as texts. */
function stampPart(value: unknown): unknown {
  return typeof value === 'boolean' || typeof value === 'number' ? String(value) : value
}

type Joined = (value: (path: Path) => unknown, findings: Findings) => string

function joinedTexts(paths: readonly Path[]): Joined {
  const [first, second] = paths as [Path, Path | undefined]
  const textOf = (path: Path, value: unknown, findings: Findings) =>
    findings.text(value, path.name, TEXT_CHARS_MAX)
  if (second === undefined) return (value, findings) => textOf(first, value(first), findings)
  return (value, findings) => {
    const parts = paths.map((path) => textOf(path, value(path), findings))
    return parts.some((part) => part !== '') ? joinParts(parts) : ''
  }
}

/** Parts with `;` between them; other parts never give the same text. */
export function joinParts(parts: readonly string[]): string {
  let joined = ''
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] as string
    const isPlain = !part.includes('%') && !part.includes(';')
    const encoded = isPlain ? part : part.replaceAll('%', '%25').replaceAll(';', '%3B')
    joined = at === 0 ? encoded : `${joined};${encoded}`
  }
  return joined
}
