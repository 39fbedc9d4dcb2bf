/**
 * A connection to the node that sends requests and receives answers, each request in its own slot.
 */
import type { Fate, SessionRing } from './session-ring.ts'

export interface LinkOptions {
  port: number
  connections: number
  /** Number of slots: the maximum of requests under way. */
  outstanding: number
  firstSubscriber: number
  ring: SessionRing
  /** Prefix of the session ids of this link. */
  run: string
  onAnswer: (slot: number, fate: Fate, answer: number) => void
}

export interface Link {
  readonly slots: number
  open(): Promise<void>
  /** Sends the next request of a session; its slot is occupied until `onAnswer` or `abandon`. */
  send(slot: number, session: number): void
  /** Ignores the answer to the request under way in this slot. */
  abandon(slot: number): void
  close(): void
}
