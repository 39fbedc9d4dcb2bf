/**
 * The hash chain of audit records. Each record carries its sequence number, the hash of the
 * previous record and its own hash. The hash covers one salted commitment per field
 * (`old.firstname`, `user`, `urt` ...), so that a value can be erased later: the commitment is
 * kept, the salt is deleted, and the hash of the record stays valid.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { BSON } from 'mongodb'
import type { Fields } from '../../domain/fields.ts'
import type { AuditDocument, ChainEnd, ChainLink } from '../records/audit-document.ts'

export type ChainedRecord = AuditDocument & { chain: ChainLink }

export const CHAIN_START: ChainEnd = { seq: 0, hash: '0'.repeat(64) }

/** Replaces an erased value. */
export const ERASED = '(erased)'

const FORMAT = 'tollgate-audit-1'
const SALT_BYTES = 16

/** A value with its own commitment: a field, or a member of one of the `NESTED` fields. */
interface Leaf {
  readonly path: readonly [field: string, member?: string]
  readonly value: unknown
}

/** Fields whose members have a commitment each. */
const NESTED: ReadonlySet<string> = new Set(['old', 'new', 'user'])

/**
 * Counts of refused requests are updated after the record is written, so the chain does not cover
 * them.
 */
const COUNTS: ReadonlySet<string> = new Set(['count', 'reasons', 'last'])

/** Links the records to the chain behind `end`, in order. */
export function linkRecords(documents: readonly AuditDocument[], end: ChainEnd): ChainedRecord[] {
  let { seq, hash } = end
  return documents.map((document) => {
    const salt = randomBytes(SALT_BYTES).toString('base64url')
    const link = { seq: seq + 1, prev: hash, hash: '', salt }
    // Hash the document as MongoDB will return it: without undefined members, with normalized
    // numbers.
    const stored = BSON.deserialize(BSON.serialize(document, { ignoreUndefined: true }))
    const record = { ...(stored as AuditDocument), chain: link }
    link.hash = hashOf(record)
    seq = link.seq
    hash = link.hash
    return record
  })
}

/** Computes the hash of a record from its content. */
export function hashOf(record: ChainedRecord): string {
  const { seq, prev } = record.chain
  const digest = createHash('sha256').update(`${FORMAT}\n${seq}\n${prev}\n`)
  for (const commitment of commitmentsOf(record)) digest.update(`${commitment}\n`)
  return digest.digest('hex')
}

/** Whether every erased field holds exactly the erasure mark. */
export function hasErasureMarks(record: ChainedRecord): boolean {
  const fields = record.chain.fields ?? []
  return leavesOf(record).every(({ value }, index) => {
    return fields[index]?.startsWith('c:') !== true || value === ERASED
  })
}

/**
 * Returns a copy of the record with the selected fields replaced by `ERASED`, or null if it has
 * none of them. `isErased` is called with the name of each field and, for nested fields, of the
 * member.
 */
export function eraseFields(
  record: ChainedRecord,
  erasure: string,
  isErased: (field: string, member: string | undefined, value: unknown) => boolean,
): ChainedRecord | null {
  const leaves = leavesOf(record)
  const isSelected = leaves.map(({ path: [field, member], value }) => {
    return value !== ERASED && isErased(field, member, value)
  })
  if (!isSelected.includes(true)) return null
  const commitments = commitmentsOf(record)
  const fields = leaves.map((_, index) => {
    if (isSelected[index] === true) return `c:${commitments[index]}`
    return record.chain.fields?.[index] ?? `s:${saltOf(record.chain, index)}`
  })
  const copy: Record<string, unknown> = { ...record }
  for (const [index, { path }] of leaves.entries()) {
    if (isSelected[index] !== true) continue
    const [field, member] = path
    copy[field] = member === undefined ? ERASED : { ...(copy[field] as Fields), [member]: ERASED }
  }
  const { salt: _, erased_by: before = [], ...link } = record.chain
  const erased_by = [...new Set([...before, erasure])]
  return { ...(copy as unknown as AuditDocument), chain: { ...link, fields, erased_by } }
}

function commitmentsOf(record: ChainedRecord): string[] {
  const { chain } = record
  return leavesOf(record).map(({ path, value }, index) => {
    const stored = chain.fields?.[index]
    if (stored?.startsWith('c:') === true) return stored.slice(2)
    const text = `${JSON.stringify(path)}\n${canonical(value)}`
    return createHmac('sha256', saltOf(chain, index)).update(text).digest('base64url')
  })
}

function saltOf({ salt = '', fields }: ChainLink, index: number): string {
  if (fields !== undefined) return fields[index]?.slice(2) ?? ''
  return createHash('sha256').update(`${salt}/${index}`).digest('base64url').slice(0, 22)
}

/** Sorted, so that the order does not depend on how the record was built. */
function leavesOf(record: ChainedRecord): Leaf[] {
  const { chain: _, ...content } = record
  return sortedEntries(content).flatMap(([field, value]): Leaf[] => {
    if (field === '_id' || COUNTS.has(field)) return []
    if (!NESTED.has(field) || !isPlain(value)) return [{ path: [field], value }]
    const members = sortedEntries(value)
    if (members.length === 0) return [{ path: [field], value }]
    return members.map(([member, part]) => ({ path: [field, member], value: part }))
  })
}

function sortedEntries(value: object): [string, unknown][] {
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
}

/** Canonical extended JSON keeps BSON types apart: `1` and `'1'`, or a date and its string. */
function canonical(value: unknown): string {
  return BSON.EJSON.stringify(value, { relaxed: false })
}

function isPlain(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return !(value instanceof Date) && !('_bsontype' in value)
}
