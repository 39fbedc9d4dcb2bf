/**
 * Temporary folders of the tests in memory, where `fsync` costs nothing: no test cuts the power, so
 * none needs a disk. `kill -9` is the same there, and tests that fill disks mount their own.
 */
import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const NEEDED_BYTES = 2 * 1024 ** 3

/** Set-up of vitest, before the workers, which inherit the environment. Each project calls it. */
export default function useMemory(): (() => void) | undefined {
  if (process.env['TMPDIR']?.startsWith(MEMORY) || !isLargeEnough()) return undefined
  const folder = mkdtempSync(join(MEMORY, 'tollgate-'))
  process.env['TMPDIR'] = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

function isLargeEnough(): boolean {
  if (!existsSync(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize >= NEEDED_BYTES
}
