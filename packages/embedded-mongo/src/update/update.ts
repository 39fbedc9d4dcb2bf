import { ObjectId } from 'bson'
import { MongoCommandError, notImplemented } from '../errors.ts'
import { compareText, equalValues } from '../values/compare.ts'
import { type Doc, fieldOf, isArray, isDoc, type Value } from '../values/document.ts'
import { arrayIndex } from '../values/path.ts'
import { assign, createSlot, editPath, findSlot, removeAt, valueIn } from './path-edit.ts'
import { type Change, compileChange, type UpdateContext } from './update-operators.ts'
import { equalitiesOf } from './upsert.ts'

/** A compiled update: it changes documents and creates the document of an upsert. */
export type Update = {
  /** Whether it replaces the document; a replacement cannot be applied to several documents. */
  readonly isReplacement: boolean
  /** The document after the update. The update owns the given document and may change it. */
  apply(doc: Doc, nowMs: number): Doc
  /** The document of an upsert. */
  insert(filter: Doc, nowMs: number): Doc
}

type Step = { readonly path: string; readonly parts: readonly string[]; readonly change: Change }

/**
 * Compiles the update part of a command: operators or a replacement document.
 * @throws CommandError for invalid updates and for pipelines
 */
export function compileUpdate(update: Value): Update {
  if (isArray(update)) throw notImplemented('an update by a pipeline')
  if (!isDoc(update)) {
    throw new MongoCommandError(
      'FailedToParse',
      'Update argument must be either an object or an array',
    )
  }
  const [first] = Object.keys(update)
  if (first === undefined || !first.startsWith('$')) return replacement(update)
  const steps = compileSteps(update)
  return {
    isReplacement: false,
    apply: (doc, nowMs) => modify(doc, steps, { nowMs, isInsert: false }),
    insert(filter, nowMs) {
      const base: Doc = {}
      for (const [path, value] of equalitiesOf(filter)) {
        assign(createSlot(base, path.split('.')), value)
      }
      return withId(modify(base, steps, { nowMs, isInsert: true }))
    },
  }
}

function replacement(update: Doc): Update {
  for (const name of Object.keys(update)) {
    if (name.startsWith('$')) {
      throw new MongoCommandError(
        'DollarPrefixedFieldName',
        `The dollar ($) prefixed field '${name}' in '${name}' is not allowed in the context of ` +
          "an update's replacement document.",
      )
    }
  }
  const replace = (id: Value): Doc => {
    const ownId = fieldOf(update, '_id')
    if (ownId !== undefined && id !== undefined && !equalValues(ownId, id)) throw immutableId()
    const keptId = id === undefined ? ownId : id
    return withId(keptId === undefined ? update : { ...update, _id: keptId })
  }
  return {
    isReplacement: true,
    apply: (doc) => replace(fieldOf(doc, '_id')),
    insert: (filter) => replace(equalitiesOf(filter).get('_id')),
  }
}

function compileSteps(update: Doc): Step[] {
  const steps: Step[] = []
  for (const operator of Object.keys(update)) {
    const fields = update[operator]
    if (!isDoc(fields)) {
      // An unknown operator is reported first.
      compileChange(operator, '', null)
      throw new MongoCommandError(
        'FailedToParse',
        `Modifiers operate on fields but we found another type of value for ${operator}`,
      )
    }
    for (const path of Object.keys(fields)) {
      const change = compileChange(operator, path, fields[path])
      steps.push({ path, parts: editPath(path), change })
    }
  }
  // MongoDB applies changes in path order, which determines the order of new fields.
  steps.sort((a, b) => comparePaths(a.parts, b.parts))
  for (let i = 1; i < steps.length; i++) refuseConflict(steps[i - 1]!, steps[i]!)
  return steps
}

function comparePaths(a: readonly string[], b: readonly string[]): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = arrayIndex(a[i]!)
    const y = arrayIndex(b[i]!)
    const order =
      x !== undefined && y !== undefined
        ? x - y
        : Number(x === undefined) - Number(y === undefined) || compareText(a[i]!, b[i]!)
    if (order !== 0) return order
  }
  return a.length - b.length
}

/** In sorted order a path directly precedes its subpaths. */
function refuseConflict(before: Step, after: Step): void {
  if (!before.parts.every((part, i) => part === after.parts[i])) return
  throw new MongoCommandError(
    'ConflictingUpdateOperators',
    `Updating the path '${after.path}' would create a conflict at '${before.path}'`,
  )
}

function modify(doc: Doc, steps: readonly Step[], context: UpdateContext): Doc {
  const id = fieldOf(doc, '_id')
  for (const { parts, change } of steps) {
    if (change.onlyInsert && !context.isInsert) continue
    const slot = change.onlyExisting ? findSlot(doc, parts) : createSlot(doc, parts)
    if (!slot) continue
    const current = valueIn(slot)
    const next = change.to(current, context)
    if (next !== undefined) assign(slot, next)
    else if (current !== undefined) removeAt(slot)
  }
  if (id !== undefined && !isSameId(id, fieldOf(doc, '_id'))) throw immutableId()
  return doc
}

function isSameId(before: Value, after: Value): boolean {
  return after !== undefined && equalValues(before, after)
}

function immutableId(): MongoCommandError {
  return new MongoCommandError(
    'ImmutableField',
    "Performing an update on the path '_id' would modify the immutable field '_id'",
  )
}

/** The document with its `_id` first, or with a new `_id` if it has none. */
export function withId(doc: Doc): Doc {
  const [first] = Object.keys(doc)
  if (first === '_id' && doc['_id'] !== undefined) return doc
  const id = fieldOf(doc, '_id')
  const { _id, ...rest } = doc
  return { _id: id === undefined ? new ObjectId() : id, ...rest }
}
