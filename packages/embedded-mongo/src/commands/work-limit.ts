import { MongoCommandError } from '../errors.ts'
import type { Clock } from '../interfaces.ts'

/** Stops a command that takes too long or whose client has disconnected. */
export type WorkLimit = {
  /**
   * Called where the work may be interrupted.
   * @throws CommandError (MaxTimeMSExpired, ClientDisconnect)
   */
  check(): void
  /** Remaining milliseconds; undefined if there is no limit. */
  leftMs(): number | undefined
}

/** `maxTimeMs` of 0 or undefined means no limit, as in the protocol. */
export function workLimit(
  clock: Clock,
  maxTimeMs: number | undefined,
  isAbandoned: () => boolean,
): WorkLimit {
  const endMs = maxTimeMs ? clock.nowMs() + maxTimeMs : undefined
  return {
    check() {
      if (isAbandoned())
        throw new MongoCommandError('ClientDisconnect', 'the client has disconnected')
      if (endMs === undefined || clock.nowMs() < endMs) return
      throw new MongoCommandError('MaxTimeMSExpired', 'operation exceeded time limit')
    },
    leftMs: () => (endMs === undefined ? undefined : Math.max(1, endMs - clock.nowMs())),
  }
}
