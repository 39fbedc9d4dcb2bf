import { MongoCommandError, notImplemented } from '../errors.ts'
import { isTruthy } from '../values/compare.ts'
import { asDoc, type Doc, isArray, isDoc, setField, type Value } from '../values/document.ts'
import { isNumeric } from '../values/numeric.ts'
import { compileExpression, type Evaluate } from './expression.ts'
import { isOperator } from './expression-operators.ts'
import { fieldPath } from './field-path.ts'

export type Projection = (doc: Doc) => Doc

/**
 * Rule of a projection for a field: keep it, drop it, compute it, or apply rules to its subfields.
 */
type Rule = 'keep' | 'drop' | Evaluate | Tree
type Tree = Map<string, Rule>

/**
 * Compiles a projection: inclusion or exclusion by dotted paths, and computed fields.
 * @throws CommandError for mixtures, colliding paths and positional operators
 */
export function compileProjection(spec: Doc): Projection {
  const leaves = leavesOf(spec, '')
  const mode = modeOf(leaves)
  const tree: Tree = new Map()
  for (const [path, rule] of leaves) addRule(tree, path, rule)
  if (!tree.has('_id') && mode === 'keep') tree.set('_id', 'keep')
  return mode === 'drop' ? (doc) => exclude(doc, tree) : (doc) => include(doc, tree, doc)
}

type Leaf = readonly [path: string, rule: 'keep' | 'drop' | Evaluate]

function leavesOf(spec: Doc, prefix: string): Leaf[] {
  const leaves: Leaf[] = []
  for (const name of Object.keys(spec)) {
    const path = prefix + name
    const value = spec[name]
    if (path.endsWith('.$')) throw notImplemented(`the positional projection '${path}'`)
    fieldPath(path)
    if (isNumeric(value) || typeof value === 'boolean') {
      leaves.push([path, isTruthy(value) ? 'keep' : 'drop'])
    } else if (isNested(value)) leaves.push(...leavesOf(value, `${path}.`))
    else leaves.push([path, compileComputed(value)])
  }
  return leaves
}

function isNested(value: Value): value is Doc {
  if (!isDoc(value)) return false
  const [first] = Object.keys(value)
  return first !== undefined && !first.startsWith('$')
}

function compileComputed(value: Value): Evaluate {
  const operator = isDoc(value) ? Object.keys(value)[0] : ''
  if (operator === undefined) {
    throw new MongoCommandError('Location51270', 'An empty sub-projection is not a valid value')
  }
  if (operator === '$slice' || operator === '$elemMatch' || operator === '$meta') {
    throw notImplemented(`the projection operator ${operator}`)
  }
  if (operator.startsWith('$') && !isOperator(operator)) {
    throw new MongoCommandError('Location31325', `Unknown expression ${operator}`)
  }
  return compileExpression(value)
}

/**
 * A projection either includes or excludes fields; only `_id` may differ. Computed fields count as
 * included.
 */
function modeOf(leaves: readonly Leaf[]): 'keep' | 'drop' {
  const others = leaves.filter(([path]) => path !== '_id')
  const [decisive] = others.length > 0 ? others : leaves
  const mode = decisive?.[1] === 'drop' ? 'drop' : 'keep'
  for (const [path, rule] of others) {
    const isSame = mode === 'drop' ? rule === 'drop' : rule !== 'drop'
    if (isSame) continue
    if (mode === 'keep') {
      const message = `Cannot do exclusion on field ${path} in inclusion projection`
      throw new MongoCommandError('Location31254', message)
    }
    if (rule !== 'keep') {
      const message = `Cannot use an expression for ${path} in an exclusion projection`
      throw new MongoCommandError('Location31252', message)
    }
    const message = `Cannot do inclusion on field ${path} in exclusion projection`
    throw new MongoCommandError('Location31253', message)
  }
  return mode
}

function addRule(tree: Tree, path: string, rule: Rule): void {
  const parts = path.split('.')
  const last = parts.pop() as string
  let level = tree
  for (const part of parts) {
    const next = level.get(part) ?? new Map()
    if (!(next instanceof Map)) throw collision(path)
    level.set(part, next)
    level = next
  }
  if (level.has(last)) throw new MongoCommandError('Location31250', `Path collision at ${path}`)
  level.set(last, rule)
}

function collision(path: string): MongoCommandError {
  return new MongoCommandError('Location31249', `Path collision at ${path}`)
}

function include(doc: Doc, tree: Tree, root: Doc): Doc {
  const result: Doc = {}
  for (const name of Object.keys(doc)) {
    const rule = tree.get(name)
    if (rule === 'keep') setField(result, name, doc[name])
    else if (rule instanceof Map) {
      const inner = includeBelow(doc[name], rule, root)
      if (inner !== undefined) setField(result, name, inner)
    }
  }
  for (const [name, rule] of tree) addComputed(result, doc, name, rule, root)
  return result
}

/**
 * Scalars have no subfields and are dropped; arrays keep the included fields of their documents.
 */
function includeBelow(value: Value, tree: Tree, root: Doc): Value {
  if (isArray(value)) {
    return value
      .map((element) => includeBelow(element, tree, root))
      .filter((element) => element !== undefined)
  }
  const inner = asDoc(value)
  if (inner) return include(inner, tree, root)
  return computedOnly(tree, root)
}

function addComputed(result: Doc, doc: Doc, name: string, rule: Rule, root: Doc): void {
  if (typeof rule === 'function') {
    const value = rule(root)
    if (value !== undefined) setField(result, name, value)
  } else if (rule instanceof Map && !Object.hasOwn(doc, name)) {
    const value = computedOnly(rule, root)
    if (value !== undefined) setField(result, name, value)
  }
}

function computedOnly(tree: Tree, root: Doc): Doc | undefined {
  const result = include({}, tree, root)
  return Object.keys(result).length === 0 ? undefined : result
}

function exclude(doc: Doc, tree: Tree): Doc {
  const result: Doc = {}
  for (const name of Object.keys(doc)) {
    const rule = tree.get(name)
    if (rule === 'drop') continue
    setField(result, name, rule instanceof Map ? excludeBelow(doc[name], rule) : doc[name])
  }
  return result
}

function excludeBelow(value: Value, tree: Tree): Value {
  if (isArray(value)) return value.map((element) => excludeBelow(element, tree))
  const inner = asDoc(value)
  return inner ? exclude(inner, tree) : value
}

/** `$addFields`: computed values at dotted paths, in place of what is there. */
export function compileAddFields(spec: Doc): Projection {
  const tree: Tree = new Map()
  for (const name of Object.keys(spec)) {
    const value = spec[name]
    fieldPath(name)
    addRule(tree, name, compileExpression(value))
  }
  return (doc) => addFields(doc, tree, doc)
}

function addFields(doc: Doc, tree: Tree, root: Doc): Doc {
  const result: Doc = { ...doc }
  for (const [name, rule] of tree) {
    const value = typeof rule === 'function' ? rule(root) : addBelow(doc[name], rule as Tree, root)
    if (value === undefined) delete result[name]
    else setField(result, name, value)
  }
  return result
}

function addBelow(value: Value, tree: Tree, root: Doc): Value {
  if (isArray(value)) return value.map((element) => addBelow(element, tree, root))
  return addFields(asDoc(value) ?? {}, tree, root)
}
