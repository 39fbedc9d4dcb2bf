/** A charging data record as a message: its values by name, or by tag where no name is known. */
import { type BaseBlock, fromBER } from 'asn1js'
import { RECORD_TYPE_TAG } from './ber-dictionary.ts'
import { type BerField, type BerFields, NO_FIELDS } from './ber-fields.ts'
import { BER_DEPTH_MAX, TOO_DEEP } from './ber-framing.ts'
import { type BerType, decodedAs, notOfType } from './ber-values.ts'
import { RECORD_BYTES_MAX } from './framing.ts'
import { type ParsedRecord, refused } from './syntax.ts'

/** Values of a record, those that contain others included. */
const VALUES_MAX = 4_096
const LIMITS = {
  maxDepth: BER_DEPTH_MAX,
  maxNodes: VALUES_MAX,
  maxContentLength: RECORD_BYTES_MAX,
  copyInput: false,
  // Contents of OCTET STRING are no values of the record.
  parseEmbedded: false,
}
const FILLED = /^(?:00|ff)*$/

/** Fields by record type, those of the document included; null: of all other types. */
export type BerSchema = ReadonlyMap<number | null, BerFields>

/** Reads the bytes of one record, which fillers may follow. Never throws. */
export function parseBer(bytes: Buffer, schema: BerSchema): ParsedRecord {
  // A view of its own: places in it are those of the record.
  const decoded = decode(new Uint8Array(bytes))
  if (typeof decoded === 'string') return refused(decoded)
  const { offset, result } = decoded
  if (!FILLED.test(bytes.toString('hex', offset))) {
    return refused(`has ${bytes.length - offset} bytes after its value`)
  }
  const members = membersOf(result)
  if (members === null) return refused('is no constructed value')
  const type = members.find((each) => tagOf(each) === RECORD_TYPE_TAG)
  const recordType = type === undefined ? null : decodedAs('integer', contentsOf(type))
  const fields = schema.get(recordType as number | null) ?? schema.get(null) ?? NO_FIELDS
  return { message: groupOf(members, fields), problem: null }
}

/** Throws nothing; a text is why there is no value. */
function decode(bytes: Uint8Array): ReturnType<typeof fromBER> | string {
  try {
    const decoded = fromBER(bytes, LIMITS)
    return decoded.offset < 0 ? whyNot(decoded.result.error) : decoded
  } catch (error) {
    // For contents that are wrong for their type, such as a time.
    return whyNot(error instanceof Error ? error.message : String(error))
  }
}

function whyNot(error: string): string {
  if (error.includes('depth')) return TOO_DEEP
  if (error.includes('node count')) return `has more than ${VALUES_MAX} values`
  return `is not BER: ${error}`
}

/** Null of a primitive. */
function membersOf(block: BaseBlock): readonly BaseBlock[] | null {
  const { value } = block.valueBlock as { value?: unknown }
  return block.idBlock.isConstructed && Array.isArray(value) ? value : null
}

function contentsOf({ idBlock, lenBlock, valueBeforeDecodeView }: BaseBlock): Buffer {
  const { buffer, byteOffset, byteLength } = valueBeforeDecodeView
  const head = idBlock.blockLength + lenBlock.blockLength
  return Buffer.from(buffer, byteOffset + head, byteLength - head)
}

const UNIVERSAL = 1
const CONTEXT = 3
/** Before the numbers of tags of other classes (asn1js: 1 universal, 2 application, 4 private). */
const CLASSES: Readonly<Record<number, string>> = { 1: 'U', 2: 'A', 4: 'P' }

/** -1 if it is of another class. */
function tagOf({ idBlock }: BaseBlock): number {
  return idBlock.tagClass === CONTEXT ? idBlock.tagNumber : -1
}

/** A value that occurs several times becomes a list. */
function groupOf(members: readonly BaseBlock[], fields: BerFields): Record<string, unknown> {
  const group: Record<string, unknown> = Object.create(null)
  const lists = new Set<string>()
  for (const member of members) {
    const { idBlock } = member
    const field = fields.get(tagOf(member))
    const name = field?.name ?? `${CLASSES[idBlock.tagClass] ?? ''}${idBlock.tagNumber}`
    const value = field === undefined ? rawOf(member, NO_FIELDS) : fieldOf(member, field)
    if (!(name in group)) group[name] = value
    else if (lists.has(name)) (group[name] as unknown[]).push(value)
    else {
      group[name] = [group[name], value]
      lists.add(name)
    }
  }
  return group
}

function fieldOf(block: BaseBlock, { type, fields }: BerField): unknown {
  const members = membersOf(block)
  if (type === 'raw') return rawOf(block, fields)
  if (type === 'address') return decodedAs('address', contentsOf(firstPrimitive(block)))
  if (members === null) {
    const contents = contentsOf(block)
    const isStructure = type === 'group' || type === 'groups' || type === 'addresses'
    return isStructure ? notOfType(contents) : decodedAs(type, contents)
  }
  if (type === 'group') return groupOf(members, fields)
  if (type === 'groups') {
    return members.map((each) => {
      const inner = membersOf(each)
      return inner === null ? notOfType(contentsOf(each)) : groupOf(inner, fields)
    })
  }
  if (type === 'addresses') {
    return members.map((each) => decodedAs('address', contentsOf(firstPrimitive(each))))
  }
  // A text in parts (X.690 clause 8.7.3), or a choice of one value.
  const parts = members.map((each) => (membersOf(each) === null ? contentsOf(each) : null))
  if (parts.includes(null)) return notOfType(contentsOf(block))
  return decodedAs(type, Buffer.concat(parts as Buffer[]))
}

/** A choice is the value that it is. */
function firstPrimitive(block: BaseBlock): BaseBlock {
  const [first] = membersOf(block) ?? []
  return first === undefined ? block : firstPrimitive(first)
}

/** Types of values without a context-specific tag; other ones are hexadecimal. */
const TYPES: ReadonlyMap<number, BerType> = new Map([
  [1, 'boolean'],
  [2, 'integer'],
  [5, 'null'],
  [10, 'integer'],
  [12, 'text'],
  [19, 'text'],
  [22, 'text'],
  [25, 'text'],
  [26, 'text'],
])

/** A list if its members have no tags of their own, otherwise a group. */
function rawOf(block: BaseBlock, fields: BerFields): unknown {
  const members = membersOf(block)
  if (members !== null) {
    const isList = members.every(({ idBlock }) => idBlock.tagClass === UNIVERSAL)
    return isList ? members.map((each) => rawOf(each, fields)) : groupOf(members, fields)
  }
  const { tagClass, tagNumber } = block.idBlock
  const type = tagClass === UNIVERSAL ? TYPES.get(tagNumber) : undefined
  return decodedAs(type ?? 'hex', contentsOf(block))
}
