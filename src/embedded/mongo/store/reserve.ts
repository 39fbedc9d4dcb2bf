import { closeSync, existsSync, fstatSync, openSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const PAGE_BYTES = 4096
/**
 * Pages of the tree that one entry may make new: the leaf, its parent and what a split or a merge
 * of neighbours takes. Those above belong to many entries and are in the allowance.
 */
const PAGES_PER_ENTRY = 3
/** Half full pages and their headers. */
const ENTRY_SPREAD = 3
/** What one transaction needs beside its entries: upper pages of the trees, lists of free pages. */
const ALLOWANCE_BYTES = 64 * PAGE_BYTES
/** How far the file is made longer than needed, so that it is not done for each write. */
const CHUNK_BYTES = 4 * 1024 * 1024
/** What a new store needs before it has a reserve. */
const NEW_STORE_BYTES = 1024 * 1024
const DATA_FILE = 'data.mdb'
/** What transactions may have taken, by their estimates, before the store is asked. */
const REFRESH_BYTES = CHUNK_BYTES / 2
const ZEROS = Buffer.alloc(256 * 1024)

/** There is no room on the disk for what was to be written; nothing of it was. */
export class DiskFullError extends Error {
  override readonly name = 'DiskFullError'
}

/** @throws DiskFullError if a store that is not there yet has no room to begin */
export function checkRoomToBegin(dataDir: string): void {
  if (existsSync(join(dataDir, DATA_FILE))) return
  const { bavail, bsize } = statfsSync(dataDir)
  if (bavail * bsize >= NEW_STORE_BYTES) return
  throw new DiskFullError(`no room on the disk for a new store in ${dataDir}`)
}

/**
 * Room on the disk for the next transaction, taken before LMDB needs it: the file of the store is
 * kept longer than its last page. A write of LMDB that meets a full disk damages the memory of
 * this process (lmdb 3.5: its message is longer than the buffer for it), so it must never meet one.
 */
export class Reserve {
  readonly #fd: number
  /** Bytes of the file that LMDB uses, as of the last look. */
  readonly #usedBytes: () => number
  #fileBytes: number
  #endBytes: number
  /** Bytes behind `#endBytes` that transactions since the last look may have taken. */
  #takenBytes = 0
  #entries = 0
  #entryBytes = 0

  constructor(dataDir: string, usedBytes: () => number) {
    this.#fd = openSync(join(dataDir, DATA_FILE), 'r+')
    this.#usedBytes = usedBytes
    this.#fileBytes = fstatSync(this.#fd).size
    this.#endBytes = usedBytes()
  }

  /** @throws DiskFullError if there is no room even for a transaction that writes little */
  begin(): void {
    this.#entries = 0
    this.#entryBytes = 0
    // The estimates are generous: what was really taken is seen by a look, which costs little.
    if (this.#takenBytes > REFRESH_BYTES || this.#neededBytes() > this.#fileBytes) this.#refresh()
    this.#ensureRoom()
  }

  /**
   * Counts an entry that is about to be put or removed.
   * @throws DiskFullError if there is no room for the transaction any more: it must be given up
   */
  addEntry(bytes: number): void {
    this.#entries += 1
    const whole = bytes > PAGE_BYTES / 4 ? PAGE_BYTES : 0
    this.#entryBytes += whole + ENTRY_SPREAD * Math.min(bytes, PAGE_BYTES) + bytes
    this.#ensureRoom()
  }

  /** The transaction is on disk. */
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

  /** Existing pages are copied once at most. */
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

  /** By writing, not by `truncate`: only what is written has its place on the disk. */
  #extend(bytes: number): void {
    // LMDB may have taken more than was thought: what it has written must not be written over.
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
