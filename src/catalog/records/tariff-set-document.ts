/** Tariff change sets: writes of the catalogue that take effect together (entities/tariffs). */
import { BSON, type ObjectId } from 'mongodb'
import type { FieldIssue } from '../../domain/field-errors.ts'
import type { RawDocument } from '../compile/document.ts'
import type { EntityCollection } from '../entities/entity-table.ts'
import type { HeadDocument } from './head-document.ts'

/** One write of the entity API. */
export interface TariffWrite {
  collection: string
  action: string
  query: Readonly<Record<string, unknown>>
  update: Readonly<Record<string, unknown>>
}

/** The changes of a scheduled set to the revisions of one entity. */
export interface TariffChange {
  collection: EntityCollection
  key: string | number
  /** Place of its first write in the set. */
  write: number
  /** The revisions that it has changed, as they were. */
  before: RawDocument[]
  /** Revisions that it has added. */
  added: ObjectId[]
  /** Digest of all revisions of the entity after the writes of the set. */
  digest: number
}

export interface TariffSetDocument {
  /** Name of the set. */
  _id: string
  activation: Date
  /** JSON texts: names of fields may have dots. */
  writes: string
  cases: string
  /** A scheduled set is activated by its time. `failed`: the last check has found errors. */
  state: 'draft' | 'checked' | 'failed' | 'scheduled' | 'rolled_back'
  /** The numbers of the newest writes when the set was prepared or cancelled. */
  numbers: HeadDocument['numbers']
  /** Errors of the last check. */
  errors: FieldIssue[]
  /** Empty unless the set is scheduled, or was. */
  changes: TariffChange[]
  /** From when on the previous terms apply again; null unless it was rolled back. */
  rolled_back_at: Date | null
  history: { action: string; at: Date; by: string }[]
}

/** MongoDB stores documents of up to 16 MiB; the history of the set grows. */
const SET_BYTES_MAX = 15 * 1024 * 1024

/** Whether the set is too large to be stored. */
export function isTooLarge(set: TariffSetDocument): boolean {
  return BSON.calculateObjectSize(set) > SET_BYTES_MAX
}
