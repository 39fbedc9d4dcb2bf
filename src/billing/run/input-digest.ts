/**
 * The number and a digest of the lines from which an invoice was computed. A confirmation compares
 * them with the lines of the account, so that none is lost that was written in between.
 */
import { createHash } from 'node:crypto'
import type { Catalog } from '../../catalog/connection.ts'

export interface InputDigest {
  readonly lines: number
  readonly digest: string
}

interface DigestedLine {
  readonly stamp: string
  readonly aprice?: unknown
  readonly usagev?: unknown
}

const DIGEST_LENGTH = 16

export function inputDigest(lines: readonly DigestedLine[]): InputDigest {
  const texts = lines.map(({ stamp, aprice, usagev }) => `${stamp} ${aprice} ${usagev}`).sort()
  const hash = createHash('sha256').update(texts.join('\n')).digest('hex')
  return { lines: lines.length, digest: hash.slice(0, DIGEST_LENGTH) }
}

interface Computed {
  readonly aid: number
  readonly billrun_key: string
  readonly input?: unknown
}

/** Accounts whose lines are those of their invoice; invoices without a digest are not compared. */
export async function isInputUnchanged(
  catalog: Catalog,
  invoices: readonly Computed[],
): Promise<ReadonlySet<number>> {
  const [first] = invoices
  if (first === undefined) return new Set()
  const filter = {
    aid: { $in: invoices.map(({ aid }) => aid) },
    billrun: first.billrun_key,
    source: { $ne: 'billrun' },
  }
  const found = (await catalog.run('compare the lines of invoices', () =>
    catalog.lines
      .find(filter as never, {
        projection: { _id: 0, aid: 1, stamp: 1, aprice: 1, usagev: 1 },
      })
      .toArray(),
  )) as unknown as (DigestedLine & { readonly aid: number })[]
  const unchanged = invoices.filter(({ aid, input }) => {
    if (input === undefined) return true
    const now = inputDigest(found.filter((line) => line.aid === aid))
    const { lines, digest } = input as InputDigest
    return now.lines === lines && now.digest === digest
  })
  return new Set(unchanged.map(({ aid }) => aid))
}
