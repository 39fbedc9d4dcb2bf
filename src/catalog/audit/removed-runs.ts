/**
 * Ranges of the chain that retention has removed. Each range keeps the hash of its last record,
 * which the following record references as its predecessor. A range is stored in the transaction
 * that deletes its records.
 */
import { createHmac } from 'node:crypto'
import type { ClientSession } from 'mongodb'
import type { Catalog } from '../connection.ts'
import type { AuditChainDocument } from '../records/audit-document.ts'

export interface RemovedRun {
  from: number
  to: number
  /** Hash of the record with number `to`. */
  hash: string
}

/** The stored form. `mac` is empty if the installation has no key. */
export interface StoredRun extends RemovedRun {
  mac: string
}

type Link = Pick<AuditChainDocument, 'seq' | 'hash'>

/** Merges adjacent and overlapping ranges, in ascending order. */
export function mergeRuns(runs: readonly RemovedRun[]): RemovedRun[] {
  const joined: RemovedRun[] = []
  for (const run of [...runs].sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (last === undefined || run.from > last.to + 1) joined.push({ ...run })
    else if (run.to > last.to) Object.assign(last, { to: run.to, hash: run.hash })
  }
  return joined
}

/** Adds the records to the ranges, as part of a transaction that deletes them. */
export async function storeRemovedRuns(
  catalog: Catalog,
  session: ClientSession,
  links: readonly Link[],
  key: string,
): Promise<void> {
  if (links.length === 0) return
  const storedRuns = await readRemovedRuns(catalog)
  const newRuns = links.map(({ seq, hash }) => ({ from: seq, to: seq, hash }))
  const runs = mergeRuns([...storedRuns, ...newRuns])
  const mergedIds = new Set(runs.map(({ from }) => idOf(from)))
  const absorbed = storedRuns.map(({ from }) => idOf(from)).filter((id) => !mergedIds.has(id))
  for (const run of runs) {
    const { from, to, hash } = run
    const same = storedRuns.some((one) => one.from === from && one.to === to)
    if (same) continue
    const stored = { seq: to, hash, from, mac: macOf(run, key) }
    const options = { upsert: true, session }
    await catalog.auditchain.updateOne({ _id: idOf(from) }, { $set: stored }, options)
  }
  if (absorbed.length > 0) {
    await catalog.auditchain.deleteMany({ _id: { $in: absorbed } }, { session })
  }
}

/** Rejects with `CatalogUnavailableError`. */
export async function readRemovedRuns(catalog: Catalog): Promise<StoredRun[]> {
  const found = await catalog.auditchain.find({ from: { $gt: 0 } }).toArray()
  return found.map(({ from = 0, seq, hash, mac = '' }) => ({ from, to: seq, hash, mac }))
}

/** Returns false if a key is configured and the range was not signed with it. */
export function isSigned(run: StoredRun, key: string): boolean {
  return key === '' || run.mac === macOf(run, key)
}

function macOf({ from, to, hash }: RemovedRun, key: string): string {
  if (key === '') return ''
  const text = `tollgate-audit-removed-1\n${from}\n${to}\n${hash}`
  return createHmac('sha256', key).update(text).digest('hex')
}

function idOf(from: number): string {
  return `removed/${from}`
}
