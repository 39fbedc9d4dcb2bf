/** Reads of a page: one at a time, ended when the page is left, with their age. */
import { type ReadonlySignal, signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { isOnline } from './client.ts'
import { elapsedMs } from './clock.ts'
import { asRefusal, type Refusal } from './errors.ts'

export interface ReadState<T> {
  /** The last data; null before the first answer. */
  readonly data: T | null
  /** Why the last read failed; null if it did not. */
  readonly refusal: Refusal | null
  readonly isLoading: boolean
  /** When `data` was answered, by `elapsedMs`. */
  readonly atMs: number | null
}

export interface Reading<T> {
  readonly state: ReadonlySignal<ReadState<T>>
  /** Reads again; the data stay until the answer. */
  reload(): void
}

/**
 * Reads when the component appears and when `key` changes, and again when the server answers
 * after an interruption. With null for `read` nothing is read.
 */
export function useRead<T>(
  key: string,
  read: ((signal: AbortSignal) => Promise<T>) | null,
): Reading<T> {
  const reading = useMemo(() => createReading(read), [key])
  useEffect(() => {
    reading.reload()
    let wasOnline = isOnline.peek()
    const unsubscribe = isOnline.subscribe((online) => {
      if (online && !wasOnline) reading.reload()
      wasOnline = online
    })
    return () => {
      unsubscribe()
      reading.stop()
    }
  }, [reading])
  return reading
}

function createReading<T>(read: ((signal: AbortSignal) => Promise<T>) | null) {
  const nothing: ReadState<T> = { data: null, refusal: null, isLoading: read !== null, atMs: null }
  const state = signal(nothing)
  let running: AbortController | null = null
  const stop = () => {
    running?.abort()
    running = null
  }
  const reload = () => {
    stop()
    if (read === null) return
    const controller = new AbortController()
    running = controller
    state.value = { ...state.peek(), isLoading: true }
    const done = (result: Partial<ReadState<T>>) => {
      if (running !== controller) return
      running = null
      state.value = { ...state.peek(), isLoading: false, ...result }
    }
    read(controller.signal).then(
      (data) => done({ data, refusal: null, atMs: elapsedMs() }),
      (error: unknown) => done({ refusal: asRefusal(error) }),
    )
  }
  return { state, reload, stop }
}
