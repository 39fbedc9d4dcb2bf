import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { FOLDER_MODE } from '../runtime/file-modes.ts'

/**
 * Maximum length of a folder for sockets, in bytes. A socket address is limited to 103 bytes on
 * some systems; the rest is for names like `supervisor.lock.1a2b3c4d`.
 */
const RUN_DIR_BYTES_MAX = 78

/** Paths that need no escaping in a `unix://` URL: clients interpret escapes differently. */
const PLAIN_PATH = /^[A-Za-z0-9/._-]+$/

const OWN_MODE = 0o700
const OTHERS_MODE = 0o077

/** The folder for sockets exists but does not belong to this user alone. */
export class RunDirError extends Error {
  override readonly name = 'RunDirError'
}

/**
 * Folder for the sockets of one data folder, created if needed and accessible to this user only. It
 * is `<dataDir>/run` if its path is short and plain enough for a socket, otherwise a folder in the
 * system's temporary folder, named by the user and a hash of the data folder.
 * @throws RunDirError if another user owns that folder, or it is a link or a file
 */
export function runDirFor(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true, mode: FOLDER_MODE })
  const real = realpathSync(dataDir)
  const near = join(real, 'run')
  if (Buffer.byteLength(near) <= RUN_DIR_BYTES_MAX && PLAIN_PATH.test(near))
    return ensurePrivateDir(near)
  const hash = createHash('sha256').update(real).digest('hex').slice(0, 12)
  return ensurePrivateDir(join(realpathSync(tmpdir()), `tollgate-${userInfo().uid}-${hash}`))
}

function ensurePrivateDir(dir: string): string {
  mkdirSync(dir, { recursive: true, mode: OWN_MODE })
  const found = lstatSync(dir)
  if (!found.isDirectory()) throw new RunDirError(`${dir} must be a folder, and not a link to one`)
  // Another user may have created this name in the temporary folder.
  const { uid } = userInfo()
  if (found.uid !== uid) {
    throw new RunDirError(`${dir} belongs to user ${found.uid}, and this process is user ${uid}`)
  }
  if ((found.mode & OTHERS_MODE) !== 0) chmodSync(dir, OWN_MODE)
  return dir
}

/**
 * Creates the folder of a store, accessible to this user only, since its files contain secrets. The
 * permissions of a folder that belongs to another user are not changed.
 */
export function createPrivateFolder(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: OWN_MODE })
  const { uid, mode } = statSync(dir)
  if (uid === userInfo().uid && (mode & OTHERS_MODE) !== 0) chmodSync(dir, OWN_MODE)
}
