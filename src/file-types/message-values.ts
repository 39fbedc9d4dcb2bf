import type { AnswerValue } from './file-type.ts'

/** Converts a value of a message for an answer; undefined for null and non-finite numbers. */
export function answerValueOf(value: unknown): AnswerValue | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : undefined
    case 'object':
      if (value === null) return undefined
      return Array.isArray(value) ? listOf(value) : recordOf(value)
    default:
      return undefined
  }
}

function listOf(list: readonly unknown[]): readonly AnswerValue[] {
  return list.map(answerValueOf).filter((value) => value !== undefined)
}

function recordOf(record: object): { readonly [name: string]: AnswerValue } {
  // It has no prototype, because a name may be __proto__.
  const values: Record<string, AnswerValue> = Object.create(null)
  for (const [name, item] of Object.entries(record)) {
    const value = answerValueOf(item)
    if (value !== undefined) values[name] = value
  }
  return values
}
