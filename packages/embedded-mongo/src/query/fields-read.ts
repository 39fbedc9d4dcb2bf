/** Which fields of the stored documents a pipeline reads, so that others need not be decoded. */
import { type Doc, isArray, isDoc, type Value } from '../values/document.ts'
import { isNumeric, toNumber } from '../values/numeric.ts'

export type StageSpec = { readonly name: string; readonly operand: Value }

/** Names of top-level fields; `isWhole` if an expression uses the document itself. */
type Found = { readonly names: Set<string>; isWhole: boolean }

/**
 * The top-level fields that the stages read until one of them makes new documents; undefined if
 * they may need all fields. The stages are valid.
 */
export function fieldsRead(stages: readonly StageSpec[]): readonly string[] | undefined {
  const found: Found = { names: new Set(), isWhole: false }
  for (const { name, operand } of stages) {
    const isLast = addStage(name, operand, found)
    if (found.isWhole) return undefined
    if (isLast) return [...found.names]
  }
  return undefined
}

/** Returns whether later stages see only what this one makes. */
function addStage(name: string, operand: Value, found: Found): boolean {
  switch (name) {
    case '$match':
      addFilter(operand as Doc, found)
      return false
    case '$sort':
      for (const path of Object.keys(operand as Doc)) found.names.add(topOf(path))
      return false
    case '$unwind':
      addExpression(isDoc(operand) ? operand['path'] : operand, found)
      return false
    case '$addFields':
    case '$set':
      addAssignments(operand as Doc, found)
      return false
    case '$project':
      return addProjection(operand as Doc, found)
    case '$group':
      addExpression(operand, found)
      return true
    case '$count':
      return true
    case '$lookup': {
      const { localField, as } = operand as Doc
      for (const path of [localField, as]) found.names.add(topOf(String(path)))
      return false
    }
    case '$skip':
    case '$limit':
    case '$unset':
      return false
    default:
      found.isWhole = true
      return false
  }
}

function topOf(path: string): string {
  const end = path.indexOf('.')
  return end < 0 ? path : path.slice(0, end)
}

function addFilter(filter: Doc, found: Found): void {
  for (const name of Object.keys(filter)) {
    const operand = filter[name]
    if (!name.startsWith('$')) found.names.add(topOf(name))
    else if (name === '$expr') addExpression(operand, found)
    else if (isArray(operand)) for (const clause of operand) addFilter(clause as Doc, found)
  }
}

function addExpression(expression: Value, found: Found): void {
  if (typeof expression === 'string') {
    if (expression.startsWith('$$')) found.isWhole ||= expression !== '$$REMOVE'
    else if (expression.startsWith('$')) found.names.add(topOf(expression.slice(1)))
  } else if (isArray(expression)) for (const part of expression) addExpression(part, found)
  else if (isDoc(expression)) {
    for (const part of Object.values(expression)) addExpression(part, found)
  }
}

/** A value at a dotted path is added to what is there. */
function addAssignments(fields: Doc, found: Found): void {
  for (const name of Object.keys(fields)) found.names.add(topOf(name))
  addExpression(fields, found)
}

/** An exclusion keeps all other fields. */
function addProjection(fields: Doc, found: Found): boolean {
  const excludes = Object.entries(fields).every(([name, value]) => name === '_id' || isOff(value))
  if (excludes) {
    found.isWhole = true
    return false
  }
  found.names.add('_id')
  addAssignments(fields, found)
  return true
}

function isOff(value: Value): boolean {
  if (isDoc(value)) return Object.values(value).every(isOff)
  return value === false || (isNumeric(value) && toNumber(value) === 0)
}
