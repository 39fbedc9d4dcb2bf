/** Reads all records by account: merges cursors that are sorted by account. */
import type { Catalog } from '../../catalog/connection.ts'
import type { BatchCursor } from '../../catalog/read-batches.ts'
import type { BalanceDocument } from '../../catalog/records/usage/balance-document.ts'
import type { LineDocument } from '../../catalog/records/usage/documents.ts'
import type { CarriedDocument } from '../../catalog/records/usage/line-sums.ts'
import { AccountRecords, type RestoreCutoffs } from './account-records.ts'

/** Fields of a line that the rebuild reads. */
const LINE_FIELDS = [
  'stamp',
  'type',
  'aid',
  'sid',
  'payments',
  'debt_micros',
  'account_debt_micros',
  'operation',
  'operation_id',
  'charging_usaget',
  'pp_includes_external_id',
  'bucket_id',
  'balance_before',
  'usagev',
  'aprice_micros',
  'repaid_micros',
  'mended',
  'owner_v',
  'priority',
  'from',
  'to',
  'urt',
  'asked',
  'balance_normalized',
  'counter',
  'limit',
  'counted',
  'source',
  'charging_type',
  'source_ref',
  'parent_ref',
  'additional',
]
/** Selects everything by an indexed field, so that sorting uses the index. */
const ALL = { aid: { $gte: 0 } }

/**
 * Holds one account in memory at a time, with sums of its lines. `isSelected` selects the accounts
 * to read. Throws `CatalogUnavailableError`.
 */
export async function* recordedAccounts(
  catalog: Catalog,
  isSelected: (aid: number) => boolean,
  since: RestoreCutoffs,
): AsyncGenerator<AccountRecords> {
  const projection = Object.fromEntries(LINE_FIELDS.map((field) => [field, 1]))
  const { unguarded } = catalog
  const balances = new PeekableCursor<BalanceDocument>(catalog, 'read balances', (options) =>
    unguarded.balances.find(ALL, options).sort({ aid: 1 }),
  )
  const carried = new PeekableCursor<CarriedDocument>(catalog, 'read carried sums', (options) =>
    unguarded.carried.find(ALL, options).sort({ aid: 1 }),
  )
  const lines = new PeekableCursor<LineDocument>(catalog, 'read lines', (options) =>
    unguarded.lines.find(ALL, { projection, ...options }).sort({ aid: 1 }),
  )
  try {
    for (;;) {
      const aid = Math.min(await balances.aid(), await carried.aid(), await lines.aid())
      if (aid === Number.POSITIVE_INFINITY) return
      const records = isSelected(aid) ? new AccountRecords(aid, since) : null
      for (let one = await balances.takeFor(aid); one !== null; one = await balances.takeFor(aid)) {
        records?.addProjection(one)
      }
      for (let one = await carried.takeFor(aid); one !== null; one = await carried.takeFor(aid)) {
        records?.addCarried(one)
      }
      for (let one = await lines.takeFor(aid); one !== null; one = await lines.takeFor(aid)) {
        records?.addLine(one)
      }
      if (records !== null) yield records
    }
  } finally {
    await Promise.all([balances.close(), carried.close(), lines.close()])
  }
}

/** A cursor with look-ahead of one document. After an outage it is not continued, but rejects. */
class PeekableCursor<T extends { aid: number }> {
  readonly #batches: AsyncGenerator<T[]>
  #read: T[] = []
  #at = 0

  constructor(
    catalog: Catalog,
    what: string,
    open: (options: { signal: AbortSignal }) => BatchCursor<unknown>,
  ) {
    // A time limit for each batch: `maxTimeMS` would be one for all.
    this.#batches = catalog.readBatches(what, ({ signal }) => open({ signal }), {
      limitMs: Number.POSITIVE_INFINITY,
    }) as AsyncGenerator<T[]>
  }

  /** Account of the next document; infinity at the end. */
  async aid(): Promise<number> {
    if (this.#at >= this.#read.length) {
      const { value, done } = await this.#batches.next()
      this.#read = done === true ? [] : value
      this.#at = 0
    }
    return this.#read[this.#at]?.aid ?? Number.POSITIVE_INFINITY
  }

  /** The next document of an account; null if there is no more. */
  async takeFor(aid: number): Promise<T | null> {
    if ((await this.aid()) !== aid) return null
    this.#at += 1
    return this.#read[this.#at - 1] ?? null
  }

  async close(): Promise<void> {
    await this.#batches.return(undefined)
  }
}
