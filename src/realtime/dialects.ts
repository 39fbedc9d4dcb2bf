/** The dialects that network elements may speak to this node, by file type. */
import type { Codec } from './codecs/codec.ts'

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
