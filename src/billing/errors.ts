import type { Wrong } from '../domain/field-errors.ts'
/** A request that billing refuses; nothing was written. The text is part of the interface. */
export class BillingError extends Error {
  override name = 'BillingError'
  readonly wrong: Wrong

  constructor(message: string, wrong: Wrong = 'refused', options?: ErrorOptions) {
    super(message, options)
    this.wrong = wrong
  }
}
