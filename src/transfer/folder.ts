/** A folder of this machine, or one that is mounted here. */
import { createReadStream, createWriteStream, type Stats } from 'node:fs'
import { link, mkdir, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { FILE_MODE, FOLDER_MODE } from '../runtime/file-modes.ts'
import {
  byName,
  checkFileName,
  foldersOf,
  isHidden,
  isUnchanged,
  localError,
  type PlaceContent,
  type PlaceFile,
  TransferError,
  type TransferPlace,
  temporaryName,
} from './place.ts'

export class FolderPlace implements TransferPlace {
  readonly label: string
  readonly #root: string

  constructor(root: string) {
    this.#root = root
    this.label = `file://${root}`
  }

  localPath(name: string): string {
    checkFileName(name)
    return join(this.#root, name)
  }

  list(folder: string): Promise<PlaceFile[]> {
    return this.#attempt(folder, async () => {
      const path = folder === '' ? this.#root : this.localPath(folder)
      const names = await readdir(path).catch(async (error) => {
        if (folder === '' || !isMissing(error)) throw error
        // It may be a disk that is not mounted.
        await stat(this.#root)
        return []
      })
      const found = await Promise.all(
        names
          .filter((name) => !isHidden(name))
          .map((name) => this.#find(folder === '' ? name : `${folder}/${name}`)),
      )
      return found.filter((file) => file !== null).sort(byName)
    })
  }

  stat(name: string): Promise<PlaceFile | null> {
    return this.#attempt(name, () => this.#find(name))
  }

  async #find(name: string): Promise<PlaceFile | null> {
    let found: Stats
    try {
      found = await stat(this.localPath(name))
    } catch (error) {
      // Another program may have removed it since it was listed.
      if (isMissing(error)) return null
      throw error
    }
    if (!found.isFile()) return null
    return { name, sizeBytes: found.size, modifiedMs: found.mtimeMs }
  }

  read(name: string): Promise<Readable> {
    return this.#attempt(name, async () => {
      const file = await open(this.localPath(name))
      return file.createReadStream()
    })
  }

  write(name: string, content: PlaceContent): Promise<void> {
    return this.#attempt(name, async () => {
      await this.#createFolders(name)
      const temporary = this.localPath(temporaryName(name))
      try {
        const source = 'path' in content ? createReadStream(content.path) : [content.bytes]
        await pipeline(source, createWriteStream(temporary, { mode: FILE_MODE }))
        await flush(temporary)
        await rename(temporary, this.localPath(name))
        await flushFolder(dirname(temporary))
      } catch (error) {
        await rm(temporary, { force: true })
        throw error
      }
    })
  }

  move(listed: PlaceFile, to: string): Promise<boolean> {
    const { name } = listed
    return this.#attempt(name, async () => {
      if (!isUnchanged(listed, await this.#find(name))) return false
      await this.#createFolders(to)
      const [from, target] = [this.localPath(name), this.localPath(to)]
      await rename(from, target)
      const isMoved = isUnchanged(listed, await this.#find(to))
      if (!isMoved) await putBack(target, from)
      // The new name first: a power failure in between leaves both rather than none.
      await flushFolder(dirname(target))
      if (dirname(from) !== dirname(target)) await flushFolder(dirname(from))
      return isMoved
    })
  }

  remove(name: string): Promise<void> {
    return this.#attempt(name, () =>
      unlink(this.localPath(name)).catch((error) => {
        if (!isMissing(error)) throw error
      }),
    )
  }

  async close(): Promise<void> {}

  async #createFolders(name: string): Promise<void> {
    await stat(this.#root)
    for (const folder of foldersOf(name)) {
      const path = this.localPath(folder)
      const created = await mkdir(path, { recursive: true, mode: FOLDER_MODE })
      if (created !== undefined) await flushFolder(dirname(path))
    }
  }

  async #attempt<T>(name: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (error) {
      if (error instanceof TransferError) throw error
      throw localError(error, name === '' ? this.label : `${this.label}/${name}`)
    }
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : ''
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT'
}

/** A newer one that has come meanwhile stays. */
async function putBack(path: string, to: string): Promise<void> {
  try {
    await link(path, to)
  } catch (error) {
    // Not all file systems have links.
    if (codeOf(error) !== 'EEXIST') return rename(path, to)
  }
  await unlink(path)
}

/** Otherwise the name could survive a power failure, and the content not. */
async function flush(path: string): Promise<void> {
  const file = await open(path, 'r+')
  await file.sync()
  await file.close()
}

/** Otherwise a power failure could take the name. Some file systems leave it to their server. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } catch (error) {
    const code = codeOf(error)
    if (code !== 'EINVAL' && code !== 'ENOTSUP') throw error
  } finally {
    await folder.close()
  }
}
