import type { Reason } from '../domain/charge-outcome.ts'

/** HTTP status of every outcome: a denial is an answer (200), a failure an outage (503). */
export const httpStatus = {
  granted: 200,
  notCharged: 200,
  noCredit: 200,
  unknownSubscriber: 200,
  noRate: 200,
  blocked: 200,
  pricing: 200,
  noTax: 200,
  unknownSession: 200,
  sessionClosed: 200,
  outOfOrder: 200,
  numberReused: 200,
  barred: 200,
  totalBelow: 200,
  refundLimit: 200,
  nothingToRefund: 200,
  capReached: 200,
  malformed: 400,
  overloaded: 503,
  contention: 503,
  storeDown: 503,
  corrupt: 503,
  timedOut: 503,
} as const satisfies Record<Reason, number>
