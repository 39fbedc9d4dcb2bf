/** `tollgate session list`: open sessions. */
import { type MoneyFormat, moneyFormat } from '../billing/currency.ts'
import { decimalText } from '../domain/money.ts'
import type { Session } from '../domain/session.ts'
import { openSessionsOf } from '../ledger/open-sessions.ts'
import { reservedMicros, sessionView } from '../ledger/session-view.ts'
import { CommandError, UsageError } from './errors.ts'
import { type OptionValues, optionalNumber } from './options.ts'
import { accountOf, aligned } from './owners.ts'
import type { Shell } from './shell.ts'
import { LEDGER_LOST, withStores } from './stores.ts'

export async function listSessions(shell: Shell, options: OptionValues): Promise<0> {
  const sid = optionalNumber(options, 'sid')
  const aid = optionalNumber(options, 'aid')
  if (sid === undefined && aid === undefined) {
    throw new UsageError('give --sid for a subscriber, or --aid for an account')
  }
  const config = shell.config()
  const sessions = await withStores(config, async (stores) => {
    const { ledger, clock, lost } = stores
    if (lost.length > 0) throw new CommandError(LEDGER_LOST)
    const account = aid ?? (await accountOf(stores, sid ?? 0, clock.nowMs()))
    const found: Session[] = []
    for await (const { session } of openSessionsOf(ledger, { aid: account, sid: sid ?? 0 })) {
      found.push(session)
    }
    return found.sort((one, other) => one.openedMs - other.openedMs)
  })
  if (options['json'] === true) shell.print(JSON.stringify(sessions.map(sessionView)))
  else
    for (const line of sessionsText(sessions, moneyFormat(config.rating.currencyCode))) {
      shell.print(line)
    }
  return 0
}

function sessionsText(sessions: readonly Session[], money: MoneyFormat): string[] {
  if (sessions.length === 0) return ['no open sessions']
  const head = ['sid', 'session', 'origin', 'opened', 'expires', 'request', 'reserved']
  const rows = sessions.map((session) => [
    String(session.identity.sid),
    session.identity.sessionId,
    session.identity.origin,
    new Date(session.openedMs).toISOString(),
    new Date(session.expiresMs).toISOString(),
    session.lastNumber < 0 ? '' : String(session.lastNumber),
    reservationText(session, money),
  ])
  return aligned([head, ...rows])
}

/** Reservations of a session by rating group. */
export function reservationText({ services }: Session, money: MoneyFormat): string {
  const reservations = services.map((service) => {
    const { ratingGroup, serviceIdentifier, usaget } = service.identity
    const name = serviceIdentifier === '' ? ratingGroup : `${ratingGroup}/${serviceIdentifier}`
    const micros = reservedMicros(service)
    const paid = micros === 0 ? '' : ` (${money(decimalText(micros))} of money)`
    return `${name}: ${service.reservation.units} ${usaget || 'units'}${paid}`
  })
  return reservations.length === 0 ? 'nothing' : reservations.join(', ')
}
