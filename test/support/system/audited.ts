/** The population that the audited workloads share: few accounts, so that clients meet in them. */
import { randomInt } from 'node:crypto'
import { mixed } from './mixed.ts'

const GIB = 1024 ** 3

/** Micros of money and bytes of data; small enough that many run out. */
const MONEY = 20_000_000
const DATA = GIB / 4
const SHARED = 4 * GIB

const SIZE = { subscribers: 120, subscribersPerAccount: 12 }

/** For so many thousand sessions: what is included and owed at most is not topped up meanwhile. */
export function audited(thousands: number) {
  const own = { 1: MONEY, 2: DATA }
  return { ...SIZE, own, shared: { 3: SHARED }, ...mixed(SIZE, thousands) }
}

export const AUDITED = audited(1)

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
