import { type Static, Type } from '@sinclair/typebox'
import type { EntityDefinition, StoredFields } from './entity.ts'
import { REV_INDEX, REVISION_DATES, revisionFields, text } from './entity.ts'

const parts = () => Type.Optional(Type.Array(Type.Unknown(), { expected: 'a list' }))

/** A saved report. Its parts are interpreted when it is run. */
export const ReportSchema = Type.Object({
  key: text(),
  ...revisionFields,
  /** The user who saved it. */
  user: Type.Optional(Type.String({ expected: 'a text' })),
  entity: Type.Optional(Type.String({ expected: 'a text' })),
  type: Type.Optional(
    Type.Union([Type.Literal(0), Type.Literal(1)], { expected: '0 (simple) or 1 (grouped)' }),
  ),
  columns: parts(),
  conditions: parts(),
  sorts: parts(),
  formats: parts(),
})

export type ReportDocument = Static<typeof ReportSchema> & StoredFields

export const ReportEntity: EntityDefinition = {
  schema: ReportSchema,
  indexes: [{ key: { key: 1, from: 1 } }, REV_INDEX],
  identity: ['key'],
  dates: REVISION_DATES,
}
