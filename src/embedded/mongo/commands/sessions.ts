import { MongoCommandError } from '../errors.ts'
import { isNumbered, type NumberedStatement } from '../sessions/run.ts'
import type { Session } from '../sessions/session.ts'
import { parseStatement, sessionKey } from '../sessions/statement.ts'
import { isNumeric, toNumber } from '../values/numeric.ts'
import type { Args } from './args.ts'
import type { Command, Commands, Context } from './command.ts'

type Ending = { readonly session: Session; readonly statement: NumberedStatement }

function endingOf({ sessions, connection }: Context, args: Args): Ending {
  args.allow(['recoveryToken'])
  if (args.database !== 'admin') {
    throw new MongoCommandError(
      'Unauthorized',
      `${args.name} may only be run against the admin database.`,
    )
  }
  const statement = parseStatement(args)
  if (!statement?.isInTransaction || !isNumbered(statement)) {
    throw new MongoCommandError(
      'InvalidOptions',
      `${args.name} must be run within a transaction: lsid, txnNumber and autocommit: false`,
    )
  }
  return { session: sessions.use(statement.session, connection), statement }
}

/** A repeated commit is answered as the first one, also after a restart. */
const commitTransaction: Command = (context, args) => {
  const { session, statement } = endingOf(context, args)
  const { number } = statement
  return session.inOrder(async () => {
    const { outcome } = session
    if (number === session.number && outcome && 'committed' in outcome) return {}
    const committed = { committed: true } as const
    const transaction = session.requireTransaction(number)
    await transaction.commit(() => context.sessions.storeOutcome(session, committed))
    session.outcome = committed
    return {}
  })
}

const abortTransaction: Command = (context, args) => {
  const { session, statement } = endingOf(context, args)
  return session.inOrder(async () => {
    session.requireTransaction(statement.number).abort()
    return {}
  })
}

const endSessions: Command = async ({ sessions }, args) => {
  args.allow([])
  await sessions.end(args.array(args.name).map(sessionKey))
  return {}
}

/** Without ids, all sessions are killed. */
const killSessions: Command = ({ sessions }, args) => {
  args.allow([])
  const keys = args.array(args.name).map(sessionKey)
  sessions.kill(keys.length > 0 ? keys : undefined)
  return {}
}

const refreshSessions: Command = ({ sessions, connection }, args) => {
  args.allow([])
  for (const lsid of args.array(args.name)) sessions.use(sessionKey(lsid), connection)
  return {}
}

/** Only the time limit of transactions can be set. */
const setParameter: Command = ({ sessions }, args) => {
  args.allow(['transactionLifetimeLimitSeconds'])
  const value = args.value('transactionLifetimeLimitSeconds')
  const seconds = isNumeric(value) ? toNumber(value) : Number.NaN
  if (!(seconds >= 1)) {
    throw new MongoCommandError(
      'BadValue',
      'transactionLifetimeLimitSeconds must be a number greater than or equal to 1',
    )
  }
  const was = sessions.lifetimeSeconds
  sessions.lifetimeSeconds = seconds
  return { was }
}

export const sessionCommands: Commands = {
  commitTransaction,
  abortTransaction,
  endSessions,
  killSessions,
  refreshSessions,
  setParameter,
}
