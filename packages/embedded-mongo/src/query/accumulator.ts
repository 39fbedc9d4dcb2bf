import { Double, Int32, Long } from 'bson'
import { MongoCommandError, notImplemented } from '../errors.ts'
import { compareValues } from '../values/compare.ts'
import { type Doc, isDoc, type Numeric, type Value } from '../values/document.ts'
import { keyText } from '../values/key-encoding.ts'
import { arithmetic, isNumeric } from '../values/numeric.ts'
import { compileExpression, type Evaluate } from './expression.ts'
import { widened } from './expression-operators.ts'

/** The state of one accumulator of one group. */
type State = { add(value: Value): void; result(): Value }

export type Accumulator = { readonly evaluate: Evaluate; start(): State }

/**
 * Compiles one field of `$group`, like `{ $sum: '$amount' }`.
 * @throws CommandError for an unknown accumulator
 */
function compileAccumulator(name: string, spec: Value): Accumulator {
  if (!isDoc(spec)) {
    throw new MongoCommandError(
      'Location40234',
      `The field '${name}' must be an accumulator object`,
    )
  }
  const names = Object.keys(spec)
  const [operator] = names
  if (names.length !== 1 || operator === undefined) {
    throw new MongoCommandError('Location40238', `The field '${name}' must specify one accumulator`)
  }
  const start = Object.hasOwn(ACCUMULATORS, operator) ? ACCUMULATORS[operator] : undefined
  if (!start) throw new MongoCommandError('Location15952', `unknown group operator '${operator}'`)
  if (operator !== '$count') return { evaluate: compileExpression(spec[operator]), start }
  if (!isDoc(spec[operator]) || Object.keys(spec[operator]).length > 0) {
    throw new MongoCommandError('TypeMismatch', '$count takes no arguments, i.e. $count:{}')
  }
  return { evaluate: () => new Int32(1), start }
}

const ACCUMULATORS: Readonly<Record<string, () => State>> = {
  $sum: () => sum(),
  $count: () => sum(),
  $avg: average,
  $min: () => extreme(-1),
  $max: () => extreme(1),
  $first: () => position('first'),
  $last: () => position('last'),
  $push: push,
  $addToSet: addToSet,
}

/**
 * Sums in the widest type met. Doubles are added with a running compensation (Neumaier), so that
 * the order of documents matters as little as in the server.
 */
function sum(): State {
  let exact: Numeric = new Int32(0)
  let doubles: { sum: number; rest: number } | undefined
  return {
    add(value) {
      if (!isNumeric(value)) return
      if (!(value instanceof Double)) {
        exact = widened('add', exact, value)
        return
      }
      doubles ??= { sum: 0, rest: 0 }
      const total = doubles.sum + value.value
      const isLarger = Math.abs(doubles.sum) >= Math.abs(value.value)
      const rest = isLarger ? doubles.sum - total + value.value : value.value - total + doubles.sum
      if (Number.isFinite(rest)) doubles.rest += rest
      doubles.sum = total
    },
    result() {
      return doubles ? widened('add', exact, new Double(doubles.sum + doubles.rest)) : exact
    },
  }
}

function average(): State {
  const total = sum()
  let count = 0
  return {
    add(value) {
      if (!isNumeric(value)) return
      total.add(value)
      count += 1
    },
    result() {
      const dividend = total.result()
      if (count === 0 || !isNumeric(dividend)) return null
      return arithmetic('divide', dividend, new Int32(count)) ?? null
    },
  }
}

function extreme(sign: number): State {
  let best: Value = null
  return {
    add(value) {
      if (value === null || value === undefined) return
      if (best === null || Math.sign(compareValues(value, best)) === sign) best = value
    },
    result: () => best,
  }
}

function position(which: 'first' | 'last'): State {
  let found: { value: Value } | undefined
  return {
    add(value) {
      if (!found || which === 'last') found = { value: value ?? null }
    },
    result: () => found?.value ?? null,
  }
}

function push(): State {
  const values: Value[] = []
  return {
    add(value) {
      if (value !== undefined) values.push(value)
    },
    result: () => values,
  }
}

function addToSet(): State {
  const values = new Map<string, Value>()
  return {
    add(value) {
      if (value === undefined) return
      const key = keyText(value)
      if (!values.has(key)) values.set(key, value)
    },
    result: () => [...values.values()],
  }
}

/** `{ _id: expression, name: accumulator, … }` of `$group`. */
export type Grouping = { readonly id: Evaluate; readonly fields: [string, Accumulator][] }

export function compileGroup(spec: Doc): Grouping {
  if (!('_id' in spec)) {
    throw new MongoCommandError('Location15955', 'a group specification must include an _id')
  }
  const fields: [string, Accumulator][] = []
  for (const name of Object.keys(spec)) {
    if (name === '_id') continue
    if (name.includes('.')) {
      throw new MongoCommandError('Location40235', `The field name '${name}' cannot contain '.'`)
    }
    if (name.startsWith('$')) throw notImplemented(`the group option ${name}`)
    fields.push([name, compileAccumulator(name, spec[name])])
  }
  return { id: compileExpression(spec['_id']), fields }
}

/** The groups of the documents added so far. */
export class Groups {
  readonly #grouping: Grouping
  readonly #groups = new Map<string, { readonly id: Value; readonly states: State[] }>()

  constructor(grouping: Grouping) {
    this.#grouping = grouping
  }

  add(doc: Doc): void {
    const { id, fields } = this.#grouping
    // Documents without the field belong to the group of null.
    const value = id(doc) ?? null
    const key = keyText(value)
    let group = this.#groups.get(key)
    if (!group) {
      group = { id: value, states: fields.map(([, accumulator]) => accumulator.start()) }
      this.#groups.set(key, group)
    }
    for (let i = 0; i < fields.length; i++) {
      group.states[i]!.add(fields[i]![1].evaluate(doc))
    }
  }

  *docs(): Generator<Doc> {
    for (const { id, states } of this.#groups.values()) {
      const doc: Doc = { _id: id }
      this.#grouping.fields.forEach(([name], i) => {
        doc[name] = states[i]!.result()
      })
      yield doc
    }
  }
}

/** A count as BSON: an int if it fits, otherwise a long. */
export function countValue(count: number): Value {
  return count < 2 ** 31 ? new Int32(count) : Long.fromNumber(count)
}
