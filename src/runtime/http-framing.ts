/** Validates the head of an HTTP request in the same way for all servers (RFC 9112). */

/** Number of these headers, and the last value of each; empty if absent. */
export interface Framing {
  readonly lengths: number
  readonly length: string
  readonly encodings: number
  readonly encoding: string
  readonly hosts: number
  /** True for HTTP/1.0, which has neither chunks nor a mandatory host. */
  readonly isOld: boolean
}

export interface FramingError {
  readonly status: 400 | 411
  readonly field: string
  readonly why: string
}

/**
 * Why a request is refused and its connection closed; null if it is valid. An ambiguous request may
 * be used to smuggle a second one past a proxy (RFC 9112, 6.1, 6.3 and 11.2), so doubtful requests
 * are refused too.
 */
export function framingError(framing: Framing, host: string): FramingError | null {
  const { lengths, length, encodings, encoding, isOld } = framing
  if (lengths > 1) return bad('content-length', 'must be given once')
  if (lengths === 1 && !LENGTH.test(length)) return bad('content-length', 'must be a number')
  if (encodings > 0) {
    if (lengths > 0) return bad('content-length', 'must not be given with transfer-encoding')
    if (encodings > 1 || encoding.toLowerCase() !== 'chunked') {
      return bad('transfer-encoding', 'must be chunked')
    }
    if (isOld) return bad('transfer-encoding', 'must not be given in HTTP/1.0')
  }
  return hostError(framing, host)
}

/** RFC 9112, 3.2: exactly one host, which only HTTP/1.0 may omit. */
function hostError({ hosts, isOld }: Framing, host: string): FramingError | null {
  if (hosts > 1) return bad('host', 'must be given once')
  if (hosts === 0) return isOld ? null : bad('host', 'is required')
  return isHostHeader(host) ? null : bad('host', 'must be a name or address, and a port')
}

/** Whether it is one name or address with an optional port; it may be empty. */
export function isHostHeader(host: string): boolean {
  return HOST.test(host)
}

/** For a server without support of chunks: the body must have a length. */
export const NEEDS_LENGTH: FramingError = {
  status: 411,
  field: 'content-length',
  why: 'is required: transfer-encoding is not supported',
}

/** The framing headers, from Node's list of alternating names and values. */
export function framingOf(rawHeaders: readonly string[], httpVersion: string): Framing {
  const found = { lengths: 0, length: '', encodings: 0, encoding: '', hosts: 0 }
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    // Lengths of the three names; skips most other headers cheaply.
    if (name.length !== 4 && name.length !== 14 && name.length !== 17) continue
    const value = rawHeaders[index + 1] as string
    const lower = name.toLowerCase()
    if (lower === 'host') found.hosts += 1
    else if (lower === 'content-length') {
      found.lengths += 1
      found.length = value
    } else if (lower === 'transfer-encoding') {
      found.encodings += 1
      found.encoding = value
    }
  }
  return { ...found, isOld: httpVersion === '1.0' }
}

const LENGTH = /^\d{1,15}$/
/** `uri-host [":" port]` (RFC 3986, 3.2.2), without the comma that joins repeated headers. */
const HOST = /^(?:\[[\dA-Fa-f:.]+\]|[\w.~!$&'()*+;=%-]*)(?::\d{0,5})?$/

function bad(field: string, why: string): FramingError {
  return { status: 400, field, why }
}
