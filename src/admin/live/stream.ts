/** Streams of samples to viewers, as server-sent events. */
import type { ServerResponse } from 'node:http'
import { RequestError } from '../../requests/errors.ts'
import type { Logger } from '../../runtime/log.ts'
import type { FollowedCaller } from '../auth/auth-guard.ts'
import type { LiveSampler, MadeSample } from './sampler.ts'

/** Limit per login session; browsers open at most six connections to a host. */
export const STREAMS_MAX = 2
/** Data that a reader may be behind: some ten samples. */
const UNSENT_BYTES_MAX = 64 * 1024
/** Users are cached for half a second, and a stream ends within a second. */
const CHECK_MS = 400
/** How long a stream continues while its caller cannot be checked. */
const UNCHECKED_MS_MAX = 60_000
const HEARTBEAT_MS = 5_000
/** When the browser connects again after a broken connection. */
const RETRY_MS = 2_000

/** Why the node ends a stream: the session or token, the roles, an outage of a store, a restart. */
export type StreamEnd = 'session' | 'role' | 'outage' | 'stopping'

export interface LiveStreams {
  /** Throws `RequestError` if the caller has too many streams. */
  open(caller: FollowedCaller, response: ServerResponse): void
  /** Ends all streams. */
  close(): void
}

export interface StreamOptions {
  readonly sampler: Pick<LiveSampler, 'watch'>
  readonly log: Pick<Logger, 'info' | 'error'>
}

export function createStreams({ sampler, log }: StreamOptions): LiveStreams {
  const byKey = new Map<string, Set<Stream>>()
  return {
    open(caller, response) {
      const streams = byKey.get(caller.key) ?? new Set()
      if (streams.size >= STREAMS_MAX) throw tooManyStreams()
      const stream = new Stream(response, caller, log)
      byKey.set(caller.key, streams.add(stream))
      stream.start()
      const unwatch = sampler.watch((made) => stream.send(made))
      response.once('close', () => {
        unwatch()
        stream.stop()
        streams.delete(stream)
        if (streams.size === 0) byKey.delete(caller.key)
      })
    },
    close() {
      for (const streams of byKey.values()) for (const stream of streams) stream.end('stopping')
    },
  }
}

function tooManyStreams(): RequestError {
  return new RequestError(
    429,
    `this login session has ${STREAMS_MAX} streams already: read single samples ` +
      '(Accept: application/json), or close one',
  )
}

class Stream {
  readonly #response: ServerResponse
  readonly #caller: FollowedCaller
  readonly #log: StreamOptions['log']
  readonly #checks: NodeJS.Timeout
  readonly #heartbeats: NodeJS.Timeout
  #isChecking = false
  #uncheckedMs = 0

  constructor(response: ServerResponse, caller: FollowedCaller, log: StreamOptions['log']) {
    this.#response = response
    this.#caller = caller
    this.#log = log
    this.#checks = setInterval(() => void this.#check(), CHECK_MS)
    this.#heartbeats = setInterval(() => this.#write(':\n\n'), HEARTBEAT_MS)
    this.#checks.unref()
    this.#heartbeats.unref()
  }

  start(): void {
    this.#response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      // Proxies such as nginx would collect the events.
      'x-accel-buffering': 'no',
    })
    this.#write(`retry: ${RETRY_MS}\n\n`)
  }

  send({ sample, json }: MadeSample): void {
    this.#write(`id: ${sample.time}\nevent: sample\ndata: ${json}\n\n`)
  }

  /** The viewer learns the reason, and does not connect again in vain. */
  end(reason: StreamEnd): void {
    this.stop()
    if (this.#response.writableEnded) return
    this.#response.end(`event: end\ndata: ${JSON.stringify({ reason })}\n\n`)
  }

  stop(): void {
    clearInterval(this.#checks)
    clearInterval(this.#heartbeats)
  }

  #write(text: string): void {
    const response = this.#response
    if (response.writableEnded || response.destroyed) return
    if (response.writableLength > UNSENT_BYTES_MAX) {
      this.#log.info(
        { unsentBytes: response.writableLength },
        'a slow reader of live data is cut off',
      )
      response.destroy()
      return
    }
    response.write(text)
  }

  async #check(): Promise<void> {
    // A check that waits for a store counts as none.
    this.#uncheckedMs += CHECK_MS
    if (this.#uncheckedMs > UNCHECKED_MS_MAX) this.end('outage')
    if (this.#isChecking) return
    this.#isChecking = true
    try {
      const result = await this.#caller.check()
      this.#uncheckedMs = 0
      if (result === 'ended') this.end('session')
      if (result === 'refused') this.end('role')
    } catch {
      // A store is away. The page shows that, as long as it may.
    } finally {
      this.#isChecking = false
    }
  }
}
