/** Tracks pending answers on the connections of a Node HTTP server. */
import type { Duplex } from 'node:stream'

interface Request {
  readonly complete: boolean
  readonly socket: object
}

interface Response {
  readonly headersSent: boolean
  on(event: 'close', listener: () => void): unknown
}

interface TrackedServer {
  on(event: 'request', listener: (request: Request, response: Response) => void): unknown
}

/**
 * Returns a test whether a parser error may be answered on its connection. If an earlier request
 * still waits for its answer, or an answer has begun, the client would take the error for that
 * answer or a part of it.
 */
export function trackPendingAnswers(server: TrackedServer): (socket: Duplex) => boolean {
  const due = new WeakMap<object, Map<Response, Request>>()
  server.on('request', (request, response) => {
    const open = due.get(request.socket) ?? new Map<Response, Request>()
    due.set(request.socket, open.set(response, request))
    response.on('close', () => open.delete(response))
  })
  return (socket) => {
    const open = [...(due.get(socket) ?? [])]
    if (!socket.writable || open.length > 1) return false
    // A completely received request is an earlier one; otherwise it is the request that failed.
    return open.every(([response, request]) => !request.complete && !response.headersSent)
  }
}
