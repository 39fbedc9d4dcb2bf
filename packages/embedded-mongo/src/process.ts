import { parseArgs } from 'node:util'
import type { Clock, FolderLock, Log } from './interfaces.ts'
import { type MongoServer, startMongoServer } from './server.ts'

export type ProcessOptions = {
  readonly log: Log
  readonly clock?: Clock
  readonly lock?: FolderLock
}

/**
 * Runs a server as the only task of this process, with the arguments `--data DIR --socket PATH` and
 * optionally `--transaction-seconds N`. It stops on SIGTERM, and when the process that has forked
 * it ends; that one receives `{ type: 'ready', url }`.
 */
export async function runMongoProcess({ log, clock, lock }: ProcessOptions): Promise<void> {
  // Ctrl-C signals the whole process group; the supervisor decides the order of stopping.
  if (process.send) process.on('SIGINT', () => {})
  try {
    const { data, socket, seconds } = readArguments()
    const server = await startMongoServer({
      dataDir: data,
      socketPath: socket,
      log,
      ...(clock ? { clock } : {}),
      ...(lock ? { lock } : {}),
      ...(seconds === undefined ? {} : { transactionLifetimeLimitSeconds: seconds }),
    })
    stopWith(server, log)
    process.send?.({ type: 'ready', url: server.url })
    log.info({ url: server.url }, 'ready')
  } catch (err) {
    log.fatal({ err }, 'cannot start')
    process.exitCode = 1
    process.disconnect?.()
  }
}

type Arguments = {
  readonly data: string
  readonly socket: string
  readonly seconds: number | undefined
}

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      socket: { type: 'string' },
      'transaction-seconds': { type: 'string' },
    },
  })
  const { data, socket, 'transaction-seconds': text } = values
  if (!data || !socket) throw new Error('--data DIR and --socket PATH are required')
  const seconds = text === undefined ? undefined : Number(text)
  if (seconds !== undefined && !(seconds >= 1)) {
    throw new Error('--transaction-seconds must be a number of at least 1')
  }
  return { data, socket, seconds }
}

function stopWith(server: MongoServer, log: Log): void {
  let stopping = false
  const stop = async (why: string) => {
    if (stopping) return
    stopping = true
    try {
      await server.close()
      log.info({ why }, 'stopped')
      process.exit(0)
    } catch (err) {
      log.fatal({ err }, 'failed to stop')
      process.exit(1)
    }
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  if (process.send) process.on('disconnect', () => stop('parent process ended'))
  else process.on('SIGINT', () => stop('SIGINT'))
}
