/** Lines are read-only, but for credits that no invoice has yet (spec/entity-api.md 3.15). */
import { ObjectId } from '../../../catalog/collections.ts'
import { cycleAt } from '../../../domain/cycle.ts'
import type { OwnActions } from '../api.ts'
import type { EntityStores, WriteResult } from '../entity-request.ts'
import { DISPLAY, RuleError, TargetError } from '../errors.ts'
import type { Fields } from '../timeline/draft.ts'

export function lineActions(stores: EntityStores): OwnActions {
  return { write: (_, { query }) => deleteLine(stores, query['_id']) }
}

async function deleteLine(
  { catalog, clock, config }: EntityStores,
  id: unknown,
): Promise<WriteResult> {
  if (!(id instanceof ObjectId)) throw new RuleError('query: _id is missing', DISPLAY.request)
  const { timeZone, cycleDay } = config.rating
  const active = cycleAt(clock.nowMs(), timeZone, cycleDay).key
  const filter = { _id: id } as object
  const found = (await catalog.run('read lines', () => catalog.lines.findOne(filter))) as Fields
  if (found === null) throw new TargetError(`lines: there is none with _id ${id.toHexString()}`)
  const reason = reasonToKeep(found, active)
  if (reason !== null) throw new RuleError(`delete: ${reason}`, DISPLAY.refused)
  // As it was looked at: an invoice may have taken it meanwhile.
  const same = { ...filter, type: 'credit', billrun: found['billrun'] ?? { $exists: false } }
  const { deletedCount } = await catalog.run('delete a line', () =>
    catalog.lines.deleteOne({ ...same, in_queue: { $ne: true } } as object),
  )
  if (deletedCount === 1) return { details: true, entity: null }
  throw new RuleError('delete: the line was changed meanwhile', DISPLAY.refused)
}

function reasonToKeep(line: Fields, activeCycle: string): string | null {
  const { type, in_queue: isQueued, billrun } = line
  if (type !== 'credit') return `only lines of type credit can be deleted, this is ${String(type)}`
  if (isQueued === true) return 'the line is still being processed (in_queue)'
  if (billrun === undefined || String(billrun) >= activeCycle) return null
  return `billrun ${String(billrun)} is before the active cycle ${activeCycle}`
}
