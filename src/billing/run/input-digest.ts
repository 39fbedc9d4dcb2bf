/**
 * The number and a digest of the lines from which an invoice was computed. A confirmation compares
 * them with the lines of the account, so that none is lost that was written in between.
 */
import { createHash } from 'node:crypto'
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { chargedBeyond } from '../cycle/late-usage.ts'
import type { RunCycle } from '../cycle/run-cycle.ts'
import {
  type InputLines,
  lineReader,
  markedLines,
  NO_LINES,
  readInputLines,
  type SettledLine,
} from '../invoices/input-lines.ts'

export interface InputDigest {
  readonly lines: number
  readonly digest: string
}

interface DigestedLine {
  readonly stamp: string
  readonly aprice?: unknown
  readonly final_charge?: unknown
  readonly usagev?: unknown
  readonly tax_data?: { readonly taxes?: readonly { readonly key: string }[] }
}

const DIGEST_LENGTH = 16
const DIGESTED_FIELDS = {
  ...{ _id: 0, aid: 1, stamp: 1, v: 1 },
  ...{ aprice: 1, final_charge: 1, usagev: 1, 'tax_data.taxes.key': 1, uninvoiced: 1 },
}

/** `moved`: lines that the invoice moves to its cycle. */
export function inputDigest(
  { own, late, taken }: InputLines,
  moved: readonly DigestedLine[] = [],
): InputDigest {
  const beyond = late.map((line) => ({
    ...chargedBeyond(line, line.uninvoiced.former),
    stamp: line.stamp,
  }))
  const lines: DigestedLine[] = [...own, ...beyond, ...taken, ...moved]
  const texts = lines
    .map(({ stamp, aprice, final_charge, usagev, tax_data }) => {
      const taxes = tax_data?.taxes?.map(({ key }) => key) ?? []
      return [stamp, aprice, final_charge, usagev, ...taxes].join(' ')
    })
    .sort()
  const hash = createHash('sha256').update(texts.join('\n')).digest('hex')
  return { lines: lines.length, digest: hash.slice(0, DIGEST_LENGTH) }
}

interface Computed {
  readonly aid: number
  readonly input?: unknown
}

/**
 * Accounts whose lines are those of their invoice, with the late lines that it settles; invoices
 * without a digest are not compared.
 */
export async function unchangedAccounts(
  catalog: Catalog,
  session: ClientSession,
  run: RunCycle,
  invoices: readonly Computed[],
): Promise<ReadonlyMap<number, readonly SettledLine[]>> {
  const aids = invoices.map(({ aid }) => aid)
  const found = await readInputLines(lineReader(catalog, session), run, aids, DIGESTED_FIELDS)
  const unchanged = new Map<number, readonly SettledLine[]>()
  for (const { aid, input } of invoices) {
    if (input === undefined) {
      unchanged.set(aid, [])
      continue
    }
    const stored = found.get(aid) ?? NO_LINES
    const now = inputDigest(stored)
    const { lines, digest } = input as InputDigest
    if (now.lines === lines && now.digest === digest) unchanged.set(aid, markedLines(stored))
  }
  return unchanged
}
