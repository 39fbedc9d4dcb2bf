/** Moves a boundary of a revision, and that of its neighbour if they are adjacent. Pure. */
import type { RawDocument } from '../../catalog/compile/document.ts'
import { EntityRuleError } from '../../requests/errors.ts'
import { dateText } from './dates.ts'
import { type Draft, fromOf, toOf } from './draft.ts'
import { checkMinimum, type EditContext } from './edits.ts'

export type Edge = 'from' | 'to'

export interface Moved {
  entity: RawDocument
  /** Null if the neighbour was not changed. */
  neighbour: RawDocument | null
  /** False if the boundary already was at the date. */
  isMoved: boolean
}

export interface MoveRequest {
  edge: Edge
  atMs: number
  /**
   * True to move the neighbour even across a gap; otherwise only if it is adjacent or would
   * overlap.
   */
  alwaysMovesNeighbour: boolean
}

export function move(
  draft: Draft,
  target: RawDocument,
  request: MoveRequest,
  context: EditContext,
): Moved {
  const { edge, atMs } = request
  const wasMs = edge === 'from' ? fromOf(target) : toOf(target)
  if (atMs === wasMs) return { entity: target, neighbour: null, isMoved: false }
  const { zone } = context
  if (edge === 'from' ? atMs >= toOf(target) : atMs <= fromOf(target)) {
    const other = edge === 'from' ? `before ${dateText(toOf(target), zone)}` : ''
    const limit = other === '' ? `after ${dateText(fromOf(target), zone)}` : other
    throw new EntityRuleError(`move: ${edge} must be ${limit}, or the revision would be empty`, {
      path: edge,
    })
  }
  checkMinimum(`move: the old ${edge}`, null, wasMs, context)
  checkMinimum(`move: ${edge}`, edge, atMs, context)
  const neighbour = neighbourOf(draft, target, edge)
  const follows = neighbour !== null && isFollowing(neighbour, wasMs, request)
  if (neighbour !== null && follows) checkNotSwallowed(neighbour, request, zone)
  const at = new Date(atMs)
  const moved = draft.change(target, { [edge]: at })
  if (neighbour === null || !follows) return { entity: moved, neighbour: null, isMoved: true }
  const touched = draft.change(neighbour, { [edge === 'from' ? 'to' : 'from']: at })
  return { entity: moved, neighbour: touched, isMoved: true }
}

function neighbourOf(draft: Draft, target: RawDocument, edge: Edge): RawDocument | null {
  const revisions = draft.revisions()
  const at = revisions.findIndex(({ _id: id }) => id.equals(target._id))
  return revisions[edge === 'from' ? at - 1 : at + 1] ?? null
}

function isFollowing(
  neighbour: RawDocument,
  wasMs: number,
  { edge, atMs, alwaysMovesNeighbour }: MoveRequest,
): boolean {
  if (alwaysMovesNeighbour) return true
  const edgeMs = edge === 'from' ? toOf(neighbour) : fromOf(neighbour)
  const isOverlapped = edge === 'from' ? atMs < edgeMs : atMs > edgeMs
  return edgeMs === wasMs || isOverlapped
}

/** The neighbour must not become empty. */
function checkNotSwallowed(
  neighbour: RawDocument,
  { edge, atMs }: MoveRequest,
  zone: string,
): void {
  if (edge === 'from' && fromOf(neighbour) >= atMs) {
    const begin = dateText(fromOf(neighbour), zone)
    throw new EntityRuleError(
      `move: from must be after ${begin}, where the revision before begins`,
      { path: 'from' },
    )
  }
  if (edge === 'to' && toOf(neighbour) <= atMs) {
    const end = dateText(toOf(neighbour), zone)
    throw new EntityRuleError(`move: to must be before ${end}, where the next revision ends`, {
      path: 'to',
    })
  }
}
