/** The population of the audited workloads: few accounts, so that clients share them. */
import { randomInt } from 'node:crypto'
import { mixed } from './mixed.ts'

const GIB = 1024 ** 3

/** Micros of money and bytes of data; few enough that many run out. */
const MONEY = 20_000_000
const DATA = GIB / 4
const SHARED = 4 * GIB

const SUBSCRIBERS = 120

/**
 * Included units and postpaid limits, which are not topped up, are those of 120 subscribers with
 * this many thousand sessions.
 */
export function audited(thousands: number, subscribers = SUBSCRIBERS) {
  const size = { subscribers, subscribersPerAccount: 12 }
  const own = { 1: MONEY, 2: DATA }
  return { ...size, own, shared: { 3: SHARED }, ...mixed(size, thousands) }
}

export const AUDITED = audited(1)

export const CREDITS = [
  { prepaidIncludeId: 1, amount: MONEY },
  { prepaidIncludeId: 2, amount: DATA },
  { prepaidIncludeId: 3, amount: SHARED },
]

/** Abandoned sessions expire during the test. */
export const FAST_EXPIRY = {
  TOLLGATE_SESSION_VALIDITY_MS: '5000',
  TOLLGATE_SESSION_GRACE_MS: '1000',
  TOLLGATE_SWEEP_INTERVAL_MS: '200',
}

/** AUDIT_SEED, or a random one: the title of the test contains it. */
export function seedOf(): number {
  return Number(process.env['AUDIT_SEED'] ?? randomInt(1, 2 ** 31))
}
