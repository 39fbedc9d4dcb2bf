import type { DecodeError } from '../codec.ts'
import type { WireAvp } from './message.ts'
import type { RequestTrace } from './trace.ts'

/** Why a message is refused, with the values that its answer needs. */
export class WireProblem implements DecodeError {
  readonly field: string
  readonly why: string
  readonly resultCode: number
  /** Content of Failed-AVP; null if absent. */
  readonly failed: WireAvp | null
  readonly trace: RequestTrace

  constructor(found: AvpProblem, trace: RequestTrace) {
    this.field = found.field
    this.why = found.why
    this.resultCode = found.resultCode
    this.failed = found.failed
    this.trace = trace
  }
}

/** A problem without the trace of its message. */
export interface AvpProblem extends DecodeError {
  resultCode: number
  failed: WireAvp | null
}
