import { Decimal128, Double, Int32, Long } from 'bson'
import { MongoCommandError, notImplemented } from '../errors.ts'
import { compareValues, TYPE_CLASS, typeClass } from '../values/compare.ts'
import { DecimalSum } from '../values/decimal-sum.ts'
import { type Doc, encode, isDoc, type Numeric, type Value } from '../values/document.ts'
import { keyText } from '../values/key-encoding.ts'
import { arithmetic, isNumeric } from '../values/numeric.ts'
import { decimalFrom, decimalInput } from './conversions.ts'
import { compileExpression, type Evaluate } from './expression.ts'
import { widened } from './expression-operators.ts'

/** The state of one accumulator of one group; `add` returns the bytes that it keeps in addition. */
type State = { add(value: Value): number; result(): Value }

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
  const input = decimalInput(spec[operator])
  const isSum = operator === '$sum' || operator === '$avg'
  if (isSum && input !== undefined) {
    return { evaluate: compileExpression(input), start: () => decimalTotal(operator === '$avg') }
  }
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

/** Integers are added as numbers up to here. */
const EXACT_MAX = 2 ** 52

/**
 * Sums in the widest type met. Doubles are added with a running compensation (Neumaier), so that
 * the order of documents matters as little as in the server.
 */
function sum(): State {
  let ints = 0
  let longs: Numeric | undefined
  let doubles: { sum: number; rest: number } | undefined
  let decimals: DecimalSum | undefined
  const whole = (): Numeric => {
    if (longs === undefined) return countValue(ints)
    return widened('add', longs, Long.fromNumber(ints))
  }
  const add = (value: Numeric): void => {
    if (value instanceof Int32) {
      ints += value.value
      if (Math.abs(ints) < EXACT_MAX) return
      longs = widened('add', longs ?? Long.ZERO, Long.fromNumber(ints))
      ints = 0
    } else if (value instanceof Decimal128) {
      decimals ??= new DecimalSum()
      decimals.add(value)
    } else if (value instanceof Long) longs = widened('add', longs ?? Long.ZERO, value)
    else {
      doubles ??= { sum: 0, rest: 0 }
      addDouble(doubles, value.value)
    }
  }
  return {
    add(value) {
      if (isNumeric(value)) add(value)
      return 0
    },
    result() {
      const double = doubles && new Double(doubles.sum + doubles.rest)
      if (!decimals) return double ? widened('add', whole(), double) : whole()
      decimals.add(whole())
      if (double) decimals.add(double)
      return decimals.result()
    },
  }
}

function addDouble(to: { sum: number; rest: number }, value: number): void {
  const total = to.sum + value
  const isLarger = Math.abs(to.sum) >= Math.abs(value)
  const rest = isLarger ? to.sum - total + value : value - total + to.sum
  if (Number.isFinite(rest)) to.rest += rest
  to.sum = total
}

/** The sum or average of values that are converted to decimals; others do not count. */
function decimalTotal(isAverage: boolean): State {
  let total: DecimalSum | undefined
  let count = 0
  return {
    add(value) {
      const isAbsent = value === null || value === undefined
      const number = isAbsent || isNumeric(value) ? value : decimalFrom(value)
      if (number === null || number === undefined) return 0
      total ??= new DecimalSum()
      total.add(number)
      count += 1
      return 0
    },
    result() {
      if (!total) return isAverage ? null : new Int32(0)
      const sum = total.result()
      return isAverage ? (arithmetic('divide', sum, new Int32(count)) ?? null) : sum
    },
  }
}

function average(): State {
  const total = sum()
  let count = 0
  return {
    add(value) {
      if (!isNumeric(value)) return 0
      count += 1
      return total.add(value)
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
      if (value === null || value === undefined) return 0
      if (best !== null && Math.sign(compareValues(value, best)) !== sign) return 0
      const added = best === null ? sizeOf(value) : 0
      best = value
      return added
    },
    result: () => best,
  }
}

function position(which: 'first' | 'last'): State {
  let found: { value: Value } | undefined
  return {
    add(value) {
      if (found && which === 'first') return 0
      const added = found ? 0 : sizeOf(value)
      found = { value: value ?? null }
      return added
    },
    result: () => found?.value ?? null,
  }
}

function push(): State {
  const values: Value[] = []
  return {
    add(value) {
      if (value === undefined) return 0
      values.push(value)
      return sizeOf(value)
    },
    result: () => values,
  }
}

function addToSet(): State {
  const values = new Map<string, Value>()
  return {
    add(value) {
      if (value === undefined) return 0
      const key = keyText(value)
      if (values.has(key)) return 0
      values.set(key, value)
      return key.length + sizeOf(value)
    },
    result: () => [...values.values()],
  }
}

/** Bytes of the value in memory, roughly. */
function sizeOf(value: Value): number {
  if (typeof value === 'string') return 2 * value.length + 16
  return typeof value === 'object' && value !== null ? encode({ value }).length : 8
}

/** `{ _id: expression, name: accumulator, … }` of `$group`. */
export type Grouping = { readonly key: GroupKey; readonly fields: [string, Accumulator][] }

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
  return { key: compileGroupKey(spec['_id']), fields }
}

/** Memory limit of the groups, in bytes, as in MongoDB; nothing is written to temporary files. */
const GROUPS_BYTES_MAX = 100 * 1024 * 1024
/** Memory of a group without its key, and of each of its accumulators. */
const GROUP_BYTES = 200
const STATE_BYTES = 100

/**
 * The groups of the documents added so far.
 * @throws CommandError if the memory limit is exceeded
 */
export class Groups {
  readonly #grouping: Grouping
  readonly #groups = new Map<string, { readonly id: Value; readonly states: State[] }>()
  #bytes = 0

  constructor(grouping: Grouping) {
    this.#grouping = grouping
  }

  add(doc: Doc): void {
    const { key, fields } = this.#grouping
    const text = key.text(doc)
    let group = this.#groups.get(text)
    if (!group) {
      group = { id: key.id(doc), states: fields.map(([, accumulator]) => accumulator.start()) }
      this.#groups.set(text, group)
      this.#bytes += GROUP_BYTES + 3 * text.length + STATE_BYTES * fields.length
    }
    for (let i = 0; i < fields.length; i++) {
      this.#bytes += group.states[i]!.add(fields[i]![1].evaluate(doc))
    }
    if (this.#bytes <= GROUPS_BYTES_MAX) return
    throw new MongoCommandError(
      'QueryExceededMemoryLimitNoDiskUseAllowed',
      `Exceeded memory limit of ${GROUPS_BYTES_MAX} bytes for $group: fewer groups would help`,
    )
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
export function countValue(count: number): Int32 | Long {
  return count < 2 ** 31 && count >= -(2 ** 31) ? new Int32(count) : Long.fromNumber(count)
}

type GroupKey = {
  /** The same text for documents of one group, another one for those of other groups. */
  text(doc: Doc): string
  /** The `_id` of the group of a document. */
  id(doc: Doc): Value
}

/** @throws CommandError */
function compileGroupKey(expression: Value): GroupKey {
  const evaluate = compileExpression(expression)
  // Documents without the field belong to the group of null.
  const id = (doc: Doc) => evaluate(doc) ?? null
  const isFields = isDoc(expression) && !Object.keys(expression).some((key) => key.startsWith('$'))
  if (!isFields) return { text: (doc) => keyText(id(doc)), id }
  // A document for each row, and its encoding, would take most of the time of the key.
  const parts = Object.values(expression).map(compileExpression)
  return {
    text(doc) {
      let text = ''
      for (const part of parts) text += partText(part(doc))
      return text
    },
    id,
  }
}

/** Says where it ends. */
function partText(value: Value): string {
  if (value === undefined) return '-'
  if (typeof value === 'string') return `${value.length}:${value}`
  // Symbols are equal to strings.
  if (typeClass(value) === TYPE_CLASS.string) return partText(String(value))
  const text = keyText(value)
  return `=${text.length}:${text}`
}
