/** Values of a request that its answer repeats, even if the request cannot be decoded. */
import { uint24At, uint32At } from './bytes.ts'
import { type Header, padded, readHeader, type WireAvp } from './message.ts'
import { avpCode, avpFlags, HEADER_BYTES } from './protocol.ts'

/** All values are copies. */
export interface RequestTrace {
  readonly header: Header
  readonly sessionId: WireAvp | null
  readonly requestType: WireAvp | null
  readonly requestNumber: WireAvp | null
  /** `Proxy-Info` AVPs unchanged. */
  readonly proxies: readonly WireAvp[]
}

/** Reads any bytes that have a header, up to the first invalid AVP. */
export function traceOf(bytes: Buffer): RequestTrace {
  let sessionId: WireAvp | null = null
  let requestType: WireAvp | null = null
  let requestNumber: WireAvp | null = null
  const proxies: WireAvp[] = []
  let at = HEADER_BYTES
  while (at + 8 <= bytes.length) {
    const length = uint24At(bytes, at + 5)
    const flags = bytes[at + 4] as number
    const head = (flags & avpFlags.vendor) !== 0 ? 12 : 8
    if (length < head || at + length > bytes.length) break
    if (head === 8) {
      const code = uint32At(bytes, at)
      const data = bytes.subarray(at + head, at + length)
      const copy = (): WireAvp => ({ code, vendor: 0, flags, data: Buffer.from(data) })
      if (code === avpCode.sessionId) sessionId ??= copy()
      else if (code === avpCode.ccRequestType && data.length === 4) requestType ??= copy()
      else if (code === avpCode.ccRequestNumber && data.length === 4) requestNumber ??= copy()
      else if (code === avpCode.proxyInfo) proxies.push(copy())
    }
    at += padded(length)
  }
  return { header: readHeader(bytes), sessionId, requestType, requestNumber, proxies }
}

/** The trace of a message of which only the header is known. */
export function headerTrace(header: Header): RequestTrace {
  return { header, sessionId: null, requestType: null, requestNumber: null, proxies: [] }
}
