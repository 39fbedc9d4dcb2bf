/** Which answers are due on the connections of one of Node's HTTP servers. */
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
 * Tells whether an error of the parser may be answered on its connection. Where an answer is due to
 * a request before, or has begun, the error would be taken for that answer, or a part of it.
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
    // A request that is there whole is an earlier one; else it is the one that failed.
    return open.every(([response, request]) => !request.complete && !response.headersSent)
  }
}
