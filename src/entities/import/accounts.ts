/** Looks up the accounts of the subscribers in a batch, with one query. */
import type { Fields } from '../../domain/fields.ts'
import { normalNumber } from '../../domain/numbering.ts'
import { EntityRuleError, fieldRule } from '../../requests/errors.ts'
import { valueIn } from '../export/cells.ts'
import { NOT_DELETED } from '../revisions.ts'
import { fromOf } from '../timeline/draft.ts'
import { quotedExcerpt } from './cells.ts'
import type { ImportJob } from './job.ts'
import type { ValidUnit } from './unit.ts'

/** Returns the account of a unit; throws `EntityRuleError` if it cannot be determined. */
export type LinkedAccounts = (unit: ValidUnit) => number | null

/** Finds the accounts by the linker of the import; null for all units if there is no linker. */
export async function linkedAccounts(
  { stores, settings }: ImportJob,
  units: readonly ValidUnit[],
): Promise<LinkedAccounts> {
  const { linker } = settings
  if (linker === null) return () => null
  const { field, numbering } = linker
  const linkOf = ({ linkerValue }: ValidUnit) => String(normalNumber(numbering, linkerValue))
  const values = [...new Set(units.map(linkOf))].filter((text) => text !== '')
  const filter = {
    type: 'account' as const,
    [field]: { $in: values.flatMap(formsOf) },
    ...NOT_DELETED,
  }
  const found = (await stores.catalog.subscribers
    .find(filter, { projection: { aid: 1, [field]: 1 } })
    .toArray()) as Fields[]
  const aids = new Map<string, Set<number>>()
  for (const account of found) {
    for (const value of [valueIn(account, field)].flat()) {
      const known = aids.get(String(value)) ?? new Set()
      aids.set(String(value), known.add(Number(account['aid'])))
    }
  }
  return (unit) => {
    const value = linkOf(unit)
    if (value === '') throw fieldRule(`${field}:`, 'the row does not identify an account')
    const [aid, other] = aids.get(value) ?? []
    const what = `has ${field} ${quotedExcerpt(value)}`
    if (aid === undefined) throw new EntityRuleError(`no account ${what}`, 'refused')
    if (other !== undefined) throw new EntityRuleError(`more than one account ${what}`, 'refused')
    return aid
  }
}

/** A cell is a text, but the stored value may be a number. */
function formsOf(text: string): (string | number)[] {
  const number = Number(text)
  return String(number) === text && Number.isSafeInteger(number) ? [text, number] : [text]
}

/**
 * Start of the first revision of each account, epoch ms; accounts that do not exist are left out.
 */
export async function accountStarts(
  { stores }: ImportJob,
  documents: readonly Fields[],
): Promise<ReadonlyMap<unknown, number>> {
  const aids = [...new Set(documents.map(({ aid }) => aid))] as number[]
  const filter = { type: 'account' as const, aid: { $in: aids }, ...NOT_DELETED }
  const found = await stores.catalog.subscribers
    .find(filter, { projection: { aid: 1, from: 1 } })
    .toArray()
  const begins = new Map<unknown, number>()
  for (const account of found) {
    const fromMs = fromOf(account)
    begins.set(account.aid, Math.min(fromMs, begins.get(account.aid) ?? fromMs))
  }
  return begins
}
