/** A small disk for a test that fills it. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk {
  readonly path: string
  /** Leaves no byte free. */
  fill(): void
  /** Frees the space that `fill` has used. */
  makeRoom(): void
  /** Removes the disk even if processes still use it. */
  remove(): void
}

/** Why no small disk can be mounted here; undefined if it can. */
export function mountProblem(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'tg-disk-'))
  try {
    mountSmallDisk(folder, 1024 * 1024).remove()
    return undefined
  } catch (error) {
    return `mounting is not allowed here: ${String(error).split('\n')[0]}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @throws Error if mounting is not allowed, which needs root on Linux */
export function mountSmallDisk(path: string, sizeBytes: number): SmallDisk {
  mkdirSync(path, { recursive: true })
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes},mode=700`, 'tmpfs', path], {
    stdio: 'pipe',
  })
  const ballast = join(path, 'ballast')
  return {
    path,
    fill() {
      const fd = openSync(ballast, 'a')
      try {
        for (const length of [64 * 1024, 4096]) fillBy(fd, Buffer.alloc(length, 1))
      } finally {
        closeSync(fd)
      }
    },
    makeRoom: () => rmSync(ballast, { force: true }),
    remove: () => execFileSync('umount', ['-l', path], { stdio: 'pipe' }),
  }
}

function fillBy(fd: number, piece: Buffer): void {
  for (;;) {
    try {
      writeSync(fd, piece)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return
      throw error
    }
  }
}
