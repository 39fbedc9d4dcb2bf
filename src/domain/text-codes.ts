/**
 * Length and UTF-16 units of texts, for loops that run in each request. V8 represents texts in more
 * ways than it remembers at one place: read there, `length` and `charCodeAt` of texts of various
 * origins take a call each to find the property, which costs more than the loop itself.
 */

/** The sum is known to be a text, whose length is one load; the empty text adds nothing. */
export function lengthOf(text: string): number {
  // biome-ignore lint/style/useTemplate: a template takes a call
  return ('' + text).length
}

const { charCodeAt } = String.prototype

/** As `charCodeAt`. */
export function codeAt(text: string, index: number): number {
  return charCodeAt.call(text, index)
}
