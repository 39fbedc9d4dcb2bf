/**
 * Expiry of a session: its reservations are released, and it stays as a tombstone. Its
 * services stay without reservations, so that usage reported after expiry continues their segments.
 */
import { present } from './assert.ts'
import type { OwnerState } from './bucket.ts'
import type { ChargeProgram } from './charge-program.ts'
import type { Line } from './line.ts'
import { lineOf, serviceTagOf } from './lines.ts'
import { type ServiceSession, type Session, withServices } from './session.ts'
import { settle } from './settle.ts'

export interface ExpiringSession {
  subscriber: OwnerState
  account: OwnerState
  session: Session
  sessionKey: string
}

export interface ExpiredSession {
  subscriber: OwnerState
  account: OwnerState
  session: Session
  lines: Line[]
}

/** Pure. There is no usage, so nothing is rated. Every line ends. */
export function expireSession(
  { subscriber, account, session, sessionKey }: ExpiringSession,
  nowMs: number,
  replayMs: number,
): ExpiredSession {
  let state = { subscriber, account }
  const lines: Line[] = []
  const services: ServiceSession[] = []
  const program: ChargeProgram = {
    used: 0,
    requested: 0,
    exact: false,
    order: [],
    nextOrder: [],
    next: null,
    atMs: nowMs,
    end: 'expired',
  }
  for (const [index, service] of session.services.entries()) {
    const settled = settle({ ...state, service }, program)
    state = {
      subscriber: settled.subscriber,
      account: present(settled.account, 'shared buckets'),
    }
    services.push(settled.service)
    for (const change of settled.changes) {
      const tag = serviceTagOf(sessionKey, session, index)
      lines.push(lineOf(session, settled.service, change, tag))
    }
  }
  const tombstone = withServices(session, services)
  tombstone.state = 'expired'
  tombstone.expiresMs = nowMs + replayMs
  return { ...state, session: tombstone, lines }
}
