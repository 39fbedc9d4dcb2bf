import { transientError } from '../errors.ts'
import { type LockOwner, lockName } from './locks.ts'
import { Overlay, type OverlayEntry } from './overlay.ts'
import type { DocumentStore, Entry, Piece, Range, Snapshot, Storage, Table } from './storage.ts'

/**
 * The tables as one transaction sees them: a snapshot of its start with its own writes. Each
 * written key is locked until the transaction ends; the writes reach the disk by `apply`.
 */
export class TransactionStore implements DocumentStore {
  readonly docs: Table
  readonly entries: Table
  readonly #storage: Storage
  readonly #owner: LockOwner
  readonly #snapshot: Snapshot
  readonly #overlays: ReadonlyMap<Table, Overlay>
  #isOpen = true

  constructor(storage: Storage, owner: LockOwner) {
    this.docs = storage.docs
    this.entries = storage.entries
    this.#storage = storage
    this.#owner = owner
    this.#snapshot = storage.snapshot()
    this.#overlays = new Map([this.docs, this.entries].map((table) => [table, new Overlay()]))
  }

  get hasWritten(): boolean {
    return [...this.#overlays.values()].some(({ size }) => size > 0)
  }

  get(table: Table, key: Buffer): Buffer | undefined {
    this.#checkOpen()
    const written = this.#overlay(table).get(lockName(key))
    return written ? written.value : this.#storage.get(table, key, this.#snapshot)
  }

  peek(table: Table, key: Buffer): Buffer | undefined {
    this.#checkOpen()
    const written = this.#overlay(table).get(lockName(key))
    return written ? written.value : this.#storage.peek(table, key, this.#snapshot)
  }

  /** @throws CommandError (WriteConflict) */
  put(table: Table, key: Buffer, value: Buffer): void {
    this.#write(table, key, value)
  }

  /** @throws CommandError (WriteConflict) */
  remove(table: Table, key: Buffer): void {
    this.#write(table, key, undefined)
  }

  *walk(table: Table, range: Range, reverse = false): Generator<Entry | null> {
    let rest: Range | undefined = range
    while (rest) {
      this.#checkOpen()
      const piece: Piece = this.#storage.piece(table, rest, reverse, this.#snapshot)
      const written = this.#overlay(table).range(piece.covered)
      yield* written.length > 0 ? merged(piece.entries, written, reverse) : piece.entries
      rest = piece.rest
      if (rest) yield null
    }
  }

  count(table: Table, range: Range): number {
    this.#checkOpen()
    let count = this.#storage.count(table, range, this.#snapshot)
    for (const { existed, value } of this.#overlay(table).range(range)) {
      count += Number(value !== undefined) - Number(existed)
    }
    return count
  }

  /**
   * For a key that prevents a write.
   * @throws CommandError (WriteConflict) if another client has changed it since the snapshot
   */
  checkCurrent(table: Table, key: Buffer): void {
    const name = lockName(key)
    if (!this.#overlay(table).get(name)) this.#requireCurrent(table, key, name)
  }

  /** Writes the changes, inside a write of the storage. */
  apply(): void {
    for (const [table, overlay] of this.#overlays) {
      for (const { key, value } of overlay.all()) this.#storage.putOwn(table, key, value)
    }
  }

  /** Releases the locks and the snapshot; the store cannot be used afterwards. */
  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    for (const overlay of this.#overlays.values()) {
      for (const { name } of overlay.all()) this.#storage.locks.unlock(name)
    }
    this.#snapshot.end()
  }

  #write(table: Table, key: Buffer, value: Buffer | undefined): void {
    this.#checkOpen()
    const name = lockName(key)
    const overlay = this.#overlay(table)
    const written = overlay.get(name)
    if (written) {
      written.value = value
      return
    }
    const existed = this.#requireCurrent(table, key, name)
    this.#storage.locks.lock(name, this.#owner)
    overlay.add({ key, name, existed, value })
  }

  /** Whether the key exists. The first writer wins: no later check would detect a conflict. */
  #requireCurrent(table: Table, key: Buffer, name: string): boolean {
    const owner = this.#storage.locks.ownerOf(name)
    if (owner && owner !== this.#owner) throw writeConflict()
    const before = this.#storage.get(table, key, this.#snapshot)
    const now = this.#storage.peek(table, key)
    const isSame = before && now ? before.equals(now) : before === now
    if (!isSame) throw writeConflict()
    return before !== undefined
  }

  #overlay(table: Table): Overlay {
    return this.#overlays.get(table)!
  }

  #checkOpen(): void {
    if (!this.#isOpen) throw transientError('NoSuchTransaction', 'the transaction has ended')
  }
}

function writeConflict(): Error {
  return transientError(
    'WriteConflict',
    'Write conflict during plan execution; retry the transaction',
  )
}

/** The entries of a snapshot with those written in the same range, in the order of the walk. */
function* merged(
  stored: readonly Entry[],
  writtenInOrder: readonly OverlayEntry[],
  reverse: boolean,
): Generator<Entry> {
  const written = reverse ? [...writtenInOrder].reverse() : writtenInOrder
  let next = 0
  for (const entry of stored) {
    let isReplaced = false
    for (; next < written.length; next++) {
      const order = Buffer.compare(written[next]!.key, entry.key)
      if (reverse ? order < 0 : order > 0) break
      if (order === 0) isReplaced = true
      const { key, value } = written[next]!
      if (value) yield { key, value }
    }
    if (!isReplaced) yield entry
  }
  for (; next < written.length; next++) {
    const { key, value } = written[next]!
    if (value) yield { key, value }
  }
}
