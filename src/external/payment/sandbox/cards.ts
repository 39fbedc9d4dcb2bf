/** Card numbers of the sandbox, and what each of them simulates. */

export type SandboxBehaviour =
  | 'completed'
  | 'declined'
  | 'expired'
  | 'pending'
  | 'pending-rejected'
  | 'slow'
  | 'lost'

/** Behaviour by number; null for a card that the hosted page refuses. */
const CARDS: ReadonlyMap<string, SandboxBehaviour | null> = new Map([
  ['4242424242424242', 'completed'],
  ['4000000000000002', null],
  ['4000000000000341', 'declined'],
  ['4000000000000069', 'expired'],
  ['4000000000003220', 'pending'],
  ['4000000000003063', 'pending-rejected'],
  ['4000000000006975', 'slow'],
  ['4000000000009235', 'lost'],
])

export const SANDBOX_CARDS: readonly string[] = [...CARDS.keys()]

/** `unknown`: not a card of the sandbox. */
export function behaviourOf(number: string): SandboxBehaviour | null | 'unknown' {
  const found = CARDS.get(number)
  return found === undefined ? 'unknown' : found
}
