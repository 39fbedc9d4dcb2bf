/** Parts of a document that a command writes, between markers that nobody should touch. */

/** The document lacks a marker, or has it twice; the message says which. */
export class MarkerError extends Error {
  override name = 'MarkerError'
}

const beginOf = (name: string) => `<!-- bench:${name} -->`
const endOf = (name: string) => `<!-- /bench:${name} -->`

/** Names of the parts, in their order. */
export function partsOf(document: string): string[] {
  return [...document.matchAll(/<!-- bench:([\w-]+) -->/g)].map(([, name = '']) => name)
}

/** Puts a text between the markers of a part; the rest stays as it is. Throws `MarkerError`. */
export function replacePart(document: string, name: string, text: string): string {
  const begin = onlyAt(document, beginOf(name))
  const end = onlyAt(document, endOf(name))
  if (end < begin) throw new MarkerError(`${endOf(name)} stands before its begin`)
  const head = document.slice(0, begin + beginOf(name).length)
  return `${head}\n${text.trim()}\n${document.slice(end)}`
}

function onlyAt(document: string, marker: string): number {
  const at = document.indexOf(marker)
  if (at < 0) throw new MarkerError(`${marker} is missing`)
  if (document.indexOf(marker, at + 1) >= 0) throw new MarkerError(`${marker} stands there twice`)
  return at
}
