/** File with the generated password of the first admin, on this machine only. */
import { randomBytes } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../runtime/log.ts'

export function passwordFileIn(dataDir: string): string {
  return join(dataDir, 'admin-password')
}

/**
 * Writes the file atomically, readable by its owner only; replaces the file of a previous
 * installation. Returns the path.
 */
export async function writePasswordFile(dataDir: string, password: string): Promise<string> {
  const path = passwordFileIn(dataDir)
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const file = await open(draft, 'wx', 0o600)
  try {
    // Without a line break, so that a program can send the content as it is.
    await file.writeFile(password)
    await file.sync()
    // Replaces a symbolic link rather than following it.
    await rename(draft, path)
    return path
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  } finally {
    await file.close()
  }
}

/** Removes the file of a password that is no longer valid. Failure is logged. */
export async function removePasswordFile(
  dataDir: string,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  const path = passwordFileIn(dataDir)
  try {
    await rm(path, { force: true })
  } catch (error) {
    log.warn({ err: error, path }, 'the file with the generated password cannot be removed')
  }
}
