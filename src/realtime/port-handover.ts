/** Opens ports of a process that has just ended. */
import { setTimeout as pause } from 'node:timers/promises'
import { monotonicMs } from '../runtime/clock.ts'
import { ListenError } from './http/listening.ts'

const INSIST_MS = 5_000
const PAUSE_MS = 10

/**
 * Opens the listeners. A process that takes over from one that has just ended retries for a while:
 * a client that keeps connecting to a port without a listener may occupy the port itself (TCP
 * self-connect, when the system chooses that port as the client's own). Throws what `open` throws.
 */
export async function openPorts<T>(takesOver: boolean, open: () => Promise<T>): Promise<T> {
  const untilMs = monotonicMs() + (takesOver ? INSIST_MS : 0)
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof ListenError) || monotonicMs() >= untilMs) throw error
    }
    await pause(PAUSE_MS)
  }
}
