import type { KeyValueSyntax } from '../../../file-types/file-type.ts'
import { limitProblems, messageLimits } from '../../../file-types/message-limits.ts'
import type { DecodeError } from '../codec.ts'
import { emptyRecord, type MessageRecord } from '../message-record.ts'

const INDEX_MAX = 255
/** With a leading zero it is a name. */
const INDEX = /^(?:0|[1-9]\d*)$/
/** Prefix of an index as a member name: numeric property names would allocate array storage. */
const IN_LIST = '.'
const CLOSING = ']'.charCodeAt(0)
const TWO_KINDS = 'is used in two ways: as text, as list or as record'
const AGAIN = 'is given several times'
const NO_NAME = 'has an empty name beside a dot'
const INDEX_TOO_HIGH = `has an index above ${INDEX_MAX}`
const HAS_GAP = 'is missing: indexes go from 0 without a gap'

/** A text; null if empty, which counts as absent like null in JSON. */
type Value = string | null

/** A list whose members are given by index; a record until it is complete. */
interface IndexedList {
  parent: MessageRecord
  name: string
  path: string
}

/**
 * Builds records from pairs in order: `a.b` is the member `b` of the record `a`, `a.0` the first
 * element of the list `a`, and `a[]` appends to it.
 */
export class KeyValueTree {
  readonly message: MessageRecord = emptyRecord()
  /** Problem of the last pair. */
  error: DecodeError | null = null
  pairs = 0
  /** Position of the current pair, or of its value once that is known. */
  at = 0
  readonly #repeated: KeyValueSyntax['repeated']
  /** Lists by the record that represents them until `close`; outer lists come before inner ones. */
  #lists: Map<MessageRecord, IndexedList> | null = null

  constructor(repeated: KeyValueSyntax['repeated']) {
    this.#repeated = repeated
  }

  /** Adds a pair. Returns false, with `error` set, if it is invalid. */
  put(key: string, value: Value): boolean {
    this.pairs += 1
    if (this.pairs > messageLimits.members) return this.#fail('body', limitProblems.members)
    if (key.length > messageLimits.nameChars) return this.#fail('body', limitProblems.nameChars)
    const dot = key.indexOf('.')
    return dot < 0 ? this.#set(this.message, key, value, key) : this.#putNested(key, dot, value)
  }

  /** Called after the last pair. Returns false if a list lacks a member. */
  close(): boolean {
    if (this.#lists === null) return true
    for (const [members, { parent, name, path }] of [...this.#lists].reverse()) {
      const list: unknown[] = []
      for (const _ of Object.keys(members)) {
        const member = members[IN_LIST + list.length]
        if (member === undefined) return this.#fail(`${path}.${list.length}`, HAS_GAP)
        list.push(member)
      }
      parent[name] = list
    }
    return true
  }

  #putNested(key: string, firstDot: number, value: Value): boolean {
    let record = this.message
    let prefix = ''
    let start = 0
    let dot = firstDot
    for (let depth = 1; dot >= 0; depth += 1) {
      if (depth >= messageLimits.depth) return this.#fail('body', limitProblems.depth)
      const end = key.indexOf('.', dot + 1)
      const next = end < 0 ? key.slice(dot + 1) : key.slice(dot + 1, end)
      if (dot === start || next === '') return this.#fail(key, NO_NAME)
      const isList = INDEX.test(next)
      if (isList && Number(next) > INDEX_MAX) return this.#fail(key, INDEX_TOO_HIGH)
      const name = prefix + key.slice(start, dot)
      const present = record[name]
      if (present !== undefined && !this.#isContainer(present, isList)) {
        return this.#fail(key.slice(0, dot), TWO_KINDS)
      }
      const into = (present as MessageRecord | undefined) ?? emptyRecord()
      if (present === undefined) {
        if (isList) this.#addList(into, { parent: record, name, path: key.slice(0, dot) })
        record[name] = into
      }
      record = into
      prefix = isList ? IN_LIST : ''
      start = dot + 1
      dot = end
    }
    return this.#set(record, prefix + key.slice(start), value, key)
  }

  #isContainer(present: unknown, isList: boolean): boolean {
    if (typeof present !== 'object' || present === null || Array.isArray(present)) return false
    return (this.#lists?.has(present as MessageRecord) ?? false) === isList
  }

  #addList(members: MessageRecord, list: IndexedList): void {
    this.#lists ??= new Map()
    this.#lists.set(members, list)
  }

  #set(record: MessageRecord, name: string, value: Value, key: string): boolean {
    const isAppended = name.charCodeAt(name.length - 1) === CLOSING && name.endsWith('[]')
    if (isAppended) return this.#append(record, name.slice(0, -2), value, key)
    const present = record[name]
    if (present === undefined) {
      record[name] = value
    } else if (typeof present === 'object' && present !== null && !this.#isRepeated(present)) {
      return this.#fail(key, TWO_KINDS)
    } else if (this.#repeated === 'error') {
      return this.#fail(key, AGAIN)
    } else if (this.#repeated === 'last') {
      record[name] = value
    } else if (this.#repeated === 'list') {
      if (Array.isArray(present)) present.push(value)
      else record[name] = [present, value]
    }
    return true
  }

  /** Whether it is a list of the values of a repeated key, not a container. */
  #isRepeated(present: object): boolean {
    return Array.isArray(present) && this.#repeated === 'list'
  }

  #append(record: MessageRecord, name: string, value: Value, key: string): boolean {
    const present = record[name]
    if (present === undefined) record[name] = [value]
    else if (Array.isArray(present)) present.push(value)
    else return this.#fail(key, TWO_KINDS)
    return true
  }

  #fail(field: string, why: string): false {
    this.error = { field, why }
    return false
  }
}
