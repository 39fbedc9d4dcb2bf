/**
 * An orphan: a redis-server that an earlier owner has left running, because the owner was killed or
 * could not stop it.
 */
import { NobodyListensError, sendCommand } from './send-command.ts'

const REPLY_MS = 2_000

/** A Redis of an earlier run has the data folder open and cannot be adopted. */
export class OrphanRedisError extends Error {
  override readonly name = 'OrphanRedisError'
}

export interface OrphanRedis {
  readonly pid: number
  readonly version: string
}

/**
 * The Redis that answers on the socket; null if no process listens. The caller must hold the lock
 * of the folder.
 * @throws OrphanRedisError if a process listens there and does not answer
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
      'find out why or stop it, then start again',
  )
}
