/** Where files of documents are kept. */
import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, mkdtemp, open, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DocumentStoreError } from './errors.ts'

/** Identifies a file. */
export interface DocumentName {
  readonly aid: number
  readonly billrunKey: string
  readonly invoiceId: number
  readonly extension: string
  /** A proof of an invoice that may still change. */
  readonly isDraft?: boolean
}

export interface DocumentStore {
  /** For reading; null if the file has not been written. Throws `DocumentStoreError`. */
  open(name: DocumentName): Promise<FileHandle | null>
  /**
   * Completely or not at all; replaces a file of the name. `make` fills the file of the path that
   * it gets; its result and errors are passed on. Throws `DocumentStoreError`.
   */
  write<T>(name: DocumentName, make: MakeFile<T>): Promise<T>
  /** Also succeeds if the document does not exist. Throws `DocumentStoreError`. */
  remove(name: DocumentName): Promise<void>
  /** The path of the file, whether it exists or not. */
  pathOf(name: DocumentName): string
}

type MakeFile<T> = (path: string) => Promise<T>

/** Folders below a cycle, so that none has too many files. */
const FOLDERS_PER_CYCLE = 1000

/** Files in a folder, as `202405/017/17-101.pdf`; drafts as `17-101-draft.pdf`. */
export function createFolderStore(folder: string): DocumentStore {
  return {
    async open(name) {
      const path = join(folder, fileOf(name))
      try {
        return await open(path)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
        throw storeError('read', path, error)
      }
    },
    async write(name, make) {
      const path = join(folder, fileOf(name))
      const draft = `${path}.${randomUUID()}.tmp`
      try {
        await storing('written', path, () => mkdir(dirname(path), { recursive: true, mode: 0o700 }))
        await storing('written', draft, () => createEmpty(draft))
        const made = await make(draft)
        await storing('written', path, () => rename(draft, path))
        return made
      } catch (error) {
        await rm(draft, { force: true }).catch(() => undefined)
        throw error
      }
    },
    async remove(name) {
      const path = join(folder, fileOf(name))
      await storing('removed', path, () => rm(path, { force: true }))
    },
    pathOf: (name) => join(folder, fileOf(name)),
  }
}

/** A cancelled thread may still open its file: it does not create one that is removed already. */
async function createEmpty(path: string): Promise<void> {
  await (await open(path, 'wx', 0o600)).close()
}

/** A file that exists until it is closed. Rejects with errors of `make`. */
export async function temporaryFile(make: MakeFile<unknown>): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-document-'))
  try {
    const path = join(folder, 'document')
    await createEmpty(path)
    await make(path)
    return await open(path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Only digits and letters become part of a path. */
function fileOf({ aid, billrunKey, invoiceId, extension, isDraft }: DocumentName): string {
  const isValid =
    Number.isSafeInteger(aid) &&
    aid >= 0 &&
    Number.isSafeInteger(invoiceId) &&
    invoiceId >= 0 &&
    /^\d{6,14}$/.test(billrunKey) &&
    /^[a-z]{1,8}$/.test(extension)
  if (!isValid)
    throw new DocumentStoreError('the name of an invoice file must be digits', 'refused')
  const part = String(aid % FOLDERS_PER_CYCLE).padStart(3, '0')
  const suffix = isDraft === true ? '-draft' : ''
  return join(billrunKey, part, `${aid}-${invoiceId}${suffix}.${extension}`)
}

async function storing<T>(verb: string, path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw storeError(verb, path, error)
  }
}

function storeError(verb: string, path: string, error: unknown): DocumentStoreError {
  const { message } = error as Error
  return new DocumentStoreError(`${path} cannot be ${verb}: ${message}`, 'refused', {
    cause: error,
  })
}
