/**
 * States of prepaid cards. Clients know two sets of names: `Idle`, `active`, `cancelled`, and
 * `Idle`, `Shipped`, `Active`, `Used`, `Expired`, `Stolen`, `Disqualified`. Both are accepted in
 * upper and lower case; `Disqualified` is `cancelled`. Answers prefer the first set.
 */
import { type CardStatus, USABLE_CARDS } from '../../catalog/records/card.ts'

interface CardState {
  /** The name in answers. */
  readonly displayName: string
  /** Further names in requests and in documents of existing systems. */
  readonly names: readonly string[]
  /** States from which a card may enter this one. */
  readonly from: readonly CardStatus[]
}

const STATES: Readonly<Record<CardStatus, CardState>> = {
  Idle: { displayName: 'Idle', names: [], from: [] },
  Shipped: { displayName: 'Shipped', names: [], from: ['Idle', 'Active'] },
  Active: { displayName: 'active', names: [], from: ['Idle', 'Shipped'] },
  Used: { displayName: 'Used', names: [], from: USABLE_CARDS },
  Expired: { displayName: 'Expired', names: [], from: USABLE_CARDS },
  Stolen: { displayName: 'Stolen', names: [], from: USABLE_CARDS },
  Cancelled: { displayName: 'cancelled', names: ['Disqualified'], from: USABLE_CARDS },
}

const NAMES: ReadonlyMap<string, CardStatus> = new Map(
  (Object.keys(STATES) as CardStatus[]).flatMap((status) =>
    [status, ...STATES[status].names].map((name) => [name.toLowerCase(), status] as const),
  ),
)

/** The names in requests. */
export const STATUS_NAMES: readonly string[] = Object.values(STATES).flatMap(
  ({ displayName, names }) => [displayName, ...names],
)

/** Null if it is not the name of a state. */
export function statusOf(name: unknown): CardStatus | null {
  return typeof name === 'string' ? (NAMES.get(name.toLowerCase()) ?? null) : null
}

export function displayStatus(status: CardStatus): string {
  return STATES[status].displayName
}

/** The states from which a card may be moved to this one. */
export function statesBefore(status: CardStatus): readonly CardStatus[] {
  return STATES[status].from
}
