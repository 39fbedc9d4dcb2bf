/** A way to the node on which requests are sent and answered, each in a slot of its own. */
import type { Fate, SessionRing } from './session-ring.ts'

export interface LinkOptions {
  port: number
  connections: number
  /** Slots: requests under way at most. */
  outstanding: number
  firstSubscriber: number
  ring: SessionRing
  /** Begins the session ids of this link. */
  run: string
  onAnswer: (slot: number, fate: Fate, answer: number) => void
}

export interface Link {
  readonly slots: number
  open(): Promise<void>
  /** Sends the next request of a session; its slot is taken until `onAnswer`, or `abandon`. */
  send(slot: number, session: number): void
  /** What comes in this slot for the request that is under way is not taken any more. */
  abandon(slot: number): void
  close(): void
}
