import { valueAt, valueEnd } from './bson-bytes.ts'
import { type Doc, setField, type Value } from './document.ts'

/** A set of names of top-level fields; each has a slot, its position in `names`. */
export class FieldNames {
  readonly names: readonly string[]
  readonly #bytes: readonly Buffer[]
  /** Slot + 1 by the hash of the name, with linear probing; 0 is free. */
  readonly #table: Int32Array
  readonly #mask: number

  constructor(names: Iterable<string>) {
    this.names = [...new Set(names)]
    this.#bytes = this.names.map((name) => Buffer.from(name))
    this.#mask = 2 ** Math.ceil(Math.log2(this.names.length * 8 + 1)) - 1
    this.#table = new Int32Array(this.#mask + 1)
    this.#bytes.forEach((name, slot) => {
      let at = hashOf(name, 0, name.length) & this.#mask
      while (this.#table[at] !== 0) at = (at + 1) & this.#mask
      this.#table[at] = slot + 1
    })
  }

  /** Slot of the name in `bytes` from `start` to `end`; -1 if it is not in the set. */
  slotOf(bytes: Uint8Array, start: number, end: number): number {
    for (let at = hashOf(bytes, start, end) & this.#mask; ; at = (at + 1) & this.#mask) {
      const slot = this.#table[at]! - 1
      if (slot < 0 || isName(this.#bytes[slot]!, bytes, start, end)) return slot
    }
  }
}

/** Sufficient for the few names of a set. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  if (start === end) return 0
  return bytes[start]! * 7 + bytes[end - 1]! * 31 + (end - start)
}

function isName(name: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (name.length !== end - start) return false
  for (let i = 0; i < name.length; i++) if (name[i] !== bytes[start + i]) return false
  return true
}

/** The value of a field in the bytes of a document. */
export type RawValue = {
  readonly bytes: Buffer
  readonly type: number
  readonly start: number
  readonly end: number
}

export function decodeRaw({ bytes, type, start, end }: RawValue): Value {
  return valueAt(bytes, type, start, end)
}

export function isSameRaw(a: RawValue, b: RawValue): boolean {
  return a.type === b.type && areSame(a.bytes, a.start, a.end, b.bytes, b.start, b.end)
}

function areSame(
  a: Uint8Array,
  startA: number,
  endA: number,
  b: Uint8Array,
  startB: number,
  endB: number,
): boolean {
  const length = endA - startA
  if (endB - startB !== length) return false
  for (let i = 0; i < length; i++) if (a[startA + i] !== b[startB + i]) return false
  return true
}

/**
 * Some top-level fields of a document that `decode` accepts, found in one pass over its bytes. Of
 * several fields with one name the last one counts, as in `decode`.
 */
export class RawFields {
  readonly bytes: Buffer
  readonly names: FieldNames
  /** Type, start and end of the value for each slot; type 0 for a missing field. */
  readonly #ranges: number[]

  constructor(names: FieldNames, bytes: Buffer) {
    this.bytes = bytes
    this.names = names
    this.#ranges = find(names, bytes)
  }

  has(slot: number): boolean {
    return this.#ranges[3 * slot] !== 0
  }

  raw(slot: number): RawValue | undefined {
    const type = this.#ranges[3 * slot]
    if (!type) return undefined
    const start = this.#ranges[3 * slot + 1]!
    return { bytes: this.bytes, type, start, end: this.#ranges[3 * slot + 2]! }
  }

  /** A document of the fields of these slots only. */
  decode(slots: readonly number[]): Doc {
    const doc: Doc = {}
    for (const slot of slots) {
      const raw = this.raw(slot)
      if (raw) setField(doc, this.names.names[slot]!, decodeRaw(raw))
    }
    return doc
  }

  /** A document of all of these fields. */
  decodeAll(): Doc {
    const { names } = this.names
    const doc: Doc = {}
    for (let slot = 0; slot < names.length; slot++) {
      const type = this.#ranges[3 * slot]!
      if (type === 0) continue
      const start = this.#ranges[3 * slot + 1]!
      setField(doc, names[slot]!, valueAt(this.bytes, type, start, this.#ranges[3 * slot + 2]!))
    }
    return doc
  }

  /** Whether a field has the same type and bytes in two documents, or is missing in both. */
  isSame(slot: number, other: RawFields, otherSlot: number): boolean {
    const at = 3 * slot
    const otherAt = 3 * otherSlot
    const type = this.#ranges[at]
    if (type !== other.#ranges[otherAt]) return false
    if (type === 0) return true
    const [start, end] = [this.#ranges[at + 1]!, this.#ranges[at + 2]!]
    const [otherStart, otherEnd] = [other.#ranges[otherAt + 1]!, other.#ranges[otherAt + 2]!]
    return areSame(this.bytes, start, end, other.bytes, otherStart, otherEnd)
  }
}

function find(names: FieldNames, bytes: Buffer): number[] {
  const ranges: number[] = new Array(3 * names.names.length).fill(0)
  const { length } = bytes
  let at = 4
  for (;;) {
    const type = bytes[at]
    if (!type) return ranges
    const nameAt = ++at
    while (bytes[at]) at += 1
    const slot = names.slotOf(bytes, nameAt, at)
    const start = at + 1
    at = valueEnd(bytes, type, start)
    if (at < start || at >= length) throw new Error(`a document is corrupt at byte ${start}`)
    if (slot < 0) continue
    ranges[3 * slot] = type
    ranges[3 * slot + 1] = start
    ranges[3 * slot + 2] = at
  }
}
