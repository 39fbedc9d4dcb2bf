/** Fields of charging data records by their tags, and how they are written in tables. */
import type { BerType } from './ber-values.ts'

/** `group`: a SEQUENCE or SET; `groups`, `addresses`: lists; `raw`: by its tags. */
export type BerFieldType = BerType | 'group' | 'groups' | 'addresses' | 'raw'

export interface BerField {
  readonly name: string
  readonly type: BerFieldType
  /** The fields of a group. */
  readonly fields: BerFields
}

/** By tag (context-specific). */
export type BerFields = ReadonlyMap<number, BerField>

export const NO_FIELDS: BerFields = new Map()

/** `NAME TYPE` by tag. */
type Row = `${string} ${BerFieldType}`
export type Rows = Readonly<Record<number, Row>>

export function fieldsOf(rows: Rows, groups: Readonly<Record<string, BerFields>> = {}): BerFields {
  return new Map(
    Object.entries(rows).map(([tag, row]) => {
      const [name = '', type] = row.split(' ') as [string, BerFieldType]
      return [Number(tag), { name, type, fields: groups[name] ?? NO_FIELDS }]
    }),
  )
}

/** Diagnostics. */
export const CAUSE = fieldsOf({
  0: 'gsm0408Cause integer',
  1: 'gsm0902MapErrorValue integer',
  2: 'itu-tQ767Cause integer',
  7: 'diameterResultCodeAndExperimentalResult integer',
})
