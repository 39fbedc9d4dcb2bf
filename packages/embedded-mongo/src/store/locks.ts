/** A writer that keeps keys locked until it has ended: an open transaction. */
export type LockOwner = {
  /** Resolves when the owner has ended and its locks are released. */
  readonly ended: Promise<void>
}

/** A write met a key of an open transaction: none of it may be kept until the owner has ended. */
export class LockedError extends Error {
  override readonly name = 'LockedError'
  readonly owner: LockOwner

  constructor(owner: LockOwner) {
    super('the document is written by an open transaction')
    this.owner = owner
  }
}

/**
 * The keys that open transactions have written. Keys of documents and of index entries are
 * different, as collections and indexes are numbered together.
 */
export class Locks {
  readonly #owners = new Map<string, LockOwner>()

  ownerOf(name: string): LockOwner | undefined {
    return this.#owners.get(name)
  }

  lock(name: string, owner: LockOwner): void {
    this.#owners.set(name, owner)
  }

  unlock(name: string): void {
    this.#owners.delete(name)
  }

  /** @throws LockedError */
  check(key: Buffer): void {
    if (this.#owners.size === 0) return
    const owner = this.#owners.get(lockName(key))
    if (owner) throw new LockedError(owner)
  }

  /** @throws LockedError if any key of the range is locked */
  checkRange({ start, end }: { readonly start: Buffer; readonly end: Buffer }): void {
    if (this.#owners.size === 0) return
    const first = lockName(start)
    const last = lockName(end)
    for (const [name, owner] of this.#owners) {
      if (name >= first && name < last) throw new LockedError(owner)
    }
  }
}

/** The key as text whose order is that of the bytes. */
export function lockName(key: Buffer): string {
  return key.toString('latin1')
}
