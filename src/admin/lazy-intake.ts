/** The intake of the control plane, which is opened when a caller sends usage records. */
import { patienceOf } from '../catalog/patience.ts'
import type { Intake, IntakeOptions } from '../intake/open-intake.ts'

export interface LazyIntake {
  open(): Promise<Intake>
  close(): Promise<void>
}

/** Waits for stores no longer than a request may. */
export function lazyIntake(parts: Omit<IntakeOptions, 'patience'>): LazyIntake {
  const patience = patienceOf(parts.config.mongo.timeoutMs, () => undefined)
  const options = { ...parts, patience }
  let opened: Promise<Intake> | null = null
  return {
    open() {
      opened ??= import('../intake/open-intake.ts')
        .then(({ openIntake }) => openIntake(options))
        .catch((error: unknown) => {
          opened = null
          throw error
        })
      return opened
    },
    async close() {
      await (await opened?.catch(() => null))?.close()
    },
  }
}
