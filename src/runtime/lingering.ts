/** Closes connections of Node HTTP servers whose client may still be sending. */
import type { Duplex } from 'node:stream'

/** Limits of what is read and discarded so that a client can read the answer. */
export const LINGER_BYTES_MAX = 64 * 1024 * 1024
export const LINGER_MS_MAX = 10_000

/** A TCP or TLS socket. */
type Socket = Duplex & { destroySoon(): void }

interface Request {
  readonly complete: boolean
  readonly socket: object
}

interface TrackedServer {
  on(event: 'request', listener: (request: Request) => void): unknown
}

/**
 * Ensures that a client can read an answer that closes the connection before the request was read:
 * closing a socket with unread bytes resets it, and the answer may be lost (RFC 9112, 9.6). Must be
 * called before other request listeners are added.
 */
export function lingerAfterAnswers(server: TrackedServer): void {
  const latest = new WeakMap<object, Request>()
  server.on('request', (request) => {
    const socket = request.socket as Socket
    const isNew = !latest.has(socket)
    latest.set(socket, request)
    if (!isNew) return
    const closeNow = socket.destroySoon
    // Called by Node after an answer with `Connection: close`.
    socket.destroySoon = () => {
      if (latest.get(socket)?.complete === false) lingerAndClose(socket)
      else closeNow.call(socket)
    }
  })
}

/**
 * Half-closes the connection, and closes it when the client has ended its side or a limit of time
 * or size is reached. Bytes that arrive meanwhile reach no parser.
 */
export function lingerAndClose(socket: Duplex): void {
  if (socket.destroyed) return
  let sizeBytes = 0
  const discard = (bytes: Buffer) => {
    sizeBytes += bytes.length
    if (sizeBytes > LINGER_BYTES_MAX) socket.destroy()
  }
  // Adding a listener detaches Node's parser from the handle; the parser then listens itself and is
  // removed here.
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
  // A handle that Node has paused because a body was not read does not resume automatically.
  socket._read(0)
}
