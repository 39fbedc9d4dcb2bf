/** When a connection is not read from, so that the system of its peer has to wait. */
import type { Socket } from 'node:net'
import type { Admission } from '../admission.ts'

/** What tells whether the node can keep up with its requests. */
export type Backpressure = Pick<Admission, 'isBehind' | 'onCaughtUp'>

export interface ReadThrottleOptions {
  readonly intake: Backpressure
  readonly outputBytesMax: number
  /** A peer that reads none of its answers for so long is cut. */
  readonly stalledMs: number
  /** Bytes that the peer has not taken yet. */
  readonly waitingBytes: () => number
}

/** A peer with no more requests under way is read from, however far behind the node is. */
export const BACKPRESSURE_REQUESTS_MIN = 64
/** Bytes after which the other connections have their turn: libuv would go on with the same. */
export const YIELD_BYTES = 32 * 1024

export class ReadThrottle {
  readonly #socket: Socket
  readonly #options: ReadThrottleOptions
  /** The peer has to read what it was sent first. */
  #isPaused = false
  /** The node has to catch up first. */
  #isBackpressured = false
  /** The other connections have their turn first. */
  #isYielding = false

  constructor(socket: Socket, options: ReadThrottleOptions) {
    this.#socket = socket
    this.#options = options
    socket.on('drain', () => this.#drained())
  }

  /** Whether the peer does not read its answers. */
  get isPaused(): boolean {
    return this.#isPaused
  }

  /** Whether nothing can be heard of the peer. */
  get isStopped(): boolean {
    return this.#isPaused || this.#isBackpressured || this.#isYielding
  }

  /** To be called after each write: a peer that does not read is not read from. */
  afterWrite(): void {
    const { outputBytesMax, stalledMs, waitingBytes } = this.#options
    if (this.#isPaused || waitingBytes() <= outputBytesMax) return
    this.#isPaused = true
    this.#socket.pause()
    // The time of a socket begins anew with each part of a write that gets through.
    this.#socket.setTimeout(stalledMs)
  }

  /**
   * To be called when requests were taken from so many bytes: while the node is behind, what a peer
   * sends beyond those under way waits on the way to the node, where no time-out runs.
   */
  afterRead(bytes: number, underWay: number): void {
    const { intake } = this.#options
    if (bytes >= YIELD_BYTES) this.#yield()
    if (this.#isBackpressured || underWay <= BACKPRESSURE_REQUESTS_MIN || !intake.isBehind) return
    this.#isBackpressured = true
    this.#socket.pause()
    intake.onCaughtUp(() => {
      this.#isBackpressured = false
      this.#resume()
    })
  }

  #yield(): void {
    if (this.#isYielding) return
    this.#isYielding = true
    this.#socket.pause()
    setImmediate(() => {
      this.#isYielding = false
      this.#resume()
    })
  }

  #drained(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#socket.setTimeout(0)
    this.#resume()
  }

  #resume(): void {
    if (!this.isStopped && !this.#socket.destroyed) this.#socket.resume()
  }
}
