/** Session id of a message, and the stamp that distinguishes messages of a session. */
import { FieldError, isUnset } from '../domain/fields.ts'
import { type DecodeErrors, TEXT_CHARS_MAX } from './decode-errors.ts'
import type { Message } from './file-type.ts'
import { compilePath, type Path, pathsAt, type Scope } from './paths.ts'

/** The session id; empty if the message has none of the fields. */
export type SessionId = (message: Message, errors: DecodeErrors) => string

/** The values of `stamp_fields`; empty if the entry has none of them. */
export type Stamp = (scope: Scope, errors: DecodeErrors) => string

const DEFAULT_FIELDS = [compilePath('session_id') as Path]

/** Reader of the session id; `name` is its first field, for errors. */
export interface SessionFields {
  readonly read: SessionId
  readonly name: string
}

/** Compiles `session_id_fields`, by default `session_id`. Throws `FieldError`. */
export function compileSessionId(value: unknown, path: string): SessionFields {
  const paths = isUnset(value) ? DEFAULT_FIELDS : someAt(value, path)
  const [first, second] = paths as [Path, Path | undefined]
  const { name } = first
  if (second === undefined) {
    const read: SessionId = (message, errors) =>
      errors.text(first.in(message), name, TEXT_CHARS_MAX)
    return { name, read }
  }
  return {
    name,
    read: (message, errors) => {
      const id = joinedTexts(paths, (each) => each.in(message), errors)
      if (id.length <= TEXT_CHARS_MAX) return id
      errors.fail(name, `must make an id of at most ${TEXT_CHARS_MAX} characters`)
      return ''
    },
  }
}

/** Compiles `stamp_fields`; null if absent. Throws `FieldError`. */
export function compileStamp(value: unknown, path: string): Stamp | null {
  if (isUnset(value) || (Array.isArray(value) && value.length === 0)) return null
  const paths = someAt(value, path)
  const [first, second] = paths as [Path, Path | undefined]
  if (second !== undefined) {
    return (scope, errors) => joinedTexts(paths, (each) => stampPart(each.read(scope)), errors)
  }
  return (scope, errors) => errors.text(stampPart(first.read(scope)), first.name, TEXT_CHARS_MAX)
}

function someAt(value: unknown, path: string): readonly Path[] {
  const paths = pathsAt(value, path)
  if (paths.length === 0) throw new FieldError(path, 'must have at least one field')
  return paths
}

/** Stamps only distinguish messages: fractions of seconds and booleans serve as well as texts. */
function stampPart(value: unknown): unknown {
  return typeof value === 'boolean' || typeof value === 'number' ? String(value) : value
}

/** Empty if all texts are empty. */
function joinedTexts(
  paths: readonly Path[],
  read: (path: Path) => unknown,
  errors: DecodeErrors,
): string {
  const parts = paths.map((path) => errors.text(read(path), path.name, TEXT_CHARS_MAX))
  return parts.some((part) => part !== '') ? joinParts(parts) : ''
}

/** Joins parts with `;`, escaped so that different parts give different texts. */
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
