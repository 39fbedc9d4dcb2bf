/**
 * The known name that was probably meant; undefined if none is similar: same letters in other case,
 * same last part in another section, or a small edit distance (a third of the length).
 */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const target = name.toLowerCase()
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1
  for (const candidate of known) {
    const lower = candidate.toLowerCase()
    const isSameLeaf = target.split('.').at(-1) === lower.split('.').at(-1)
    const distance = isSameLeaf
      ? Math.min(1, editDistance(target, lower))
      : editDistance(target, lower)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Longer names are not compared: that takes the square of their length. */
const COMPARED_MAX = 64

/** `; did you mean plan?` after a text about an unknown name; empty if no known one is similar. */
export function proposal(name: string, known: readonly string[]): string {
  const meant = name.length > COMPARED_MAX ? undefined : nearest(name, known)
  return meant === undefined ? '' : `; did you mean ${meant}?`
}

/** Number of single letters to insert, delete or replace (Levenshtein). */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= to.length; column += 1) {
      const replace = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1)
      const insert = (current[column - 1] ?? 0) + 1
      const remove = (previous[column] ?? 0) + 1
      current.push(Math.min(replace, insert, remove))
    }
    previous = current
  }
  return previous[to.length] ?? 0
}
