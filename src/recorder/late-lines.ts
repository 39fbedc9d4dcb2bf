/**
 * Writes lines of cycles that are over: their invoices may be confirmed. Such a line is marked
 * (`Uninvoiced`), with what its last version without the mark charged, so that a later run of the
 * cycle invoices the difference. Each is written over the version that was read, or read again.
 */
import type { Catalog } from '../catalog/connection.ts'
import { CatalogUnavailableError } from '../catalog/errors.ts'
import type { RealtimeLineDocument } from '../catalog/records/usage/line-document.ts'
import { type Charged, hasSameTaxes, type Uninvoiced } from '../catalog/records/usage/uninvoiced.ts'
import { type AnyDocument, type BulkOutcome, type Upsert, writeAll } from './bulk.ts'

/** Lines per read. */
const READ_MAX = 500
/** More are not lost races with other recorders and confirmations, but a defect. */
const ATTEMPTS_MAX = 20

type Stored = Pick<RealtimeLineDocument, 'stamp' | 'v'> &
  Charged & { readonly uninvoiced?: Uninvoiced }

/** As `writeAll`. */
export async function writeLateLines(
  catalog: Catalog,
  documents: readonly RealtimeLineDocument[],
  nowMs: number,
  outcome: BulkOutcome,
): Promise<void> {
  for (let at = 0; at < documents.length; at += READ_MAX) {
    let left = documents.slice(at, at + READ_MAX)
    for (let attempt = 0; left.length > 0; attempt += 1) {
      if (attempt === ATTEMPTS_MAX) {
        throw new CatalogUnavailableError('MongoDB: late lines are changed by others all the time')
      }
      left = await writeOver(catalog, left, nowMs, outcome)
    }
  }
}

/** Returns the lines that may not have been written, because stored ones have changed meanwhile. */
async function writeOver(
  catalog: Catalog,
  documents: readonly RealtimeLineDocument[],
  nowMs: number,
  { refused, count, rest }: BulkOutcome,
): Promise<RealtimeLineDocument[]> {
  const stored = await readStored(catalog, documents)
  const newer = documents.filter(({ stamp, v }) => (stored.get(stamp)?.v ?? -1) < v)
  let lost = 0
  await writeAll(
    catalog,
    'lines',
    newer.map((document) => upsertOver(document, stored.get(document.stamp), nowMs)),
    {
      refused,
      count(operations, duplicates) {
        lost += duplicates
        count(operations, duplicates)
      },
      rest,
    },
  )
  return lost === 0 ? [] : newer.filter(({ stamp }) => !refused.has(stamp))
}

async function readStored(
  catalog: Catalog,
  documents: readonly RealtimeLineDocument[],
): Promise<ReadonlyMap<string, Stored>> {
  const projection = {
    ...{ _id: 0, stamp: 1, v: 1, uninvoiced: 1 },
    ...{ usagev: 1, aprice: 1, final_charge: 1, tax_data: 1, exact: 1 },
  }
  const stamps = documents.map(({ stamp }) => stamp)
  const found = await catalog.lines.find({ stamp: { $in: stamps } }, { projection }).toArray()
  return new Map((found as unknown as Stored[]).map((line) => [line.stamp, line]))
}

/** Inserts if no document matches `stored`; fails as a duplicate if another version exists. */
function upsertOver(
  document: RealtimeLineDocument,
  stored: Stored | undefined,
  nowMs: number,
): Upsert {
  const { stamp } = document
  const uninvoiced = markOf(document, stored, nowMs)
  const replacement = { ...document, ...(uninvoiced !== null && { uninvoiced }) }
  const filter = {
    stamp,
    v: stored === undefined ? { $lt: 0 } : stored.v,
    uninvoiced: { $exists: stored?.uninvoiced !== undefined },
  }
  return {
    key: stamp,
    operation: {
      replaceOne: { filter, replacement: replacement as unknown as AnyDocument, upsert: true },
    },
  }
}

function markOf(
  document: RealtimeLineDocument,
  stored: Stored | undefined,
  nowMs: number,
): Uninvoiced | null {
  if (stored?.uninvoiced !== undefined) return stored.uninvoiced
  const since = new Date(nowMs)
  if (stored === undefined) return { since, former: null }
  if (isSameCharge(document, stored)) return null
  const { usagev, aprice, final_charge, tax_data, exact } = stored
  return { since, former: { usagev, aprice, final_charge, tax_data, exact } }
}

/** Such as a line whose session has ended without further usage. */
function isSameCharge(one: Charged, other: Charged): boolean {
  const { aprice, final_charge } = other.exact ?? {}
  return (
    one.usagev === other.usagev &&
    one.exact.aprice === aprice &&
    one.exact.final_charge === final_charge &&
    hasSameTaxes(one, other)
  )
}
