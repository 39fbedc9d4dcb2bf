/** Charges records that a caller has sent, and that are no file. */
import { createHash } from 'node:crypto'
import type { FileRecord } from '../file-types/records/record-files.ts'
import { chargeChunk, findDuplicates } from './charge-chunk.ts'
import { prepareChunk, type RecordState } from './prepared-chunk.ts'
import { type FindFileType, problemText, readOne } from './rejected.ts'
import { type IntakeStores, mappingOf } from './take-file.ts'

export interface ChargedText {
  state: RecordState
  /** Stamp of its line; empty for a record that has none. */
  stamp: string
  /** Why it is rejected; empty otherwise. */
  reason: string
}

/**
 * In the order of the texts, of which each is a record. A repetition gets `duplicate` for records
 * whose lines are recorded, and until then the outcomes that the ledger has stored.
 */
export async function chargeTexts(
  stores: IntakeStores,
  findFileType: FindFileType,
  fileTypeName: string,
  texts: readonly string[],
): Promise<ChargedText[]> {
  const fileType = await findFileType(fileTypeName)
  const records = texts.map((text, index): FileRecord => {
    const next = { offset: 0, line: index + 2, records: index + 1, hasTrailer: false }
    return { ...readOne(fileType, index + 1, text), isControl: false, next }
  })
  if (records.length === 0) return []
  const batchId = createHash('sha256')
    .update(JSON.stringify([fileTypeName, texts]))
    .digest('base64url')
  const { charges, result } = prepareChunk(records, mappingOf(stores, batchId, fileType))
  const { duplicates, recorded } = await findDuplicates(stores, charges)
  await chargeChunk(stores, charges, new Set(duplicates), result, recorded)
  const stamps = new Map(charges.map(({ record, stamps: [first = ''] }) => [record.line, first]))
  const reasons = new Map(
    result.rejections.map((one) => [one.line, problemText(one.field, one.why)]),
  )
  return records.map(({ line }) => {
    const state = result.states.get(line) ?? 'rejected'
    const hasLine = state === 'charged' || state === 'duplicate'
    return {
      state,
      stamp: hasLine ? (stamps.get(line) ?? '') : '',
      reason: reasons.get(line) ?? '',
    }
  })
}
