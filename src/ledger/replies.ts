/**
 * Reply codes of the scripts. They are injected into the Lua sources as locals, so no script
 * contains a bare number.
 */
export const REPLY = {
  /** Written. */
  COMMITTED: 1,
  /** Another commit came first; the current states follow. */
  CONFLICT: 2,
  /** The account is busy: another worker has set a back-off hint on it. */
  BUSY: 3,
  /** The operation was executed before; its result follows. */
  REPEATED: 4,
  /** The session is registered in another account; its location and directory key follow. */
  REGISTERED: 5,
  /** A stored value or an argument is damaged; the reason follows. */
  CORRUPT: 6,
  /** The stream of the call is damaged, so nothing was written; the reason follows. */
  UNWRITTEN: 7,
} as const
