/** Edits of the list of tiers of a price. */
import { leafText } from '../differences.ts'
import type { Document } from './values.ts'

export const UNLIMITED = 'UNLIMITED'

/** The next tier begins where this one ends, if it did before. */
export function followed(
  before: readonly Document[],
  after: readonly Document[],
  index: number,
): readonly Document[] {
  const next = after[index + 1]
  if (next?.['from'] === undefined) return after
  const didFollow = leafText(next['from']) === leafText(before[index]?.['to'])
  return didFollow ? after.with(index + 1, { ...next, from: after[index]?.['to'] }) : after
}

/**
 * With an open tier at the end. It begins where the last one ends; an open last tier gets an empty
 * end, which is still to be typed.
 */
export function withTier(tiers: readonly Document[]): readonly Document[] {
  const last = tiers.at(-1)
  if (last === undefined) return [{ from: '0', to: UNLIMITED, interval: '1', price: '' }]
  const { to } = last
  const isOpen = to === undefined || to === '' || to === UNLIMITED
  const added = { ...last, from: isOpen ? '' : to, to: UNLIMITED, price: '' }
  return isOpen ? [...tiers.slice(0, -1), { ...last, to: '' }, added] : [...tiers, added]
}
