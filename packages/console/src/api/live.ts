/** Live samples: a stream, or single samples while the session has too many streams. */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import type { RawDetailsOf } from './call-types.ts'
import { get, openStream } from './client.ts'
import { elapsedMs, pause } from './clock.ts'
import { Refusal } from './errors.ts'

export type LiveSample = RawDetailsOf<'api/live'>
export type LiveHistory = RawDetailsOf<'api/live/history'>

export interface LiveState {
  /** The newest sample; null before the first. */
  readonly sample: LiveSample | null
  /** When it came, by `elapsedMs`. */
  readonly atMs: number | null
  readonly mode: 'connecting' | 'stream' | 'polling' | 'ended'
  readonly refusal: Refusal | null
}

export interface LiveFollower {
  readonly state: ReadonlySignal<LiveState>
  stop(): void
}

const POLL_MS = 2_000
/** Polls before the next attempt to open a stream. */
const POLLS = 15
const RETRY_MS = 1_000
/** After a refusal that a later attempt may not have. */
const REFUSED_MS = 10_000
const TOO_MANY = 429

/** Follows the samples until `stop`; while the page is hidden, nothing is read. */
export function followLive(): LiveFollower {
  const first: LiveState = { sample: null, atMs: null, mode: 'connecting', refusal: null }
  const state = signal(first)
  const ended = new AbortController()
  void follow(state, ended.signal)
  return { state, stop: () => ended.abort() }
}

async function follow(state: Signal<LiveState>, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    const set = (changes: Partial<LiveState>) => {
      if (!ended.aborted) state.value = { ...state.peek(), ...changes }
    }
    try {
      await untilVisible(ended)
      await readStream(set, ended)
      await pause(RETRY_MS, ended)
    } catch (error) {
      if (ended.aborted) return
      const refusal = error instanceof Refusal ? error : null
      if (refusal?.code === TOO_MANY) await poll(set, ended).catch(() => {})
      else {
        set({ refusal, mode: 'ended' })
        const isPassing = refusal === null || refusal.kind === 'offline'
        await pause(isPassing ? RETRY_MS : REFUSED_MS, ended).catch(() => {})
      }
    }
  }
}

type SetState = (changes: Partial<LiveState>) => void

/** Resolves when the server or the visibility of the page ends the stream. */
async function readStream(set: SetState, ended: AbortSignal): Promise<void> {
  const hidden = new AbortController()
  const hide = () => document.hidden && hidden.abort()
  document.addEventListener('visibilitychange', hide)
  try {
    const signal = AbortSignal.any([ended, hidden.signal])
    for await (const { name, data } of eventsOf(await openStream('api/live', signal))) {
      if (name === 'sample') received(set, JSON.parse(data) as LiveSample, 'stream')
      // The next attempt learns why: a login, or a role.
      if (name === 'end') return
    }
  } catch (error) {
    if (!hidden.signal.aborted) throw error
  } finally {
    document.removeEventListener('visibilitychange', hide)
  }
}

async function poll(set: SetState, ended: AbortSignal): Promise<void> {
  for (let polls = 0; polls < POLLS; polls += 1) {
    await untilVisible(ended)
    const sample = await get('api/live', {}, { signal: ended, isSilent: true })
    received(set, sample as LiveSample, 'polling')
    await pause(POLL_MS, ended)
  }
}

function received(set: SetState, sample: LiveSample, mode: 'stream' | 'polling'): void {
  set({ sample, atMs: elapsedMs(), mode, refusal: null })
}

/** Values from an instant on, ms since 1970; null if they cannot be read now. */
export async function readHistory(fromMs: number): Promise<LiveHistory | null> {
  try {
    const history = await get('api/live/history', { from: fromMs }, { isSilent: true })
    return history as LiveHistory
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

function untilVisible(ended: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve()
  return new Promise((resolve, reject) => {
    ended.addEventListener('abort', () => reject(ended.reason))
    document.addEventListener('visibilitychange', () => resolve(), { once: true })
  })
}

interface ServerEvent {
  readonly name: string
  readonly data: string
}

/** Unlike those of `EventSource`, a refusal can be read. Ends with the stream. */
async function* eventsOf(response: Response): AsyncGenerator<ServerEvent> {
  const reader = response.body?.getReader()
  if (reader === undefined) return
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) yield eventIn(block)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** Comments, which keep the connection open, have no name. */
function eventIn(block: string): ServerEvent {
  const textOf = (field: string) =>
    block
      .split('\n')
      .filter((line) => line.startsWith(`${field}:`))
      .map((line) => line.slice(field.length + 1).replace(/^ /, ''))
      .join('\n')
  return { name: textOf('event'), data: textOf('data') }
}
