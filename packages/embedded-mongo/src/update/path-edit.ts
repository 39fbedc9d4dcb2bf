import { MongoCommandError, notImplemented } from '../errors.ts'
import { typeName } from '../values/compare.ts'
import { type Doc, fieldOf, isArray, isDoc, setField, type Value } from '../values/document.ts'
import { arrayIndex } from '../values/path.ts'

/** Maximum number of nulls that an assignment beyond the end of an array may add. */
const PADDING_MAX = 100_000

/** The slot of a field or element: its container and its name or index there. */
export type FieldSlot = { readonly holder: Doc | Value[]; readonly key: string | number }

/**
 * Splits and checks the path of an update.
 * @throws CommandError for empty parts, positional operators and names that begin with `$`
 */
export function editPath(path: string): string[] {
  const parts = path.split('.')
  for (const part of parts) {
    if (part === '') {
      throw new MongoCommandError(
        'EmptyFieldName',
        `The update path '${path}' contains an empty field name, which is not allowed.`,
      )
    }
    if (part === '$' || part.startsWith('$[')) {
      throw notImplemented(`the positional operator in the update path '${path}'`)
    }
    if (part.startsWith('$')) {
      throw new MongoCommandError(
        'DollarPrefixedFieldName',
        `The dollar ($) prefixed field '${part}' in '${path}' is not allowed in the context of ` +
          "an update's path.",
      )
    }
  }
  return parts
}

export function valueIn(slot: FieldSlot): Value {
  const { holder, key } = slot
  return isArray(holder) ? holder[key as number] : fieldOf(holder, key as string)
}

export function assign(slot: FieldSlot, value: Value): void {
  const { holder, key } = slot
  if (!isArray(holder)) {
    setField(holder, key as string, value)
    return
  }
  const index = key as number
  if (index - holder.length > PADDING_MAX) {
    throw new MongoCommandError('BadValue', `can't backfill more than ${PADDING_MAX} elements`)
  }
  while (holder.length < index) holder.push(null)
  holder[index] = value
}

/** Removes a field; an element is set to null so that the others keep their indexes. */
export function removeAt(slot: FieldSlot): void {
  const { holder, key } = slot
  if (isArray(holder)) holder[key as number] = null
  else delete holder[key as string]
}

/** The slot of an existing field or element; undefined if it does not exist. */
export function findSlot(doc: Doc, parts: readonly string[]): FieldSlot | undefined {
  let holder: Value = doc
  for (let i = 0; ; i++) {
    const slot: FieldSlot | undefined = slotIn(holder, parts[i]!)
    if (!slot || valueIn(slot) === undefined) return undefined
    if (i === parts.length - 1) return slot
    holder = valueIn(slot)
  }
}

function slotIn(holder: Value, part: string): FieldSlot | undefined {
  if (isDoc(holder)) return { holder, key: part }
  const index = isArray(holder) ? arrayIndex(part) : undefined
  return isArray(holder) && index !== undefined ? { holder, key: index } : undefined
}

/**
 * The slot that a path names; missing documents on the path are created.
 * @throws CommandError (PathNotViable) if the path crosses another value
 */
export function createSlot(doc: Doc, parts: readonly string[]): FieldSlot {
  let holder: Value = doc
  for (let i = 0; ; i++) {
    const part = parts[i]!
    const slot: FieldSlot | undefined = slotIn(holder, part)
    if (!slot) throw notViable(part, parts[i - 1] ?? '', holder)
    if (i === parts.length - 1) return slot
    const next = valueIn(slot)
    if (next === undefined) assign(slot, {})
    holder = valueIn(slot)
  }
}

function notViable(part: string, parent: string, value: Value): MongoCommandError {
  const what = `{${parent}: <${typeName(value)}>}`
  return new MongoCommandError('PathNotViable', `Cannot create field '${part}' in element ${what}`)
}
