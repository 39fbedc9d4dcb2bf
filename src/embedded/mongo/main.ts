import { parseArgs } from 'node:util'
import { createLogger } from '../../runtime/log.ts'
import { type MongoServer, startMongoServer } from './server.ts'

/** Process of the embedded MongoDB: `--data DIR --socket PATH`, under a supervisor or by hand. */
const log = createLogger({ name: 'mongo', level: 'info' })
const { values } = parseArgs({
  options: { data: { type: 'string' }, socket: { type: 'string' } },
})

// Ctrl-C reaches the whole process group; the supervisor decides who stops when.
process.on('SIGINT', () => {})

try {
  const { data, socket } = values
  if (!data || !socket) throw new Error('--data DIR and --socket PATH are needed')
  const server = await startMongoServer({ dataDir: data, socketPath: socket, log })
  stopWith(server)
  process.send?.({ type: 'ready', url: server.url })
  log.info({ url: server.url }, 'ready')
} catch (err) {
  log.fatal({ err }, 'cannot start')
  process.exitCode = 1
  process.disconnect?.()
}

/** Ends with SIGTERM, and with the process that has started this one. */
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
      log.fatal({ err }, 'stopped badly')
      process.exit(1)
    }
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('disconnect', () => stop('parent gone'))
}
