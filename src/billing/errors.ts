/** A request that billing refuses; nothing was written. The text is part of the interface. */
export class BillingError extends Error {
  override name = 'BillingError'
}
