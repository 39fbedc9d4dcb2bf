import { unlinkSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import { lockFolder } from '../folder-lock.ts'
import { createPrivateFolder, runDirFor } from '../run-dir.ts'
import type { Context } from './commands/command.ts'
import { Cursors } from './commands/cursors.ts'
import { dispatch } from './commands/dispatch.ts'
import { CollectionCatalog } from './store/catalog.ts'
import { Records } from './store/records.ts'
import { Storage } from './store/storage.ts'
import { WireConnection } from './wire/connection.ts'

const EXPIRY_INTERVAL_MS = 60_000
/** Maximum length of a unix socket address on the systems with the lowest limit. */
const SOCKET_PATH_BYTES_MAX = 103

export type MongoServerOptions = {
  /** Data folder, created if it does not exist. */
  readonly dataDir: string
  /**
   * Path of the unix socket, at most 103 bytes. `.sock` is appended if it is missing: the driver
   * accepts no other host as a socket.
   */
  readonly socketPath: string
  readonly log?: Logger
  readonly clock?: Clock
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
 * @throws FolderInUseError if another process has locked it, SocketPathError, StorageFormatError
 */
export async function startMongoServer(options: MongoServerOptions): Promise<MongoServer> {
  const { dataDir, log, clock = systemClock } = options
  const socketPath = options.socketPath.replace(/(\.sock)?$/, '.sock')
  if (Buffer.byteLength(socketPath) > SOCKET_PATH_BYTES_MAX) {
    throw new SocketPathError(
      `${socketPath} is too long for a socket: the limit is ${SOCKET_PATH_BYTES_MAX} bytes`,
    )
  }
  createPrivateFolder(dataDir)
  const lock = await lockFolder(runDirFor(dataDir), 'mongo')
  try {
    const store = await openStore(dataDir)
    const context = { ...store, clock, cursors: new Cursors(() => clock.nowMs()) }
    try {
      const network = await listen(context, socketPath, log)
      return {
        url: `mongodb://${encodeURIComponent(socketPath)}/`,
        async close() {
          await network.close()
          await store.storage.close()
          await lock.release()
        },
      }
    } catch (error) {
      await store.storage.close()
      throw error
    }
  } catch (error) {
    await lock.release()
    throw error
  }
}

type Store = Pick<Context, 'storage' | 'catalog' | 'records'>

async function openStore(dataDir: string): Promise<Store> {
  const storage = new Storage(dataDir, () => catalog.reload())
  const catalog = new CollectionCatalog(storage)
  try {
    await catalog.open()
  } catch (error) {
    await storage.close()
    throw error
  }
  return { storage, catalog, records: new Records(storage, catalog) }
}

async function listen(
  context: Omit<Context, 'connectionId' | 'isAbandoned'>,
  socketPath: string,
  log: Logger | undefined,
): Promise<{ close(): Promise<void> }> {
  const connections = new Set<WireConnection>()
  let lastConnectionId = 0
  const server = createServer((socket) => {
    const connectionId = ++lastConnectionId
    const isAbandoned = () => socket.destroyed
    const onFailure = (err: unknown, command: string) =>
      log?.error({ err, command }, 'command failed')
    const connection = new WireConnection(
      socket,
      (request) => dispatch({ ...context, connectionId, isAbandoned }, request, onFailure),
      (err) => log?.warn({ err, connectionId }, 'connection broken'),
    )
    connections.add(connection)
    socket.once('close', () => connections.delete(connection))
  })
  await listenOn(server, socketPath)
  const expiry = setInterval(() => context.cursors.expire(), EXPIRY_INTERVAL_MS).unref()
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
  if (await isAnswering(socketPath)) {
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

/** Whether a process listens on the socket; a stale socket of a killed process is removed. */
function isAnswering(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath, () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') unlinkSync(socketPath)
      resolve(false)
    })
  })
}
