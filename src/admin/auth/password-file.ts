/** The file with the generated password of the first admin: on this machine alone. */
import { randomBytes } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../../runtime/log.ts'

export function passwordFileIn(dataDir: string): string {
  return join(dataDir, 'admin-password')
}

/**
 * Writes it for its owner alone, whole or not at all; what stood there is of an installation that
 * is no more. Gives the path.
 */
export async function writePasswordFile(dataDir: string, password: string): Promise<string> {
  const path = passwordFileIn(dataDir)
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const file = await open(draft, 'wx', 0o600)
  try {
    // Without an end of line: what sends the file as it is, sends the password.
    await file.writeFile(password)
    await file.sync()
    // Takes the place of a link, too, and does not follow it.
    await rename(draft, path)
    return path
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  } finally {
    await file.close()
  }
}

/** The password in it does not hold any longer. A file that cannot be removed is logged. */
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
