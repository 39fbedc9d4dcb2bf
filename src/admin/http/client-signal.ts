/** Ends the reads of clients that have disconnected. */
import type { FastifyReply } from 'fastify'

/** Aborted when the client disconnects before the response is complete. */
export function clientSignal({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort()
  })
  return controller.signal
}
