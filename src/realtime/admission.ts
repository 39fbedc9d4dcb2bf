import { assert } from '../domain/assert.ts'

/** Bounds the requests that are under way: beyond it a request is refused at once, never queued. */
export interface Admission {
  /** Takes a slot; false if all are taken or the door is closed. */
  enter(): boolean
  /** Gives a slot back. */
  leave(): void
  readonly inFlight: number
  /** Admits nobody from now on. Resolves when the last one has left. */
  close(): Promise<void>
}

export function createAdmission(inFlightMax: number): Admission {
  let inFlight = 0
  let isClosed = false
  let whenEmpty: (() => void)[] = []
  return {
    enter() {
      if (isClosed || inFlight >= inFlightMax) return false
      inFlight += 1
      return true
    },
    leave() {
      assert(inFlight > 0, 'a slot is given back once')
      inFlight -= 1
      if (inFlight > 0 || whenEmpty.length === 0) return
      const waiting = whenEmpty
      whenEmpty = []
      for (const resolve of waiting) resolve()
    },
    get inFlight() {
      return inFlight
    },
    close() {
      isClosed = true
      if (inFlight === 0) return Promise.resolve()
      return new Promise((resolve) => whenEmpty.push(resolve))
    },
  }
}
