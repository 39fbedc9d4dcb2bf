import type { Doc } from '../values/document.ts'
import { RawFields } from '../values/raw-fields.ts'
import type { IndexLayout } from './index-layout.ts'

/** The bytes of a document, of which only the fields that indexes read are found and decoded. */
export class IndexedDocument {
  readonly bytes: Buffer
  readonly fields: RawFields
  readonly #layout: IndexLayout

  constructor(layout: IndexLayout, bytes: Buffer) {
    this.bytes = bytes
    this.fields = new RawFields(layout.fields, bytes)
    this.#layout = layout
  }

  /** The fields that one index reads. */
  docFor(position: number): Doc {
    return this.fields.decode(this.#layout.reads[position]!)
  }

  /** Whether the fields of an index have the same bytes in both documents, so the same keys. */
  isSameFor(position: number, other: IndexedDocument): boolean {
    for (const slot of this.#layout.reads[position]!) {
      if (!this.fields.isSame(slot, other.fields, slot)) return false
    }
    return true
  }
}
