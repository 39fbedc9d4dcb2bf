/**
 * The compiled revisions of one collection, by key. Compiles only changed documents, publishes
 * immutable maps, and works in slices.
 */
import type { Revision } from '../../domain/catalogue.ts'
import { FieldError } from '../../domain/fields.ts'
import type { RawDocument } from '../compile/document.ts'
import { createPacer } from './pacer.ts'
import { ShardedMap } from './sharded-map.ts'

/** A document that is left out because it does not compile. */
export interface SkippedDocument {
  collection: string
  id: string
  name: string
  path: string
  reason: string
}

/** The current revisions of a key; empty if the key is gone. */
export interface ChangedKey<K, T> {
  key: K
  revisions: readonly T[]
}

export interface RevisionTable<K extends string | number, T extends Revision> {
  /** Applies new states of documents; returns true if any of them differs from the current one. */
  apply(documents: readonly RawDocument[]): Promise<boolean>
  /** Revisions by key, sorted by start, without overlaps. Later calls do not change the map. */
  publish(): Promise<ShardedMap<K, readonly T[]>>
  skipped(): readonly SkippedDocument[]
}

export interface TableOptions<K, T> {
  collection: string
  compile: (document: RawDocument) => T
  keyOf: (revision: T) => K
  nameOf: (document: RawDocument) => string
  /** Called once per state of a document that does not compile. */
  onSkip: (skipped: SkippedDocument) => void
  /** Called with the changes of a publication, in slices, before the map is published. */
  onChange?: (changed: readonly ChangedKey<K, T>[]) => void
}

interface Entry<T> {
  rev: number
  revision: T | null
}

const SLICE_KEYS = 64

/** `before`: the published map of another table, which this one replaces completely. */
export function createRevisionTable<K extends string | number, T extends Revision>(
  options: TableOptions<K, T>,
  before = new ShardedMap<K, readonly T[]>(),
): RevisionTable<K, T> {
  const entries = new ShardedMap<string, Entry<T>>()
  const groups = new ShardedMap<K, readonly Entry<T>[]>()
  const byKey = before.copy()
  const skipped = new Map<string, SkippedDocument>()
  let changedKeys = new ShardedMap<K, true>()

  for (const key of before.keys()) changedKeys.set(key, true)

  const remove = (id: string): void => {
    const entry = entries.get(id)
    if (entry === undefined) return
    entries.delete(id)
    skipped.delete(id)
    if (entry.revision === null) return
    const key = options.keyOf(entry.revision)
    const others = (groups.get(key) ?? []).filter((other) => other !== entry)
    if (others.length === 0) groups.delete(key)
    else groups.set(key, others)
    changedKeys.set(key, true)
  }

  const put = (document: RawDocument, id: string, rev: number): void => {
    const { revision, skip } = compileOrSkip(document, id, options)
    if (skip !== null) skipped.set(id, skip)
    const entry = { rev, revision }
    entries.set(id, entry)
    if (revision === null) return
    const key = options.keyOf(revision)
    groups.set(key, [...(groups.get(key) ?? []), entry])
    changedKeys.set(key, true)
  }

  return {
    async apply(documents) {
      const pacer = createPacer()
      let hasChanged = false
      for (const document of documents) {
        const id = String(document._id)
        const rev = document.rev ?? 0
        if (entries.get(id)?.rev === rev) continue
        remove(id)
        put(document, id, rev)
        hasChanged = true
        if (pacer.isSliceOver()) await pacer.pause()
      }
      return hasChanged
    },
    async publish() {
      const keys = changedKeys
      changedKeys = new ShardedMap()
      await inSlices(keys.keys(), (slice) => {
        const changed = slice.map((key) => ({
          key,
          revisions: withoutOverlaps(groups.get(key) ?? []),
        }))
        for (const { key, revisions } of changed) {
          if (revisions.length === 0) byKey.delete(key)
          else byKey.set(key, revisions)
        }
        options.onChange?.(changed)
      })
      return byKey.copy()
    },
    skipped: () => [...skipped.values()],
  }
}

async function inSlices<K>(keys: Iterable<K>, use: (slice: readonly K[]) => void): Promise<void> {
  const pacer = createPacer()
  let slice: K[] = []
  for (const key of keys) {
    slice.push(key)
    if (slice.length < SLICE_KEYS) continue
    use(slice)
    slice = []
    if (pacer.isSliceOver()) await pacer.pause()
  }
  if (slice.length > 0) use(slice)
}

/** Both are null for a deleted document. */
function compileOrSkip<K, T>(
  document: RawDocument,
  id: string,
  options: TableOptions<K, T>,
): { revision: T | null; skip: SkippedDocument | null } {
  if (document['deleted'] === true) return { revision: null, skip: null }
  try {
    return { revision: options.compile(document), skip: null }
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    const { path, reason } = error
    const { collection } = options
    const skip = { collection, id, name: options.nameOf(document), path, reason }
    options.onSkip(skip)
    return { revision: null, skip }
  }
}

/**
 * Sorted by start; if two revisions overlap, the later one ends the earlier one. This also covers
 * the state between the two writes of "close this one and create a new one".
 */
function withoutOverlaps<T extends Revision>(entries: readonly Entry<T>[]): readonly T[] {
  const sorted = entries
    .flatMap(({ rev, revision }) => (revision === null ? [] : [{ rev, revision }]))
    .sort((a, b) => a.revision.fromMs - b.revision.fromMs || a.rev - b.rev)
  const result: T[] = []
  for (const [index, { revision }] of sorted.entries()) {
    const nextFromMs = sorted[index + 1]?.revision.fromMs ?? revision.toMs
    const toMs = Math.min(revision.toMs, nextFromMs)
    if (toMs <= revision.fromMs) continue
    result.push(Object.freeze(toMs === revision.toMs ? revision : { ...revision, toMs }))
  }
  return Object.freeze(result)
}
