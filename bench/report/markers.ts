/** Generated parts of a document, between markers that must not be edited. */

/** The document lacks a marker, or has it twice; the message names it. */
export class MarkerError extends Error {
  override name = 'MarkerError'
}

const beginOf = (name: string) => `<!-- bench:${name} -->`
const endOf = (name: string) => `<!-- /bench:${name} -->`

/** Names of the parts, in order. */
export function partsOf(document: string): string[] {
  return [...document.matchAll(/<!-- bench:([\w-]+) -->/g)].map(([, name = '']) => name)
}

/** Replaces the text between the markers of a part. Throws `MarkerError`. */
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
