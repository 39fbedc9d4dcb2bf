/**
 * The compiled revisions of one collection, by key. Takes documents as they change and compiles
 * only those; hands out maps that never change afterwards.
 */
import type { Revision } from '../domain/catalogue.ts'
import type { RawDocument } from './compile.ts'
import { CompileError } from './errors.ts'

/** A document that is left out because it does not compile. */
export interface SkippedDocument {
  collection: string
  id: string
  name: string
  path: string
  reason: string
}

export interface RevisionTable<K extends string | number, T extends Revision> {
  /** Takes new states of documents; true if any differs from what was there. */
  apply(documents: readonly RawDocument[]): boolean
  /** Revisions by key, sorted by start, without overlaps. The map is not changed by later calls. */
  byKey(): ReadonlyMap<K, readonly T[]>
  skipped(): readonly SkippedDocument[]
}

export interface TableOptions<K, T> {
  collection: string
  compile: (document: RawDocument) => T
  keyOf: (revision: T) => K
  nameOf: (document: RawDocument) => string
  /** Told once per document state that does not compile. */
  onSkip: (skipped: SkippedDocument) => void
}

interface Entry<T> {
  rev: number
  revision: T | null
  skipped: SkippedDocument | null
}

export function createRevisionTable<K extends string | number, T extends Revision>(
  options: TableOptions<K, T>,
): RevisionTable<K, T> {
  const entries = new Map<string, Entry<T>>()
  const groups = new Map<K, Map<string, Entry<T>>>()
  const changedKeys = new Set<K>()
  let published: ReadonlyMap<K, readonly T[]> = new Map()

  const remove = (id: string): void => {
    const entry = entries.get(id)
    if (entry === undefined) return
    entries.delete(id)
    if (entry.revision === null) return
    const key = options.keyOf(entry.revision)
    groups.get(key)?.delete(id)
    changedKeys.add(key)
  }

  const put = (id: string, entry: Entry<T>): void => {
    entries.set(id, entry)
    if (entry.revision === null) return
    const key = options.keyOf(entry.revision)
    const group = groups.get(key) ?? new Map<string, Entry<T>>()
    groups.set(key, group.set(id, entry))
    changedKeys.add(key)
  }

  return {
    apply(documents) {
      let hasChanged = false
      for (const document of documents) {
        const id = String(document._id)
        const rev = document.rev ?? 0
        if (entries.get(id)?.rev === rev) continue
        remove(id)
        put(id, compileEntry(document, id, rev, options))
        hasChanged = true
      }
      return hasChanged
    },
    byKey() {
      const next = new Map(published)
      for (const key of changedKeys) {
        const revisions = sequence([...(groups.get(key)?.values() ?? [])])
        if (revisions.length === 0) next.delete(key)
        else next.set(key, revisions)
      }
      changedKeys.clear()
      published = next
      return next
    },
    skipped: () => [...entries.values()].flatMap(({ skipped }) => skipped ?? []),
  }
}

function compileEntry<K, T>(
  document: RawDocument,
  id: string,
  rev: number,
  options: TableOptions<K, T>,
): Entry<T> {
  if (document['deleted'] === true) return { rev, revision: null, skipped: null }
  try {
    return { rev, revision: options.compile(document), skipped: null }
  } catch (error) {
    if (!(error instanceof CompileError)) throw error
    const { path, reason } = error
    const { collection } = options
    const skipped = { collection, id, name: options.nameOf(document), path, reason }
    options.onSkip(skipped)
    return { rev, revision: null, skipped }
  }
}

/**
 * Sorted by start; where two overlap, the later one begins and the earlier one ends. That is also
 * what is seen between the two writes of "close this one and begin a new one".
 */
function sequence<T extends Revision>(entries: readonly Entry<T>[]): readonly T[] {
  const sorted = entries
    .flatMap(({ rev, revision }) => (revision === null ? [] : [{ rev, revision }]))
    .sort((a, b) => a.revision.fromMs - b.revision.fromMs || a.rev - b.rev)
  const result: T[] = []
  for (const [index, { revision }] of sorted.entries()) {
    const nextFromMs = sorted[index + 1]?.revision.fromMs ?? revision.toMs
    const toMs = Math.min(revision.toMs, nextFromMs)
    if (toMs > revision.fromMs) result.push(Object.freeze({ ...revision, toMs }))
  }
  return Object.freeze(result)
}
