/** Lines are read-only, except that credits can be deleted until they are invoiced. */
import type { Actor } from '../../../catalog/actor.ts'
import { ObjectId } from '../../../catalog/collections.ts'
import { cycleAt } from '../../../domain/cycle.ts'
import type { Fields } from '../../../domain/fields.ts'
import type { RecordActions } from '../api.ts'
import { DISPLAY, EntityRuleError, TargetError } from '../errors.ts'
import type { EntityStores, WriteResult } from '../requests/entity-request.ts'
import { withRecordAudit } from './record-audit.ts'

export function lineActions(stores: EntityStores): RecordActions {
  return { write: (_, { actor, query }) => deleteLine(stores, actor, query['_id']) }
}

async function deleteLine(stores: EntityStores, actor: Actor, id: unknown): Promise<WriteResult> {
  const { catalog, clock, config } = stores
  if (!(id instanceof ObjectId)) throw new EntityRuleError('query: _id is missing', DISPLAY.request)
  const { timeZone, cycleDay } = config.rating
  const active = cycleAt(clock.nowMs(), timeZone, cycleDay).key
  const filter = { _id: id } as object
  const found = (await catalog.run('read lines', () => catalog.lines.findOne(filter))) as Fields
  if (found === null) throw new TargetError(`lines: there is no line with _id ${id.toHexString()}`)
  const reason = reasonToKeep(found, active)
  if (reason !== null) throw new EntityRuleError(`delete: ${reason}`, DISPLAY.refused)
  // Matches only the state that was read: the line may have been invoiced since.
  const same = { ...filter, type: 'credit', billrun: found['billrun'] ?? { $exists: false } }
  const entry = { actor, store: 'lines', type: 'delete', id, old: found, set: null } as const
  return withRecordAudit(stores, { ...entry, key: String(found['stamp']) }, async () => {
    const { deletedCount } = await catalog.run('delete a line', () =>
      catalog.lines.deleteOne({ ...same, in_queue: { $ne: true } } as object),
    )
    if (deletedCount === 1) return { details: true, entity: null }
    throw new EntityRuleError('delete: the line was changed meanwhile', DISPLAY.refused)
  })
}

function reasonToKeep(line: Fields, activeCycle: string): string | null {
  const { type, in_queue: isQueued, billrun } = line
  if (type !== 'credit') return `only lines of type credit can be deleted, this is ${String(type)}`
  if (isQueued === true) return 'the line is still being processed (in_queue)'
  if (billrun === undefined || String(billrun) >= activeCycle) return null
  return `billrun ${String(billrun)} is before the active cycle ${activeCycle}`
}
