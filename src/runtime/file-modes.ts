/** Modes of files that the product writes: for its user, and read access for its group. */
import { chmodSync, fchmodSync, fstatSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'

export const FILE_MODE = 0o640
export const FOLDER_MODE = 0o750
const OTHERS_MODE = 0o007
/** Set on folders that several users write to, such as /tmp. */
const STICKY_MODE = 0o1000
const MODE_BITS = 0o7777

/**
 * Removes the permissions of others from an open file or a folder, but not those of the group.
 * Files of another user are left unchanged.
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
