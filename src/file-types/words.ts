/**
 * Collects all words that a document could use as field names. Parsers of messages with many fields
 * keep only fields with these names.
 */

/** AVPs of money (unit-value.ts), which documents do not name. */
const AMOUNT = ['Unit-Value', 'Value-Digits', 'Exponent']

const NAME = /[A-Za-z0-9_:@-]+/g

/** Words in all keys and texts of the documents: a superset of the field names. */
export function wordsOf(documents: readonly unknown[]): ReadonlySet<string> {
  const words = new Set<string>(AMOUNT)
  const visited = new Set<object>()
  const addText = (text: string) => {
    for (const [word] of text.matchAll(NAME)) words.add(word)
  }
  const visit = (value: unknown): void => {
    if (typeof value === 'string') addText(value)
    if (typeof value !== 'object' || value === null || visited.has(value)) return
    visited.add(value)
    if (!Array.isArray(value)) for (const key of Object.keys(value)) addText(key)
    for (const member of Object.values(value)) visit(member)
  }
  for (const document of documents) visit(document)
  return words
}
