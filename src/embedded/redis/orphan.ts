/** A redis-server that an earlier owner has left running: it was killed, or could not end it. */
import { NobodyListensError, sendCommand } from './send-command.ts'

const REPLY_MS = 2_000

/** A Redis of an earlier run has the data folder open, and cannot be taken over. */
export class OrphanRedisError extends Error {
  override readonly name = 'OrphanRedisError'
}

export interface OrphanRedis {
  readonly pid: number
  readonly version: string
}

/**
 * Who answers on the socket; null: nobody listens. Call it only with the owner's lock in hand.
 * @throws OrphanRedisError if somebody listens there and does not answer
 */
export async function findOrphan(socketPath: string): Promise<OrphanRedis | null> {
  let info: string
  try {
    info = await sendCommand(socketPath, ['INFO', 'server'], REPLY_MS)
  } catch (error) {
    if (error instanceof NobodyListensError) return null
    info = ''
  }
  const pid = Number(/^process_id:(\d+)/m.exec(info)?.[1])
  const version = /^redis_version:(\S+)/m.exec(info)?.[1] ?? ''
  if (Number.isInteger(pid)) return { pid, version }
  throw new OrphanRedisError(
    `a redis-server of an earlier run holds ${socketPath} and does not answer: ` +
      'see what keeps it, or end it, and start again',
  )
}
