/** `remove`: deletes credit lines by their stamps. */
import { Type } from '@sinclair/typebox'
import { cycleAt } from '../../../domain/cycle.ts'
import { ApiError } from '../../../requests/errors.ts'
import { type ActionCall, action } from '../action.ts'
import { param } from '../parameters.ts'
import { callEntity } from './entity-calls.ts'

const STAMPS_MAX = 1_000
const STAMP = /^[\w.:/-]{1,200}$/
const INVALID = { status: false, desc: 'failed - invalid stamps input' }

export const remove = action({
  name: 'remove',
  level: 'write',
  about: 'Delete credit lines that are not invoiced yet, if `actions.remove` is enabled',
  entityActions: () => [{ collection: 'lines', action: 'delete' }],
  isReadByGet: true,
  writesByGet: true,
  parameters: Type.Object({
    stamps: param.optional(param.json('Stamps of the lines: a list, or separated by commas.')),
  }),
  answer: {
    status: {
      type: ['integer', 'boolean'],
      description: 'Number of deleted lines; false if nothing could be done, or not all of it.',
    },
  },
  example: {
    parameters: { stamps: ['9b3f0c5d1e2a4b6c8d7e9f0a1b2c3d4e'] },
    answer: { status: 1 },
  },
  async run({ stamps: value }, call) {
    if (!call.config.actions.remove) return { status: false, desc: 'remove is not enabled' }
    const stamps = stampsOf(value)
    if (stamps === null) return INVALID
    let removed = 0
    for (const id of await removableLines(call, stamps)) {
      try {
        await callEntity(call, 'lines', 'delete', { query: { _id: id } })
        removed += 1
      } catch (error) {
        // Refused: the line has been changed or deleted meanwhile.
        if (!(error instanceof ApiError) || error.httpStatus >= 500) throw error
        return { status: false, desc: 'remove failed' }
      }
    }
    return { status: removed }
  },
})

function stampsOf(value: unknown): readonly string[] | null {
  if (value === undefined || value === '') return null
  const list: readonly unknown[] = Array.isArray(value) ? value : String(value).split(',')
  const stamps = list.map((each) => (typeof each === 'string' ? each.trim() : ''))
  const isValid = stamps.length > 0 && stamps.length <= STAMPS_MAX
  return isValid && stamps.every((stamp) => STAMP.test(stamp)) ? [...new Set(stamps)] : null
}

/** Ids of the credit lines of the active and later cycles. */
async function removableLines(
  { catalog, config, nowMs }: ActionCall,
  stamps: readonly string[],
): Promise<readonly string[]> {
  const { timeZone, cycleDay } = config.rating
  const active = cycleAt(nowMs, timeZone, cycleDay).key
  const filter = {
    stamp: { $in: stamps },
    type: 'credit',
    $or: [{ billrun: { $gte: active } }, { billrun: { $exists: false } }],
  }
  const found = await catalog.lines.find(filter as object, { projection: { _id: 1 } }).toArray()
  return found.map(({ _id }) => String(_id))
}
