/** What HTTP demands of the head of a request, the same for all servers (RFC 9112). */

/** How many of these headers there were, and the last value of each; '' if absent. */
export interface Framing {
  readonly lengths: number
  readonly length: string
  readonly encodings: number
  readonly encoding: string
  readonly hosts: number
  /** Of HTTP/1.0, which has neither chunks nor a mandatory host. */
  readonly isOld: boolean
}

export interface FramingError {
  readonly status: 400 | 411
  readonly field: string
  readonly why: string
}

/**
 * Why a request is refused together with its connection; null if it is not. Two readings of one
 * request are how a second one is smuggled past a proxy (RFC 9112, 6.1, 6.3 and 11.2), so that what
 * is merely doubtful is refused too.
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

/** The rule of RFC 9112, 3.2: one host, which only HTTP/1.0 may leave out. */
function hostError({ hosts, isOld }: Framing, host: string): FramingError | null {
  if (hosts > 1) return bad('host', 'must be given once')
  if (hosts === 0) return isOld ? null : bad('host', 'is required')
  return isHostHeader(host) ? null : bad('host', 'must be a name or address, and a port')
}

/** Whether it is one name or address, with a port or without; it may be empty. */
export function isHostHeader(host: string): boolean {
  return HOST.test(host)
}

/** For a server that does not read chunks: the body must have a length. */
export const NEEDS_LENGTH: FramingError = {
  status: 411,
  field: 'content-length',
  why: 'is required: transfer-encoding is not supported',
}

/** The framing of headers as Node lists them: names and values in turn. */
export function framingOf(rawHeaders: readonly string[], httpVersion: string): Framing {
  const found = { lengths: 0, length: '', encodings: 0, encoding: '', hosts: 0 }
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    // The lengths of the three names; most others are not compared.
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
/** `uri-host [":" port]` (RFC 3986, 3.2.2), without the comma, which joins two of them. */
const HOST = /^(?:\[[\dA-Fa-f:.]+\]|[\w.~!$&'()*+;=%-]*)(?::\d{0,5})?$/

function bad(field: string, why: string): FramingError {
  return { status: 400, field, why }
}
