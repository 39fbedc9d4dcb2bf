/** Message formats that network elements may use, by file type. */
import { PLAIN_JSON } from '../file-types/built-in.ts'
import type { FileTypeDefaults } from '../file-types/file-type.ts'
import { type InstalledFileType, installedFileTypes } from '../file-types/installed.ts'
import type { Codec } from './codecs/codec.ts'
import { codecOf } from './codecs/codec-of.ts'
import type { WireIdentity } from './codecs/diameter-wire/protocol.ts'
import { createWireCodec, type WireCodec } from './codecs/diameter-wire/wire-codec.ts'

export interface MessageFormat {
  /** Name of its file type. */
  readonly name: string
  readonly parser: 'json' | 'xml' | 'key_value' | 'diameter'
  readonly codec: Codec<unknown>
  /** Whether requests by GET are accepted. */
  readonly allowsGet: boolean
  /** Codec of binary Diameter; null for other parsers. */
  readonly wire: WireCodec | null
}

/**
 * Why there is no message format of this name; `notLoaded`: the stored configuration has not been
 * read yet.
 */
export interface MissingMessageFormat {
  readonly missing: 'unknown' | 'disabled' | 'unusable' | 'notLoaded'
  readonly why: string
}

export interface MessageFormats {
  /** Format of requests that name none. */
  readonly defaultName: string
  find(name: string): MessageFormat | MissingMessageFormat
}

export function isMessageFormat(
  found: MessageFormat | MissingMessageFormat,
): found is MessageFormat {
  return !('missing' in found)
}

export interface MessageFormatsOptions {
  readonly defaultName: string
  /** Codec of the plain JSON format. */
  readonly plain: Codec<unknown>
  readonly defaults: FileTypeDefaults
  /** Identity of the node towards Diameter peers. */
  readonly identity: WireIdentity
}

/** A file type that cannot be used, and the reason. */
export interface UnusableFileType {
  readonly name: string
  readonly why: string
}

export interface ReloadableMessageFormats extends MessageFormats {
  /** Replaces all stored file types. */
  replace(stored: unknown): readonly UnusableFileType[]
}

const UNKNOWN: MissingMessageFormat = { missing: 'unknown', why: 'is unknown' }
const NOT_LOADED: MissingMessageFormat = {
  missing: 'notLoaded',
  why: 'is not known: the stored file types have not been read yet',
}

export function createMessageFormats(options: MessageFormatsOptions): ReloadableMessageFormats {
  const { defaultName, plain: codec, defaults, identity } = options
  const plain: MessageFormat = {
    name: PLAIN_JSON,
    parser: 'json',
    codec,
    allowsGet: false,
    wire: null,
  }
  let entries: ReadonlyMap<string, MessageFormat | MissingMessageFormat> = new Map([
    [PLAIN_JSON, plain],
  ])
  let missing = NOT_LOADED

  return {
    defaultName,
    find: (name) => entries.get(name) ?? missing,
    replace(stored) {
      const installed = installedFileTypes(stored, defaults)
      const next = new Map(installed.map((one) => [one.name, messageFormatOf(one, identity)]))
      entries = next.set(PLAIN_JSON, plain)
      missing = UNKNOWN
      return installed.flatMap(({ name, problem }) =>
        problem === null ? [] : [{ name, why: `${problem.path} ${problem.reason}` }],
      )
    },
  }
}

function messageFormatOf(
  { name, fileType, problem }: InstalledFileType,
  identity: WireIdentity,
): MessageFormat | MissingMessageFormat {
  if (fileType === null) {
    return { missing: 'unusable', why: `cannot be used: ${problem?.path} ${problem?.reason}` }
  }
  if (fileType.type === 'usage') return UNKNOWN
  if (!fileType.isEnabled) return { missing: 'disabled', why: 'is disabled' }
  const { parser, allowsGet } = fileType
  const wire = parser.type === 'diameter' ? createWireCodec(fileType, identity) : null
  return { name, parser: parser.type, codec: codecOf(fileType), allowsGet, wire }
}
