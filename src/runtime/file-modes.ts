/** Modes of what the product writes: its user, and those of its group who may read. */
import { fchmodSync, fstatSync } from 'node:fs'

export const FILE_MODE = 0o640
export const FOLDER_MODE = 0o750
const OTHERS_MODE = 0o007

/** Takes the rights of others from an open file that has them, as one of an earlier release has. */
export function closeToOthers(file: number): void {
  const { mode } = fstatSync(file)
  if ((mode & OTHERS_MODE) === 0) return
  try {
    fchmodSync(file, mode & ~OTHERS_MODE & 0o7777)
  } catch (error) {
    // It belongs to somebody else, who has to do it.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}
