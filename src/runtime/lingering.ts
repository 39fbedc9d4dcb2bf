/** The end of connections of Node's HTTP servers whose client may still be sending. */
import type { Duplex } from 'node:stream'

/** What is read and thrown away, at most, so that a client can read the answer. */
export const LINGER_BYTES_MAX = 64 * 1024 * 1024
export const LINGER_MS_MAX = 10_000

/** A socket of TCP or TLS. */
type Socket = Duplex & { destroySoon(): void }

interface Request {
  readonly complete: boolean
  readonly socket: object
}

interface TrackedServer {
  on(event: 'request', listener: (request: Request) => void): unknown
}

/**
 * Sees to it that an answer that ends its connection before its request was read can be read by
 * the client: a socket that is closed with bytes in it is reset, and the answer may be lost with
 * it (RFC 9112, 9.6). Must be called before other listeners of requests are added.
 */
export function lingerAfterAnswers(server: TrackedServer): void {
  const latest = new WeakMap<object, Request>()
  server.on('request', (request) => {
    const socket = request.socket as Socket
    const isNew = !latest.has(socket)
    latest.set(socket, request)
    if (!isNew) return
    const closeNow = socket.destroySoon
    // Node calls it after an answer with `Connection: close`.
    socket.destroySoon = () => {
      if (latest.get(socket)?.complete === false) lingerAndClose(socket)
      else closeNow.call(socket)
    }
  })
}

/**
 * Ends what is sent, and closes the connection when the client has ended its side too, within
 * bounds of time and size. What arrives meanwhile reaches no parser.
 */
export function lingerAndClose(socket: Duplex): void {
  if (socket.destroyed) return
  let sizeBytes = 0
  const discard = (bytes: Buffer) => {
    sizeBytes += bytes.length
    if (sizeBytes > LINGER_BYTES_MAX) socket.destroy()
  }
  // Node takes the bytes away from its parser when somebody else listens; then it listens itself.
  socket.on('data', discard)
  for (const listener of socket.listeners('data')) {
    if (listener !== discard) socket.off('data', listener as () => void)
  }
  const timer = setTimeout(() => socket.destroy(), LINGER_MS_MAX)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
  socket.once('end', () => socket.destroy())
  socket.end()
  socket.resume()
  // A handle that Node's HTTP has stopped, because a body was not read, does not start by itself.
  socket._read(0)
}
