import { createServer, type Server } from 'node:net'
import type { Services } from './commands/command.ts'
import { Cursors } from './commands/cursors.ts'
import { dispatch } from './commands/dispatch.ts'
import { Turns } from './commands/turns.ts'
import {
  createDataFolder,
  lockDataFolder,
  removeStale,
  SOCKET_PATH_BYTES_MAX,
} from './data-folder.ts'
import type { Clock, FolderLock, Log } from './interfaces.ts'
import { Connection, closeConnection } from './sessions/clients.ts'
import { Sessions } from './sessions/sessions.ts'
import { openStore, type Store } from './store/open.ts'
import { WireConnection } from './wire/connection.ts'

const EXPIRY_INTERVAL_MS = 60_000
const SYSTEM_CLOCK: Clock = { nowMs: () => Date.now() }

export type MongoServerOptions = {
  /** Data folder, created if it does not exist. */
  readonly dataDir: string
  /**
   * Path of the unix socket, at most 103 bytes. `.sock` is appended if it is missing: the driver
   * accepts no other host as a socket.
   */
  readonly socketPath: string
  readonly log?: Log
  /** Default: the system clock. */
  readonly clock?: Clock
  /** Default: a socket in the data folder. */
  readonly lock?: FolderLock
  /** Time limit of transactions, default 60; `setParameter` changes it at run time. */
  readonly transactionLifetimeLimitSeconds?: number
}

export type MongoServer = {
  /** Connection string for the official driver. */
  readonly url: string
  /** Answers the received requests, writes them to disk, and unlocks the folder. */
  close(): Promise<void>
}

/** The socket path cannot be used; the message contains the reason. */
export class SocketPathError extends Error {
  override readonly name = 'SocketPathError'
}

/**
 * Starts the embedded server of a data folder, which it locks.
 * @throws DataFolderInUseError (or that of `lock`) if another process has locked it,
 *   SocketPathError, StorageFormatError
 */
export async function startMongoServer(options: MongoServerOptions): Promise<MongoServer> {
  const { dataDir, log, lock = lockDataFolder } = options
  const socketPath = options.socketPath.replace(/(\.sock)?$/, '.sock')
  if (Buffer.byteLength(socketPath) > SOCKET_PATH_BYTES_MAX) {
    throw new SocketPathError(
      `${socketPath} is too long for a socket: the limit is ${SOCKET_PATH_BYTES_MAX} bytes`,
    )
  }
  createDataFolder(dataDir)
  const locked = await lock(dataDir)
  try {
    const store = await openStore(dataDir)
    const services = servicesOf(store, options, socketPath)
    try {
      await services.sessions.expire()
      const network = await listen(services, socketPath, log)
      return {
        // The driver would compare a socket path in lower case with the path that it knows.
        url: `mongodb://${encodeURIComponent(socketPath)}/?directConnection=true`,
        async close() {
          services.sessions.close()
          await network.close()
          await store.storage.close()
          await locked.release()
        },
      }
    } catch (error) {
      await store.storage.close()
      throw error
    }
  } catch (error) {
    await locked.release()
    throw error
  }
}

function servicesOf(
  store: Store,
  { clock = SYSTEM_CLOCK, transactionLifetimeLimitSeconds }: MongoServerOptions,
  address: string,
): Services {
  const { catalog, records, schema } = store
  const nowMs = () => clock.nowMs()
  const sessions = new Sessions(store, nowMs, transactionLifetimeLimitSeconds)
  const turns = new Turns()
  const cursors = new Cursors(nowMs, turns)
  return { schema, catalog, records, cursors, turns, sessions, clock, address }
}

async function listen(
  services: Services,
  socketPath: string,
  log: Log | undefined,
): Promise<{ close(): Promise<void> }> {
  const connections = new Set<WireConnection>()
  let lastConnectionId = 0
  const server = createServer((socket) => {
    const origin = new Connection(++lastConnectionId)
    const isAbandoned = () => socket.destroyed
    const onFailure = (err: unknown, command: string) =>
      log?.error({ err, command }, 'command failed')
    const connection = new WireConnection(
      socket,
      (request) => dispatch({ ...services, connection: origin, isAbandoned }, request, onFailure),
      (err) => log?.warn({ err, connectionId: origin.id }, 'connection broken'),
    )
    connections.add(connection)
    socket.once('close', () => {
      connections.delete(connection)
      closeConnection(origin, (client) => services.sessions.abortOf(client))
    })
  })
  await listenOn(server, socketPath)
  const expiry = setInterval(() => {
    services.cursors.expire()
    services.sessions.expire().catch((err) => log?.error({ err }, 'sessions cannot expire'))
  }, EXPIRY_INTERVAL_MS).unref()
  return {
    async close() {
      clearInterval(expiry)
      const closed = new Promise((resolve) => server.close(resolve))
      await Promise.all([...connections].map((connection) => connection.close()))
      await closed
    },
  }
}

async function listenOn(server: Server, socketPath: string): Promise<void> {
  if (!(await removeStale(socketPath))) {
    throw new SocketPathError(`another process listens on ${socketPath}`)
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socketPath, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
