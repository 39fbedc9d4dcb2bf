/** The dialects that network elements may speak to this node, by file type. */
import { PLAIN_JSON } from '../file-types/built-in.ts'
import type { FileTypeDefaults } from '../file-types/file-type.ts'
import { type InstalledFileType, installedFileTypes } from '../file-types/installed.ts'
import type { Codec } from './codecs/codec.ts'
import { codecOf } from './codecs/codec-of.ts'
import {
  createWireCodec,
  type WireCodec,
  type WireIdentity,
} from './codecs/diameter-wire/wire-codec.ts'

export interface MessageFormat {
  /** Of its file type. */
  readonly name: string
  readonly parser: 'json' | 'xml' | 'key_value' | 'diameter'
  readonly codec: Codec<unknown>
  /** Whether requests may come by GET. */
  readonly allowsGet: boolean
  /** Of Diameter's own bytes; null for other parsers. */
  readonly wire: WireCodec | null
}

/** Why a name has no dialect; `notLoaded`: the stored configuration was never read. */
export interface MissingMessageFormat {
  readonly missing: 'unknown' | 'disabled' | 'unusable' | 'notLoaded'
  readonly why: string
}

export interface MessageFormats {
  /** What requests without a name speak. */
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
  /** The plain JSON dialect. */
  readonly plain: Codec<unknown>
  readonly defaults: FileTypeDefaults
  /** Who the node is to Diameter peers. */
  readonly identity: WireIdentity
}

/** A file type that cannot be used, and why. */
export interface UnusableFileType {
  readonly name: string
  readonly why: string
}

export interface ReloadableMessageFormats extends MessageFormats {
  /** Takes over the stored file types, all of them. */
  replace(stored: unknown): readonly UnusableFileType[]
}

const UNKNOWN: MissingMessageFormat = { missing: 'unknown', why: 'is unknown' }
const NOT_LOADED: MissingMessageFormat = {
  missing: 'notLoaded',
  why: 'is not known: the stored file types were not read yet',
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
  if (!fileType.isEnabled) return { missing: 'disabled', why: 'is disabled' }
  const { parser, allowsGet } = fileType
  const wire = parser.type === 'diameter' ? createWireCodec(fileType, identity) : null
  return { name, parser: parser.type, codec: codecOf(fileType), allowsGet, wire }
}
