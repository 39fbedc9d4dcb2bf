/** The dialects that network elements may speak to this node, by file type. */
import { PLAIN_JSON } from '../catalog/file-types/built-in.ts'
import { compileFileType } from '../catalog/file-types/compile.ts'
import type { FileTypeDefaults } from '../catalog/file-types/file-type.ts'
import type { Codec } from './codecs/codec.ts'
import { codecOf } from './codecs/codec-of.ts'

export interface Dialect {
  /** Of its file type. */
  readonly name: string
  readonly parser: 'json' | 'xml' | 'key_value' | 'diameter'
  readonly codec: Codec<unknown>
  /** Whether requests may come by GET. */
  readonly allowsGet: boolean
}

/** Why a name has no dialect; `notLoaded`: the stored configuration was never read. */
export interface MissingDialect {
  readonly missing: 'unknown' | 'disabled' | 'unusable' | 'notLoaded'
  readonly why: string
}

export interface Dialects {
  /** What requests without a name speak. */
  readonly defaultName: string
  find(name: string): Dialect | MissingDialect
}

export function isDialect(found: Dialect | MissingDialect): found is Dialect {
  return !('missing' in found)
}

export interface DialectsOptions {
  readonly defaultName: string
  /** The plain JSON dialect. */
  readonly plain: Codec<unknown>
  readonly defaults: FileTypeDefaults
  /** Documents of the file types that come with the product, by name. */
  readonly builtIn: ReadonlyMap<string, unknown>
}

/** A stored document that cannot be used. */
export interface UnusableFileType {
  readonly name: string
  readonly why: string
}

export interface LiveDialects extends Dialects {
  /** Takes over the stored file types, all of them; those that did not change stay as they are. */
  take(stored: unknown): readonly UnusableFileType[]
}

/** A document's dialect, or why it has none. */
type Entry = Dialect | MissingDialect

const UNKNOWN: MissingDialect = { missing: 'unknown', why: 'is unknown' }
const NOT_LOADED: MissingDialect = {
  missing: 'notLoaded',
  why: 'is not known: the stored file types were not read yet',
}

export function createDialects(options: DialectsOptions): LiveDialects {
  const { defaultName, plain, defaults, builtIn } = options
  const plainJson: Dialect = {
    ...{ name: PLAIN_JSON, parser: 'json' },
    ...{ codec: plain, allowsGet: false },
  }
  const plainOnly = new Map<string, Entry>([[PLAIN_JSON, plainJson]])
  let entries: ReadonlyMap<string, Entry> = plainOnly
  let missing = NOT_LOADED
  /** By the text of their documents. */
  let compiled = new Map<string, Entry>()

  return {
    defaultName,
    find: (name) => entries.get(name) ?? missing,
    take(stored) {
      const next = new Map<string, Entry>()
      const before = compiled
      compiled = new Map()
      const enter = (name: string, document: unknown) => {
        const text = JSON.stringify(document)
        const entry = before.get(text) ?? dialectOf(document, name, defaults)
        compiled.set(text, entry)
        if (name !== PLAIN_JSON) next.set(name, entry)
      }
      for (const [name, document] of builtIn) enter(name, document)
      for (const document of Array.isArray(stored) ? stored : []) {
        const name = nameOf(document)
        if (name !== '') enter(name, document)
      }
      entries = new Map([...next, ...plainOnly])
      missing = UNKNOWN
      return [...next].flatMap(([name, entry]) =>
        !isDialect(entry) && entry.missing === 'unusable' ? [{ name, why: entry.why }] : [],
      )
    },
  }
}

function nameOf(document: unknown): string {
  if (typeof document !== 'object' || document === null) return ''
  const { file_type: name } = document as { file_type?: unknown }
  return typeof name === 'string' ? name : ''
}

function dialectOf(document: unknown, name: string, defaults: FileTypeDefaults): Entry {
  try {
    const fileType = compileFileType(document, defaults, `file_types.${name}`)
    if (!fileType.isEnabled) return { missing: 'disabled', why: 'is disabled' }
    const { allowsGet } = fileType
    return { name, parser: fileType.parser.type, codec: codecOf(fileType), allowsGet }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { missing: 'unusable', why: `cannot be used: ${why}` }
  }
}
