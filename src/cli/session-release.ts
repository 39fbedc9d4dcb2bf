/** `tollgate session release`: an operator ends a session. */
import { loadConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { LedgerLostError } from '../ledger/epochs.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type FoundSession, findSession, findSessionsById } from '../ledger/open-sessions.ts'
import { releaseSession } from '../ledger/release.ts'
import { print } from '../runtime/terminal.ts'
import { StoreDownError } from '../store/redis.ts'
import { publishSessionEvent } from '../store/session-events.ts'
import { CommandError } from './errors.ts'
import { recordByOperator } from './operator.ts'
import { type OptionValues, optionalText } from './parse.ts'
import { reservationText } from './session-list.ts'
import { LEDGER_LOST, withStores } from './stores.ts'

/** Only Diameter network elements accept requests from the node. */
const DIAMETER = 'diameter:'

/** Prints what was done. Throws `CommandError` if there is no such open session. */
export async function release(
  sessionId = '',
  options: OptionValues,
  file: string | undefined,
): Promise<0> {
  const origin = optionalText(options, 'origin')
  const config = loadConfig(file === undefined ? {} : { file })
  const lines = await withStores(config, async ({ catalog, ledger, clock, lost }) => {
    if (lost.length > 0) throw new CommandError(LEDGER_LOST)
    const found = await openSession(ledger, sessionId, origin)
    const isImmediate = options['now'] === true
    const messages = isImmediate
      ? await releaseNow(ledger, found, config, clock.nowMs())
      : [await ask(ledger, found)]
    await recordByOperator(catalog, entryOf(found, isImmediate))
    return messages
  })
  for (const line of lines) print(line)
  return 0
}

function entryOf({ session }: FoundSession, isImmediate: boolean) {
  const { sessionId: key, origin, aid, sid } = session
  const type = isImmediate ? 'release' : 'ask_to_end'
  return { collection: 'sessions', type, key, old: { origin, aid, sid } }
}

async function openSession(
  ledger: Ledger,
  sessionId: string,
  origin: string | undefined,
): Promise<FoundSession> {
  const found =
    origin === undefined
      ? await findSessionsById(ledger, sessionId)
      : [await findSession(ledger, origin, sessionId)].filter((one) => one !== null)
  const open = found.filter(({ session }) => session.state === 'open')
  const [one, ...others] = open
  if (one !== undefined && others.length === 0) return one
  if (one !== undefined) {
    const origins = open.map(({ session }) => session.origin).sort()
    throw new CommandError(
      `session ${sessionId} is open under ${origins.join(' and ')}: say which with --origin`,
    )
  }
  if (found.length > 0) throw new CommandError(`session ${sessionId} is closed already`)
  const where = origin === undefined ? '' : ` of ${origin}`
  throw new CommandError(`there is no session ${sessionId}${where}`)
}

async function ask(ledger: Ledger, found: FoundSession): Promise<string> {
  const { origin, sessionId } = found.session
  if (!origin.startsWith(DIAMETER)) {
    const why = 'did not come over Diameter, so its network element cannot be asked to end it'
    throw new CommandError(`session ${sessionId} of ${origin} ${why}: use --now`)
  }
  const isPublished = await publishSessionEvent(ledger.redis, {
    cause: 'release',
    origin,
    sessionId,
  })
  if (!isPublished) throw new CommandError('redis did not accept the message: repeat the command')
  return `notified all nodes: the network element of session ${nameOf(found)} is asked to end it`
}

async function releaseNow(
  ledger: Ledger,
  found: FoundSession,
  config: Config,
  nowMs: number,
): Promise<string[]> {
  const { commitAttemptsMax: attemptsMax, replayMs } = config.ledger
  const settings = { attemptsMax, replayMs }
  const session = await releaseSession(ledger, found, settings, nowMs).catch((error: unknown) => {
    throw withRetryAdvice(error)
  })
  if (session === null) {
    throw new CommandError(`session ${found.session.sessionId} is closed already`)
  }
  const done = `ended session ${nameOf(found)}; released: ${reservationText(session)}`
  if (!session.origin.startsWith(DIAMETER)) return [done]
  const { origin, sessionId } = session
  const isPublished = await publishSessionEvent(ledger.redis, {
    cause: 'release',
    origin,
    sessionId,
  })
  return [
    done,
    isPublished ? 'notified all nodes to end it there' : 'the nodes could not be notified',
  ]
}

function withRetryAdvice(error: unknown): unknown {
  if (!(error instanceof StoreDownError) || error instanceof LedgerLostError) return error
  const advice = 'it may have been ended: repeat the command'
  return new CommandError(`${error.message}; ${advice}`, { cause: error })
}

function nameOf({ session }: FoundSession): string {
  const { sessionId, origin, sid, aid } = session
  return `${sessionId} of ${origin} (subscriber ${sid}, account ${aid})`
}
