import { closeSync, existsSync, fstatSync, openSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const PAGE_BYTES = 4096
/**
 * Tree pages that one entry may rewrite: the leaf, its parent, and the pages of a split or merge of
 * neighbours. Upper pages are shared by many entries and are part of the allowance.
 */
const PAGES_PER_ENTRY = 3
/** Factor for half-full pages and page headers. */
const ENTRY_SPREAD = 3
/**
 * Room that a transaction needs in addition to its entries: upper tree pages, lists of free pages.
 */
const ALLOWANCE_BYTES = 64 * PAGE_BYTES
/** Size by which the file is extended beyond the need, so that not every write extends it. */
const CHUNK_BYTES = 4 * 1024 * 1024
/** Room that a new store needs before it has a reserve. */
const NEW_STORE_BYTES = 1024 * 1024
const DATA_FILE = 'data.mdb'
/** Estimated use of transactions after which the actual size is read from the store. */
const REFRESH_BYTES = CHUNK_BYTES / 2
const ZEROS = Buffer.alloc(256 * 1024)

/** No room on the disk for a transaction; nothing of it was written. */
export class DiskFullError extends Error {
  override readonly name = 'DiskFullError'
}

/** @throws DiskFullError if there is no room to create a new store */
export function checkRoomToBegin(dataDir: string): void {
  if (existsSync(join(dataDir, DATA_FILE))) return
  const { bavail, bsize } = statfsSync(dataDir)
  if (bavail * bsize >= NEW_STORE_BYTES) return
  throw new DiskFullError(`no room on the disk for a new store in ${dataDir}`)
}

/**
 * Reserves room on the disk for the next transaction: the file of the store is kept longer than its
 * last page. If a write of LMDB meets a full disk, it corrupts the memory of this process (lmdb
 * 3.5: its message overflows a buffer), so this must never happen.
 */
export class Reserve {
  readonly #fd: number
  /** Returns the bytes of the file that LMDB uses. */
  readonly #usedBytes: () => number
  #fileBytes: number
  #endBytes: number
  /** Estimated bytes after `#endBytes` that transactions have used since the last refresh. */
  #takenBytes = 0
  #entries = 0
  #entryBytes = 0

  constructor(dataDir: string, usedBytes: () => number) {
    this.#fd = openSync(join(dataDir, DATA_FILE), 'r+')
    this.#usedBytes = usedBytes
    this.#fileBytes = fstatSync(this.#fd).size
    this.#endBytes = usedBytes()
  }

  /** @throws DiskFullError if there is no room even for a small transaction */
  begin(): void {
    this.#entries = 0
    this.#entryBytes = 0
    // The estimates are generous; reading the actual use is cheap.
    if (this.#takenBytes > REFRESH_BYTES || this.#neededBytes() > this.#fileBytes) this.#refresh()
    this.#ensureRoom()
  }

  /**
   * Counts an entry that is about to be put or removed.
   * @throws DiskFullError if there is no room for the transaction: it must be rolled back
   */
  addEntry(bytes: number): void {
    this.#entries += 1
    const whole = bytes > PAGE_BYTES / 4 ? PAGE_BYTES : 0
    this.#entryBytes += whole + ENTRY_SPREAD * Math.min(bytes, PAGE_BYTES) + bytes
    this.#ensureRoom()
  }

  /** Called when the transaction is on disk. */
  end(): void {
    this.#takenBytes += this.#transactionBytes()
  }

  close(): void {
    closeSync(this.#fd)
  }

  #refresh(): void {
    this.#endBytes = this.#usedBytes()
    this.#takenBytes = 0
  }

  /** Existing pages are copied at most once. */
  #transactionBytes(): number {
    const copiedBytes = Math.min(this.#entries * PAGES_PER_ENTRY * PAGE_BYTES, this.#endBytes)
    return copiedBytes + this.#entryBytes + ALLOWANCE_BYTES
  }

  #neededBytes(): number {
    return this.#endBytes + this.#takenBytes + this.#transactionBytes()
  }

  #ensureRoom(): void {
    const neededBytes = this.#neededBytes()
    if (neededBytes <= this.#fileBytes) return
    try {
      this.#extend(neededBytes + CHUNK_BYTES)
    } catch (error) {
      if (!isNoRoom(error)) throw error
      if (neededBytes <= this.#fileBytes) return
      throw new DiskFullError(`no room on the disk for ${neededBytes} bytes of data`)
    }
  }

  /** Extends the file by writing, since `truncate` allocates no disk space. */
  #extend(bytes: number): void {
    // LMDB may have used more than estimated: its pages must not be overwritten.
    this.#fileBytes = Math.max(this.#fileBytes, fstatSync(this.#fd).size)
    while (this.#fileBytes < bytes) {
      const length = Math.min(ZEROS.length, bytes - this.#fileBytes)
      this.#fileBytes += writeSync(this.#fd, ZEROS, 0, length, this.#fileBytes)
    }
  }
}

function isNoRoom(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(String((error as NodeJS.ErrnoException).code))
}
