/**
 * Packed values in memory outside V8's heap, so that the garbage collector neither copies nor marks
 * them. A slot has the size of its class: multiples of 64 bytes up to 1 KiB, then powers of two.
 */
import { type Memory, memoryOf, type Reader } from '../ledger/reader.ts'

/** A value's place: number of the slab, then the position within it in units of `UNIT_BYTES`. */
export type Slot = number

const UNIT_BYTES = 64
const SLAB_BYTES = 65_536
const UNIT_BITS = 10
const UNIT_MASK = (1 << UNIT_BITS) - 1
/** Classes of multiples of the unit; a power of two each above. */
const SMALL_CLASSES = 16
const LENGTH_BYTES = 4

interface Slab extends Memory {
  sizeClass: number
}

export class Slabs {
  readonly #slabs: Slab[] = []
  /** Unused slots by class. */
  readonly #free: Slot[][] = []

  get slabCount(): number {
    return this.#slabs.length
  }

  /** Copies a value. */
  add(source: Buffer, from: number, end: number): Slot {
    const slot = this.#allocate(classOf(LENGTH_BYTES + end - from))
    this.#write(slot, source, from, end)
    return slot
  }

  /** Replaces a value, in its slot if that has room; otherwise the old slot is free. */
  replace(slot: Slot, source: Buffer, from: number, end: number): Slot {
    const sizeClass = classOf(LENGTH_BYTES + end - from)
    if (sizeClass !== this.#slabOf(slot).sizeClass) {
      this.free(slot)
      return this.add(source, from, end)
    }
    this.#write(slot, source, from, end)
    return slot
  }

  free(slot: Slot): void {
    this.#freeOf(this.#slabOf(slot).sizeClass).push(slot)
  }

  /** Opens the value, without copying it: valid until it is replaced or freed. */
  open(slot: Slot, reader: Reader): void {
    const slab = this.#slabOf(slot)
    const at = (slot & UNIT_MASK) * UNIT_BYTES
    const from = at + LENGTH_BYTES
    reader.open(slab, from, from + slab.view.getUint32(at, true))
  }

  /** Copies the value to other slabs and frees its slot. */
  move(slot: Slot, to: Slabs): Slot {
    const { bytes, view } = this.#slabOf(slot)
    const at = (slot & UNIT_MASK) * UNIT_BYTES
    const from = at + LENGTH_BYTES
    const moved = to.add(bytes, from, from + view.getUint32(at, true))
    this.free(slot)
    return moved
  }

  #slabOf(slot: Slot): Slab {
    return this.#slabs[slot >>> UNIT_BITS] as Slab
  }

  #write(slot: Slot, source: Buffer, from: number, end: number): void {
    const { bytes, view } = this.#slabOf(slot)
    const at = (slot & UNIT_MASK) * UNIT_BYTES
    view.setUint32(at, end - from, true)
    source.copy(bytes, at + LENGTH_BYTES, from, end)
  }

  #freeOf(sizeClass: number): Slot[] {
    let free = this.#free[sizeClass]
    if (free === undefined) {
      free = []
      this.#free[sizeClass] = free
    }
    return free
  }

  #allocate(sizeClass: number): Slot {
    const free = this.#freeOf(sizeClass)
    const slot = free.pop()
    if (slot !== undefined) return slot
    const sizeBytes = bytesOf(sizeClass)
    const count = Math.max(1, Math.floor(SLAB_BYTES / sizeBytes))
    const first = this.#slabs.length << UNIT_BITS
    const { bytes, view } = memoryOf(Buffer.allocUnsafeSlow(count * sizeBytes))
    this.#slabs.push({ bytes, view, sizeClass })
    for (let index = count - 1; index > 0; index -= 1) {
      free.push(first + (index * sizeBytes) / UNIT_BYTES)
    }
    return first
  }
}

function classOf(sizeBytes: number): number {
  const units = Math.ceil(sizeBytes / UNIT_BYTES)
  if (units <= SMALL_CLASSES) return units
  return SMALL_CLASSES + 32 - Math.clz32((units - 1) >>> 4)
}

function bytesOf(sizeClass: number): number {
  const isSmall = sizeClass <= SMALL_CLASSES
  return UNIT_BYTES * (isSmall ? sizeClass : SMALL_CLASSES << (sizeClass - SMALL_CLASSES))
}
