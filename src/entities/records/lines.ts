/** Lines are read-only, except that credits can be deleted until they are invoiced. */
import { appendAudit } from '../../catalog/audit/audit.ts'
import { type ClientSession, ObjectId } from '../../catalog/collections.ts'
import { inTransaction } from '../../catalog/trial.ts'
import { cycleAt } from '../../domain/cycle.ts'
import type { Fields } from '../../domain/fields.ts'
import { DISPLAY, EntityRuleError, TargetError } from '../../requests/errors.ts'
import type { RecordActions, RecordWriteRequest } from '../api.ts'
import type { EntityStores, WriteResult } from '../requests/entity-request.ts'

export function lineActions(stores: EntityStores): RecordActions {
  return { canTry: true, write: (_, write) => deleteLine(stores, write) }
}

async function deleteLine(
  { catalog, clock, config }: EntityStores,
  { actor, query: { _id: id }, isTrial = false }: RecordWriteRequest,
): Promise<WriteResult> {
  if (!(id instanceof ObjectId))
    throw new EntityRuleError(
      'query: _id is missing',
      { path: 'query._id', code: 'missing' },
      DISPLAY.request,
    )
  const { timeZone, cycleDay } = config.rating
  const active = cycleAt(clock.nowMs(), timeZone, cycleDay).key
  const filter = { _id: id } as object
  const change = async (session: ClientSession) => {
    const found = (await catalog.lines.findOne(filter)) as Fields
    if (found === null) {
      throw new TargetError(`lines: there is no line with _id ${id.toHexString()}`)
    }
    const reason = reasonToKeep(found, active)
    if (reason !== null) throw new EntityRuleError(`delete: ${reason}`, 'refused', DISPLAY.refused)
    // The recorder writes lines without transactions: only in the state that was read.
    const same = { ...filter, type: 'credit', billrun: found['billrun'] ?? { $exists: false } }
    const { deletedCount } = await catalog.lines.deleteOne(
      { ...same, in_queue: { $ne: true } } as object,
      { session },
    )
    if (deletedCount === 0) {
      throw new EntityRuleError(
        'delete: the line was changed meanwhile',
        'refused',
        DISPLAY.refused,
      )
    }
    const key = String(found['stamp'])
    const entry = { collection: 'lines', type: 'delete', key, old: found, new: null }
    appendAudit(session, actor, clock.nowMs(), entry)
    return { details: true, entity: null }
  }
  return inTransaction(catalog, 'delete lines', change, isTrial)
}

function reasonToKeep(line: Fields, activeCycle: string): string | null {
  const { type, in_queue: isQueued, billrun } = line
  if (type !== 'credit') return `only lines of type credit can be deleted, this is ${String(type)}`
  if (isQueued === true) return 'the line is still being processed (in_queue)'
  if (billrun === undefined || String(billrun) >= activeCycle) return null
  return `billrun ${String(billrun)} is before the active cycle ${activeCycle}`
}
