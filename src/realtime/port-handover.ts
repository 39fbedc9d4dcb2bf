/** Ports of a process that has just ended. */
import { setTimeout as pause } from 'node:timers/promises'
import { monotonicMs } from '../runtime/clock.ts'
import { ListenError } from './http/listening.ts'

const INSIST_MS = 5_000
const PAUSE_MS = 10

/**
 * Opens what listens. In place of a process that has just ended it insists for a while: clients that
 * connect again and again to a port where nobody listens may take it themselves (TCP connects a
 * socket to itself where the system chooses that port for it), for as long as they wait. Throws as
 * `open` does.
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
