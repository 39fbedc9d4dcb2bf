/** Pauses reading from a connection, so that TCP flow control slows the peer down. */
import type { Socket } from 'node:net'
import type { Admission } from '../admission.ts'

/** Tells whether the node falls behind with its requests. */
export type Backpressure = Pick<Admission, 'isBehind' | 'onCaughtUp'>

export interface ReadThrottleOptions {
  readonly backpressure: Backpressure
  readonly outputBytesMax: number
  /** A peer that reads none of its answers for this time is disconnected. */
  readonly stalledMs: number
  /** Bytes that the peer has not read. */
  readonly waitingBytes: () => number
}

/** A peer with at most this many requests in flight is read from regardless of the backlog. */
export const BACKPRESSURE_REQUESTS_MIN = 64
/** Bytes after which other connections are served first: libuv would continue with the same one. */
export const YIELD_BYTES = 32 * 1024

export class ReadThrottle {
  readonly #socket: Socket
  readonly #options: ReadThrottleOptions
  /** The peer must read its answers first. */
  #isPaused = false
  /** The node must catch up first. */
  #isBackpressured = false
  /** Other connections are served first. */
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

  /** Whether nothing can be received from the peer. */
  get isStopped(): boolean {
    return this.#isPaused || this.#isBackpressured || this.#isYielding
  }

  /** Called after each write: a peer that does not read is not read from. */
  afterWrite(): void {
    const { outputBytesMax, stalledMs, waitingBytes } = this.#options
    if (this.#isPaused || waitingBytes() <= outputBytesMax) return
    this.#isPaused = true
    this.#socket.pause()
    // The socket time-out restarts with each part of a write that is sent.
    this.#socket.setTimeout(stalledMs)
  }

  /**
   * Called after requests from `bytes` have been processed. While the node is behind, further
   * requests of a peer wait in the network, where no time-out runs.
   */
  afterRead(bytes: number, underWay: number): void {
    const { backpressure } = this.#options
    if (bytes >= YIELD_BYTES) this.#yield()
    if (this.#isBackpressured || underWay <= BACKPRESSURE_REQUESTS_MIN || !backpressure.isBehind)
      return
    this.#isBackpressured = true
    this.#socket.pause()
    backpressure.onCaughtUp(() => {
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
