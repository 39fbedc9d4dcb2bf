/** The intake of the control plane, which is opened when a caller sends usage records. */
import { patienceOf } from '../catalog/patience.ts'
import type { Intake, IntakeOptions } from '../intake/open-intake.ts'
import { RequestError } from '../requests/errors.ts'

export interface LazyIntake {
  /** Rejects after `close`. */
  open(): Promise<Pick<Intake, 'charge' | 'resubmit'>>
  /** Waits for calls under way. */
  close(): Promise<void>
}

/** Waits for stores no longer than a request may. */
export function lazyIntake(parts: Omit<IntakeOptions, 'patience'>): LazyIntake {
  const patience = patienceOf(parts.config.mongo.timeoutMs, () => undefined)
  const options = { ...parts, patience }
  let opened: Promise<Intake> | null = null
  let isClosed = false
  const underWay = new Set<Promise<unknown>>()
  const checkOpen = () => {
    if (isClosed) throw new RequestError(503, 'the server is stopping')
  }
  const tracked = async <T>(begin: () => Promise<T>): Promise<T> => {
    checkOpen()
    const call = begin()
    const ended = call.catch(() => undefined).finally(() => underWay.delete(ended))
    underWay.add(ended)
    return call
  }
  return {
    async open() {
      checkOpen()
      opened ??= import('../intake/open-intake.ts')
        .then(({ openIntake }) => openIntake(options))
        .catch((error: unknown) => {
          opened = null
          throw error
        })
      const intake = await opened
      return {
        charge: (...args) => tracked(() => intake.charge(...args)),
        resubmit: (...args) => tracked(() => intake.resubmit(...args)),
      }
    },
    async close() {
      isClosed = true
      const intake = await opened?.catch(() => null)
      await Promise.all(underWay)
      await intake?.close()
    },
  }
}
