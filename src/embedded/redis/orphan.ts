import { setTimeout as delay } from 'node:timers/promises'
import { ask, NobodyListensError } from './ask.ts'

const REPLY_MS = 2_000
const POLL_MS = 10
/** Time for a Redis without an owner to write its log to disk and end. */
const SHUTDOWN_POLLS_MAX = 1_000

/** A Redis whose owner was killed still runs, and neither ends on request nor can be killed. */
export class OrphanRedisError extends Error {
  override readonly name = 'OrphanRedisError'
}

/**
 * Ends a Redis that outlived its owner on that socket, with its log written to disk. Call it only
 * with the owner's lock in hand. Gives whether there was one.
 * @throws OrphanRedisError if it does not end
 */
export async function stopOrphan(socketPath: string): Promise<boolean> {
  const info = await replyOf(socketPath, ['INFO', 'server'])
  if (info === 'nobody') return false
  const pid = /process_id:(\d+)/.exec(info)?.[1]
  await replyOf(socketPath, ['SHUTDOWN', 'NOSAVE'])
  if (await becomesSilent(socketPath)) return true
  if (pid !== undefined) {
    process.kill(Number(pid), 'SIGKILL')
    if (await becomesSilent(socketPath)) return true
  }
  throw new OrphanRedisError(
    `a redis-server left by an earlier run holds ${socketPath} and does not end` +
      (pid === undefined ? '' : ` (process ${pid})`),
  )
}

/** Redis closes its sockets last, after its log is on the disk. */
async function becomesSilent(socketPath: string): Promise<boolean> {
  for (let poll = 0; poll < SHUTDOWN_POLLS_MAX; poll++) {
    const reply = await replyOf(socketPath, ['PING'])
    if (reply === 'nobody') return true
    if (reply === 'no answer') return false
    await delay(POLL_MS)
  }
  return false
}

async function replyOf(socketPath: string, command: string[]): Promise<string> {
  try {
    return await ask(socketPath, command, REPLY_MS)
  } catch (error) {
    return error instanceof NobodyListensError ? 'nobody' : 'no answer'
  }
}
