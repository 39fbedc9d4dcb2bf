import { type Static, Type } from '@sinclair/typebox'
import { field, KEY_API } from './api.ts'
import {
  anyText,
  defineEntity,
  REV_INDEX,
  revisionFields,
  type StoredFields,
  text,
} from './entity.ts'
import { listOf, ref } from './json-schema.ts'

const parts = (what: string) =>
  field(
    Type.Optional(Type.Array(Type.Unknown(), { expected: 'a list' })),
    listOf(ref('reportPart'), what),
  )

/** A saved report. Its parts are interpreted when it is run. */
export const ReportSchema = Type.Object({
  key: field(text(), 'Name of the report.', { ...KEY_API, query: ['get'] }),
  ...revisionFields,
  user: field(anyText(), 'User who saved it.', { query: ['get'] }),
  entity: field(anyText(), 'Subject of the report, such as `usage`.'),
  type: field(
    Type.Optional(
      Type.Union([Type.Literal(0), Type.Literal(1)], { expected: '0 (simple) or 1 (grouped)' }),
    ),
    '0: simple; 1: grouped.',
    { type: 'integer' },
  ),
  columns: parts('Columns.'),
  conditions: parts('Conditions on the rows.'),
  sorts: parts('Sort order.'),
  formats: parts('Formats of values.'),
})

export type ReportDocument = Static<typeof ReportSchema> & StoredFields

/** Confirmed cycles do not restrict changes of saved reports. */
export const ReportEntity = defineEntity({
  schema: ReportSchema,
  indexes: [{ key: { key: 1, from: 1 } }, REV_INDEX],
  identity: ['key'],
  api: {
    name: 'reports',
    about: 'Saved reports',
    keyField: 'key',
    hasMinimumDate: false,
    readers: ['read', 'reports'],
    writers: ['write', 'reports'],
    actions: ['get', 'create', 'update', 'delete'],
  },
})
