/** Credit-control messages in Diameter's own bytes, mapped by a file type of parser `diameter`. */
import type { FileType } from '../../../catalog/file-types/file-type.ts'
import type { MessageCodec } from '../codec.ts'

/** Who the node is. */
export interface WireIdentity {
  readonly originHost: string
  readonly originRealm: string
}

/** Takes whole messages with command 272 and the request bit; gives whole answers. */
export type WireCodec = MessageCodec<unknown, Buffer>

export function createWireCodec(_fileType: FileType, _identity: WireIdentity): WireCodec {
  const error = () => Buffer.alloc(0)
  return {
    decode: () => ({ ok: false, error: { field: 'body', why: 'cannot be read yet' } }),
    encode: error,
    encodeError: error,
  }
}
