/** `tollgate session release`: an operator ends a session. */
import { moneyFormat } from '../billing/currency.ts'
import type { Config } from '../config/schema.ts'
import {
  askToEnd,
  endNow,
  releaseEntry,
  SessionEndError,
  sessionToEnd,
} from '../ledger/end-session.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { FoundSession } from '../ledger/open-sessions.ts'
import { CommandError } from './errors.ts'
import { recordByOperator } from './operator.ts'
import { type OptionValues, optionalText } from './options.ts'
import { reservationText } from './session-list.ts'
import type { Shell } from './shell.ts'
import { LEDGER_LOST, withOutcome, withStores } from './stores.ts'

/** Prints what was done. Throws `CommandError` if there is no such open session. */
export async function release(shell: Shell, sessionId = '', options: OptionValues): Promise<0> {
  const origin = optionalText(options, 'origin')
  const config = shell.config()
  const lines = await withStores(config, async ({ catalog, ledger, clock, lost }) => {
    if (lost.length > 0) throw new CommandError(LEDGER_LOST)
    const isImmediate = options['now'] === true
    try {
      const found = await sessionToEnd(ledger, sessionId, origin)
      const messages = isImmediate
        ? await releaseNow(ledger, found, config, clock.nowMs())
        : [await ask(ledger, found)]
      await recordByOperator(catalog, releaseEntry(found, isImmediate))
      return messages
    } catch (error) {
      throw withHint(error)
    }
  })
  for (const line of lines) shell.print(line)
  return 0
}

/** Adds how the command can be repeated after a refusal. */
function withHint(error: unknown): unknown {
  if (!(error instanceof SessionEndError)) return error
  const hint = {
    ambiguous: ': say which with --origin',
    unreachable: ': use --now',
    'not published': ': repeat the command',
    unknown: '',
    closed: '',
  }[error.refusal]
  return new CommandError(`${error.message}${hint}`, { cause: error })
}

async function ask(ledger: Ledger, found: FoundSession): Promise<string> {
  await askToEnd(ledger, found)
  return `notified all nodes: the network element of session ${nameOf(found)} is asked to end it`
}

async function releaseNow(
  ledger: Ledger,
  found: FoundSession,
  config: Config,
  nowMs: number,
): Promise<string[]> {
  const { commitAttemptsMax: attemptsMax, replayMs } = config.ledger
  const ending = endNow(ledger, found, { attemptsMax, replayMs }, nowMs)
  const { session, isPublished } = await ending.catch((error: unknown) => {
    throw withOutcome(error, 'ended: repeat the command')
  })
  const released = reservationText(session, moneyFormat(config.rating.currencyCode))
  const done = `ended session ${nameOf(found)}; released: ${released}`
  if (isPublished === null) return [done]
  return [
    done,
    isPublished ? 'notified all nodes to end it there' : 'the nodes could not be notified',
  ]
}

function nameOf({ session }: FoundSession): string {
  const { sessionId, origin, sid, aid } = session.identity
  return `${sessionId} of ${origin} (subscriber ${sid}, account ${aid})`
}
