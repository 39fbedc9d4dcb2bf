/**
 * `tollgate stop`: stops the processes of a data folder, and a Redis that an earlier stop left
 * running.
 */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config/schema.ts'
import { ownerOf } from '../embedded/folder-lock.ts'
import { adoptRedis } from '../embedded/redis.ts'
import { runDirFor } from '../embedded/run-dir.ts'
import { monotonicMs } from '../runtime/clock.ts'
import { createLogger } from '../runtime/log.ts'
import { CommandError } from './errors.ts'
import type { OptionValues } from './options.ts'
import { type RedisContext, redisLeftError, redisOptions } from './redis-left.ts'
import type { Shell } from './shell.ts'
import { readUnwritten, unwrittenText } from './unwritten.ts'

const POLL_MS = 50
/** Added to the configured time-outs for the work before and after the shutdown steps. */
const MARGIN_MS = 5_000

/**
 * Resolves with 0 when no process uses the data folder. Throws `CommandError`; with
 * `RedisLeftError` only Redis is still running.
 */
export async function stop(shell: Shell, options: OptionValues): Promise<0> {
  const config = shell.config()
  const dataDir = resolve(config.data.dir)
  if (!existsSync(dataDir)) return nothingRuns(shell, config)
  const runDir = runDirFor(dataDir)
  const pid = await ownerOf(runDir, 'supervisor')
  if (pid !== undefined) await endSupervisor(config, runDir, pid)
  const stopTimeoutMs = config.shutdown.timeoutMs
  const log = createLogger({ name: 'stop', level: 'silent' })
  const context = { config, dataDir, runDir, log, stopTimeoutMs }
  const isEnded = await endRedis(shell, context, options['force'] === true)
  if (pid === undefined && !isEnded) return nothingRuns(shell, config)
  shell.print('tollgate has stopped')
  return 0
}

function nothingRuns(shell: Shell, { data }: Config): 0 {
  shell.print(`tollgate is not running in ${data.dir}`)
  return 0
}

async function endSupervisor({ shutdown }: Config, runDir: string, pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGTERM')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ESRCH') throw new CommandError(`process ${pid} cannot be signalled (${code})`)
  }
  const untilMs = monotonicMs() + shutdown.timeoutMs + shutdown.writeTimeoutMs + MARGIN_MS
  while ((await ownerOf(runDir, 'supervisor')) === pid) {
    if (monotonicMs() > untilMs) throw new CommandError(`tollgate (process ${pid}) does not stop`)
    await delay(POLL_MS)
  }
}

/** Returns whether a Redis had been left running; it has exited now. */
async function endRedis(shell: Shell, context: RedisContext, force: boolean): Promise<boolean> {
  const { config, dataDir } = context
  if (config.redis.url !== 'embedded') return false
  const options = redisOptions(context)
  const redis = await adoptRedis(options)
  if (redis === null) return false
  const commits = force ? await readUnwritten(config, redis.url, options.dataDir) : null
  const unwritten = await redis.close({ force })
  if (unwritten !== null) throw await redisLeftError({ config, dataDir }, redis, unwritten)
  if (force)
    shell.print(`redis-server (process ${redis.pid}) was ended. ${unwrittenText(commits, null)}`)
  return true
}
