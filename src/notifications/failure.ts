/** Why an event was not delivered. */
import type { CallFailure } from '../external/call-error.ts'

export type DeliveryFailure =
  | CallFailure
  /** The address of the receiver is not a URL. */
  | 'settings'
  | 'HTML'
  | 'not JSON'
  | 'not XML'
  /** The answer can be read, and has no `success` that is true. */
  | 'not accepted'

/** The message is stored with the event: it has no part of the answer, and no address. */
export class DeliveryError extends Error {
  override name = 'DeliveryError'
  readonly kind: DeliveryFailure

  constructor(kind: DeliveryFailure, reason: string) {
    super(`${kind}: ${reason}`)
    this.kind = kind
  }
}
