/** `linesfiles`, `linesrejected`: files of usage records, and records that were rejected. */
import { Type } from '@sinclair/typebox'
import { listOf } from '../../../catalog/entities/json-schema.ts'
import type {
  IntakeFileDocument,
  IntakeRejectedDocument,
} from '../../../catalog/records/usage/intake-documents.ts'
import { moneyOf } from '../../../catalog/records/usage/money-value.ts'
import { listRejected } from '../../../intake/rejected.ts'
import { action } from '../action.ts'
import { param } from '../parameters.ts'
import { FILE_STATES, INTAKE_FILE, REJECTED_RECORD, REJECTED_STATES } from './schemas.ts'

const SIZE = 100
const SIZE_MAX = 1_000
const PAGES_MAX = 1_000

const page = {
  page: param.optional(
    param.integer('Number of the page; 0 by default.', { minimum: 0, maximum: PAGES_MAX }),
  ),
  size: param.optional(
    param.integer(`Members of a page; ${SIZE} by default.`, { minimum: 1, maximum: SIZE_MAX }),
  ),
}

const rangeOf = ({ page: at = 0, size = SIZE }: { page?: number; size?: number }) => ({
  skip: at * size,
  limit: size,
})

export const linesfiles = action({
  name: 'linesfiles',
  paths: ['/api/lines/files'],
  level: 'read',
  about: 'List files of usage records with what was charged',
  isReadByGet: true,
  isPassive: true,
  parameters: Type.Object({
    file: param.optional(param.text('Only the file with this id.')),
    state: param.optional(param.choice(FILE_STATES, 'Only files in this state.')),
    ...page,
  }),
  answer: { details: listOf(INTAKE_FILE, 'The newest first.') },
  example: { parameters: { state: 'running' }, answer: { details: [] } },
  async run({ file, state, ...range }, { catalog }) {
    const filter = {
      ...(file !== undefined && { _id: file }),
      ...(state !== undefined && { state }),
    }
    const { skip, limit } = rangeOf(range)
    const found = catalog.reads.intakefiles.find(filter).sort({ begun: -1 })
    return { details: (await found.skip(skip).limit(limit).toArray()).map(fileView) }
  },
})

function fileView(document: IntakeFileDocument) {
  const { _id: file, owner: _, chunk: __, position, totals, ...rest } = document
  return {
    ...{ file, ...rest, offset: position.offset },
    totals: totals.map(({ price_micros, ...total }) => ({
      ...total,
      price: moneyOf(price_micros),
    })),
  }
}

export const linesrejected = action({
  name: 'linesrejected',
  paths: ['/api/lines/rejected'],
  level: 'read',
  about: 'List usage records that were rejected, with the reasons',
  isReadByGet: true,
  parameters: Type.Object({
    file: param.optional(param.text('Only records of the file with this id.')),
    state: param.optional(param.choice(REJECTED_STATES, 'Only records in this state.')),
    file_type: param.optional(param.text('Only records of this file type.', { maxLength: 64 })),
    reason: param.optional(param.text('Only records with this reason.')),
    id: param.optional(param.text('Only the record with this id.')),
    ...page,
  }),
  answer: { details: listOf(REJECTED_RECORD, 'The newest first; those of a file in their order.') },
  example: { parameters: { state: 'waiting' }, answer: { details: [] } },
  async run({ id, file, state, file_type, reason, ...range }, { catalog }) {
    const query = { id, file, state, file_type, reason }
    const found = await listRejected(catalog, query, rangeOf(range))
    return { details: found.map(rejectedView) }
  },
})

function rejectedView({ _id: id, ...record }: IntakeRejectedDocument) {
  return { id, ...record }
}
