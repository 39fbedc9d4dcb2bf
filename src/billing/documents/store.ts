/** Where files of documents are kept. */
import { randomUUID } from 'node:crypto'
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
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
  /** Null if the file has not been written. Throws `DocumentStoreError`. */
  read(name: DocumentName): Promise<Buffer | null>
  /** Completely or not at all; replaces a file of the name. Throws `DocumentStoreError`. */
  write(name: DocumentName, bytes: Uint8Array): Promise<void>
  /** Also succeeds if the document does not exist. Throws `DocumentStoreError`. */
  remove(name: DocumentName): Promise<void>
  /** The path of the file, whether it exists or not. */
  pathOf(name: DocumentName): string
}

/** Folders below a cycle, so that none has too many files. */
const FOLDERS_PER_CYCLE = 1000

/** Files in a folder, as `202405/017/17-101.pdf`; drafts as `17-101-draft.pdf`. */
export function createFolderStore(folder: string): DocumentStore {
  return {
    async read(name) {
      const path = join(folder, fileOf(name))
      try {
        return await readFile(path)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
        throw storeError('read', path, error)
      }
    },
    async write(name, bytes) {
      const path = join(folder, fileOf(name))
      const draft = `${path}.${randomUUID()}.tmp`
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 })
        const file = await open(draft, 'wx', 0o600)
        try {
          await file.writeFile(bytes)
          await file.sync()
        } finally {
          await file.close()
        }
        await rename(draft, path)
      } catch (error) {
        await rm(draft, { force: true }).catch(() => undefined)
        throw storeError('written', path, error)
      }
    },
    async remove(name) {
      const path = join(folder, fileOf(name))
      try {
        await rm(path, { force: true })
      } catch (error) {
        throw storeError('removed', path, error)
      }
    },
    pathOf: (name) => join(folder, fileOf(name)),
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
  if (!isValid) throw new DocumentStoreError('the name of an invoice file must be digits')
  const part = String(aid % FOLDERS_PER_CYCLE).padStart(3, '0')
  const suffix = isDraft === true ? '-draft' : ''
  return join(billrunKey, part, `${aid}-${invoiceId}${suffix}.${extension}`)
}

function storeError(verb: string, path: string, error: unknown): DocumentStoreError {
  const { message } = error as Error
  return new DocumentStoreError(`${path} cannot be ${verb}: ${message}`, { cause: error })
}
