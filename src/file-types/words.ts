/**
 * Every word that a document could call a field by. A parser that finds many fields in a message
 * keeps those that are among them.
 */

/** What amounts of money consist of (unit-value.ts), which no document names. */
const AMOUNT = ['Unit-Value', 'Value-Digits', 'Exponent']

const NAME = /[A-Za-z0-9_:@-]+/g

/** Of the keys and texts of all of them; more words than fields, but none less. */
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
