import { parseArgs } from 'node:util'
import { createLogger } from '../../runtime/log.ts'
import { type MongoServer, startMongoServer } from './server.ts'

/**
 * Process of the embedded MongoDB server: `--data DIR --socket PATH`, started by a supervisor or by
 * hand.
 */
const log = createLogger({ name: 'mongo', level: 'info' })
const { values } = parseArgs({
  options: { data: { type: 'string' }, socket: { type: 'string' } },
})

// Ctrl-C signals the whole process group; the supervisor decides the order of stopping.
process.on('SIGINT', () => {})

try {
  const { data, socket } = values
  if (!data || !socket) throw new Error('--data DIR and --socket PATH are required')
  const server = await startMongoServer({ dataDir: data, socketPath: socket, log })
  stopWith(server)
  process.send?.({ type: 'ready', url: server.url })
  log.info({ url: server.url }, 'ready')
} catch (err) {
  log.fatal({ err }, 'cannot start')
  process.exitCode = 1
  process.disconnect?.()
}

/** Stops on SIGTERM, and when the parent process has ended. */
function stopWith(server: MongoServer): void {
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
  process.on('disconnect', () => stop('parent process ended'))
}
