import type { DecodeError } from '../codec.ts'
import type { WireAvp } from './message.ts'
import type { RequestTrace } from './trace.ts'

/** Why a message is not taken, with what its answer needs. */
export class WireProblem implements DecodeError {
  readonly field: string
  readonly why: string
  readonly resultCode: number
  /** What Failed-AVP holds; null: nothing. */
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

/** The same before anything is known of the message around it. */
export interface AvpProblem extends DecodeError {
  resultCode: number
  failed: WireAvp | null
}
