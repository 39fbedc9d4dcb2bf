import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, realpathSync, statSync, unlinkSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { FolderLock } from './interfaces.ts'

/** Maximum length of a unix socket address on the systems with the lowest limit. */
export const SOCKET_PATH_BYTES_MAX = 103
const OWN_MODE = 0o700
const OTHERS_MODE = 0o077

/** Another running server, or this process, uses the data folder. */
export class DataFolderInUseError extends Error {
  override readonly name = 'DataFolderInUseError'
}

/**
 * Creates the data folder, accessible to this user only. The permissions of a folder that belongs
 * to another user are not changed.
 */
export function createDataFolder(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: OWN_MODE })
  const { uid, mode } = statSync(dir)
  if (uid === userInfo().uid && (mode & OTHERS_MODE) !== 0) chmodSync(dir, OWN_MODE)
}

/**
 * Locks a folder by a listening unix socket, which the kernel closes when the process ends. If two
 * processes find a stale socket at the same moment, both may start: then the store recognises the
 * later one, and the other writes nothing any more.
 * @throws DataFolderInUseError
 */
export const lockDataFolder: FolderLock = async (dataDir) => {
  const path = lockPathOf(dataDir)
  const server =
    (await listenAt(path)) ?? ((await removeStale(path)) ? await listenAt(path) : undefined)
  if (!server) {
    throw new DataFolderInUseError(`${dataDir} is used by a running server: stop it first`)
  }
  return { release: () => new Promise((resolve) => server.close(() => resolve())) }
}

/** In the data folder, or in the temporary folder if that path is too long. */
function lockPathOf(dataDir: string): string {
  const real = realpathSync(dataDir)
  const near = join(real, 'lock.sock')
  if (Buffer.byteLength(near) <= SOCKET_PATH_BYTES_MAX) return near
  const hash = createHash('sha256').update(real).digest('hex').slice(0, 16)
  return join(realpathSync(tmpdir()), `embedded-mongo-${userInfo().uid}-${hash}.sock`)
}

/** Returns undefined if the path is taken. */
function listenAt(path: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined)
      else reject(error)
    })
    // Does not keep the process running.
    server.listen(path, () => resolve(server.unref()))
  })
}

/** Removes the socket of a killed process; returns whether there is room for another one. */
export function removeStale(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') unlinkSync(path)
      resolve(true)
    })
  })
}
