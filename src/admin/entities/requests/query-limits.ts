/** Limits on the size of a query, checked before anything else. */
const DEPTH_MAX = 8
const MEMBERS_MAX = 1_000
const NODES_MAX = 10_000

/**
 * Why a query is refused; null if it is valid. The depth of objects does not include the lists
 * between them.
 */
export function sizeReason(query: unknown): string | null {
  return walk(query, 1, 1, { nodes: NODES_MAX })
}

function walk(
  value: unknown,
  objects: number,
  lists: number,
  left: { nodes: number },
): string | null {
  left.nodes -= 1
  if (left.nodes < 0) return `has more than ${NODES_MAX} values`
  if (typeof value !== 'object' || value === null) return null
  const isList = Array.isArray(value)
  if ((isList ? lists : objects) > DEPTH_MAX) return `is nested deeper than ${DEPTH_MAX} levels`
  if (isList && value.length > MEMBERS_MAX) {
    return `has a list of more than ${MEMBERS_MAX} members`
  }
  for (const member of Object.values(value)) {
    const reason = isList
      ? walk(member, objects, lists + 1, left)
      : walk(member, objects + 1, 1, left)
    if (reason !== null) return reason
  }
  return null
}
