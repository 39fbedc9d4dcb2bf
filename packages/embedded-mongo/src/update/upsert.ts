import { BSONRegExp } from 'bson'
import { MongoCommandError } from '../errors.ts'
import { isOperatorDoc } from '../query/matcher.ts'
import { type Doc, isArray, isDoc, type Value } from '../values/document.ts'

/**
 * The fields that a filter requires to equal one value: an upsert starts with them.
 * @throws CommandError (NotSingleValueField) if two conditions apply to the same path
 */
export function equalitiesOf(filter: Doc): Map<string, Value> {
  const found = new Map<string, Value>()
  collect(filter, found)
  for (const path of found.keys()) {
    const parts = path.split('.')
    while (parts.pop() !== undefined) if (found.has(parts.join('.'))) throw matchedTwice(path)
  }
  return found
}

function collect(filter: Doc, found: Map<string, Value>): void {
  for (const name of Object.keys(filter)) {
    const operand = filter[name]
    if (name === '$and' || (name === '$or' && isArray(operand) && operand.length === 1)) {
      for (const clause of isArray(operand) ? operand : []) {
        if (isDoc(clause)) collect(clause, found)
      }
    } else if (!name.startsWith('$')) {
      for (const value of equalityValues(operand)) {
        if (found.has(name)) throw matchedTwice(name)
        found.set(name, value)
      }
    }
  }
}

function equalityValues(operand: Value): Value[] {
  if (!isOperatorDoc(operand)) return operand instanceof BSONRegExp ? [] : [operand]
  const all = operand['$all']
  const values = isArray(all) ? all.filter((value) => !isOperatorDoc(value)) : []
  if (operand['$eq'] !== undefined) values.push(operand['$eq'])
  return values.filter((value) => !(value instanceof BSONRegExp))
}

function matchedTwice(path: string): MongoCommandError {
  return new MongoCommandError(
    'NotSingleValueField',
    `cannot infer query fields to set, path '${path}' is matched twice`,
  )
}
