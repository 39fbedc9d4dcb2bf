/** All revisions of one entity while they are edited. Pure: `steps` returns the writes. */
import { ObjectId } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { RevisionWrite } from '../../catalog/revisions/store-revisions.ts'
import type { Fields } from '../../domain/fields.ts'
import { EntityRuleError, fieldRule } from '../../requests/errors.ts'
import { dateText } from './dates.ts'

interface Entry {
  document: RawDocument
  /** The stored version; null if it is new. */
  stored: RawDocument | null
  isDeleted: boolean
}

export class Draft {
  readonly #entries: Entry[]

  /** `stored`: the revisions that are not deleted, in any order. */
  constructor(stored: readonly RawDocument[]) {
    this.#entries = stored.map((document) => ({ document, stored: document, isDeleted: false }))
  }

  /** The remaining revisions, sorted by start. */
  revisions(): RawDocument[] {
    const present = this.#entries.filter(({ isDeleted }) => !isDeleted)
    return present.map(({ document }) => document).sort((a, b) => fromOf(a) - fromOf(b))
  }

  add(fields: Fields): RawDocument {
    return this.insert({ ...fields, _id: new ObjectId(), rev: 0 })
  }

  /** Adds a new revision that has an id. */
  insert(document: RawDocument): RawDocument {
    this.#entries.push({ document, stored: null, isDeleted: false })
    return document
  }

  /** Replaces fields of a revision. */
  change(revision: RawDocument, fields: Fields): RawDocument {
    return this.put(revision, { ...revision, ...fields })
  }

  /** Replaces a whole revision. */
  put(revision: RawDocument, document: RawDocument): RawDocument {
    const entry = this.#entryOf(revision)
    entry.document = { ...document, _id: revision._id, rev: revision.rev }
    return entry.document
  }

  remove(revision: RawDocument, nowMs: number): void {
    const entry = this.#entryOf(revision)
    entry.isDeleted = true
    entry.document = { ...entry.document, deleted: true, deleted_at: new Date(nowMs) }
  }

  /** The writes to store. Throws `EntityRuleError` if two revisions would overlap. */
  steps(zone: string): RevisionWrite[] {
    checkOrder(this.revisions(), zone)
    return this.#entries.flatMap(({ document, stored }): RevisionWrite[] => {
      if (stored === null) return [{ mode: 'insert', document }]
      if (document === stored) return []
      return [{ mode: 'replace', document }]
    })
  }

  /** Revisions to write, without deleted ones. */
  changed(): { document: RawDocument; stored: RawDocument | null }[] {
    return this.#entries.filter(
      ({ document, stored, isDeleted }) => !isDeleted && document !== stored,
    )
  }

  /** The stored versions of all revisions. */
  before(): RawDocument[] {
    return this.#entries.flatMap(({ stored }) => (stored === null ? [] : [stored]))
  }

  #entryOf({ _id: id }: RawDocument): Entry {
    const entry = this.#entries.find(({ document }) => document._id.equals(id))
    if (entry === undefined) throw new Error('a revision is not of this entity')
    return entry
  }
}

export function fromOf(revision: Fields): number {
  return (revision['from'] as Date).getTime()
}

export function toOf(revision: Fields): number {
  return (revision['to'] as Date).getTime()
}

function checkOrder(revisions: readonly RawDocument[], zone: string): void {
  for (const [index, revision] of revisions.entries()) {
    if (fromOf(revision) >= toOf(revision)) {
      const begin = dateText(fromOf(revision), zone)
      throw fieldRule('to', `must be after from (${begin}): the revision would be empty`)
    }
    const next = revisions[index + 1]
    if (next === undefined || toOf(revision) <= fromOf(next)) continue
    throw new EntityRuleError(
      `the revision from ${dateText(fromOf(revision), zone)} would overlap ` +
        `the one from ${dateText(fromOf(next), zone)}`,
      { path: 'from' },
    )
  }
}
