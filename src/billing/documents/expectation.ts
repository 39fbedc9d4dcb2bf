/** An invoice that an account would get, which is not stored. */
import type { StoredRevision } from '../cycle/compute.ts'
import type { RunCycle } from '../cycle/run-cycle.ts'

/** The number on an expected invoice: those of stored ones begin above. */
export const NO_NUMBER = 0

export interface Expectation {
  readonly aid: number
  readonly cycle: RunCycle
  /** Whether usage and credits are left out. */
  readonly ignoresLines: boolean
  /** In place of the stored revisions. */
  readonly account: readonly StoredRevision[] | null
  readonly subscribers: readonly StoredRevision[] | null
  readonly nowMs: number
}
