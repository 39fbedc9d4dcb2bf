import { emptyRecord, type MessageRecord } from '../message-record.ts'

/** The text of a pair; null if empty, which counts as absent like null in JSON. */
export type PairValue = string | null

/** Structure of a record or list that a sequence of keys yields, independent of the values. */
export interface Shape {
  readonly isList: boolean
  /** Names of a record's members in order; empty for a list. */
  readonly names: readonly string[]
  /** For each member the index of the pair with its value; -1 if it is in `children`. */
  readonly pairs: readonly number[]
  readonly children: readonly (Shape | null)[]
}

/** The shape of a container whose values are the indexes of their pairs, as texts. */
export function shapeOf(container: object): Shape {
  const isList = Array.isArray(container)
  const members: readonly unknown[] = Object.values(container)
  return {
    isList,
    names: isList ? [] : Object.keys(container),
    pairs: members.map((member) => (typeof member === 'string' ? Number(member) : -1)),
    children: members.map((member) => (typeof member === 'object' ? shapeOf(member!) : null)),
  }
}

/** The record of this shape with the given values of pairs. */
export function recordOf(shape: Shape, values: readonly PairValue[]): MessageRecord {
  const { names, pairs, children } = shape
  const record = emptyRecord()
  for (let at = 0; at < names.length; at += 1) {
    const pair = pairs[at] as number
    const value = pair < 0 ? containerOf(children[at] as Shape, values) : values[pair]
    record[names[at] as string] = value
  }
  return record
}

function containerOf(shape: Shape, values: readonly PairValue[]): unknown {
  if (!shape.isList) return recordOf(shape, values)
  const list: unknown[] = []
  for (let at = 0; at < shape.pairs.length; at += 1) {
    const pair = shape.pairs[at] as number
    list.push(pair < 0 ? containerOf(shape.children[at] as Shape, values) : values[pair])
  }
  return list
}
