/** The population that the audited workloads share: few accounts, so that clients meet in them. */
import { randomInt } from 'node:crypto'

const GIB = 1024 ** 3

/** Micros of money and bytes of data; small enough that many run out. */
const MONEY = 20_000_000
const DATA = GIB / 4
const SHARED = 4 * GIB

export const AUDITED = {
  subscribers: 120,
  subscribersPerAccount: 12,
  own: { 1: MONEY, 2: DATA },
  shared: { 3: SHARED },
}

export const CREDITS = [
  { prepaidIncludeId: 1, amount: MONEY },
  { prepaidIncludeId: 2, amount: DATA },
  { prepaidIncludeId: 3, amount: SHARED },
]

/** Abandoned sessions expire while the test looks on. */
export const FAST_EXPIRY = {
  TOLLGATE_SESSION_VALIDITY_MS: '5000',
  TOLLGATE_SESSION_GRACE_MS: '1000',
  TOLLGATE_SWEEP_INTERVAL_MS: '200',
}

/** AUDIT_SEED, or a fresh one: it stands in the name of the test. */
export function seedOf(): number {
  return Number(process.env['AUDIT_SEED'] ?? randomInt(1, 2 ** 31))
}
