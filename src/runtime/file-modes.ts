/** Modes of what the product writes: its user, and those of its group who may read. */
import { chmodSync, fchmodSync, fstatSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'

export const FILE_MODE = 0o640
export const FOLDER_MODE = 0o750
const OTHERS_MODE = 0o007
/** Of a folder that several users write into, as that of temporary files. */
const STICKY_MODE = 0o1000
const MODE_BITS = 0o7777

/**
 * Takes the rights of others from an open file, and from a folder, that was made with them; not
 * those of its group. What belongs to another user stays as it is.
 */
export function closeFileToOthers(file: number): void {
  const { uid, mode } = fstatSync(file)
  if (isOpenToOthers(uid, mode)) fchmodSync(file, mode & ~OTHERS_MODE & MODE_BITS)
}

export function closeFolderToOthers(dir: string): void {
  const { uid, mode } = statSync(dir)
  const isShared = (mode & STICKY_MODE) !== 0
  if (isOpenToOthers(uid, mode) && !isShared) chmodSync(dir, mode & ~OTHERS_MODE & MODE_BITS)
}

function isOpenToOthers(uid: number, mode: number): boolean {
  return uid === userInfo().uid && (mode & OTHERS_MODE) !== 0
}
