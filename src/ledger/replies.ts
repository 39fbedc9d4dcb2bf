/**
 * What the scripts answer per account. The names are injected into Lua, so no script has a bare
 * number.
 */
export const REPLY = {
  /** Written. */
  COMMITTED: 1,
  /** Somebody else committed first; the current states follow. */
  CONFLICT: 2,
  /** Another worker has the turn on this account. */
  BUSY: 3,
  /** The operation was done before; its result follows. */
  REPEATED: 4,
  /** The session id is at home elsewhere; its home follows. */
  CLAIMED: 5,
  /** A stored or given value is damaged; the reason follows. */
  CORRUPT: 6,
  /** The stream of the call is damaged, so that nothing of it was written; the reason follows. */
  UNWRITTEN: 7,
} as const
