import type { Args } from '../commands/args.ts'
import type { Command, CommandReply, Context, Origin, Services } from '../commands/command.ts'
import { MongoCommandError } from '../errors.ts'
import type { CursorBatch } from '../wire/batch.ts'
import type { Session } from './session.ts'
import { parseStatement, type Statement } from './statement.ts'
import type { Transaction } from './transaction.ts'

const RETRYABLE = ['insert', 'update', 'delete', 'findAndModify', 'findandmodify']
const IN_TRANSACTION = [
  ...RETRYABLE,
  ...['find', 'getMore', 'killCursors', 'aggregate', 'distinct'],
]
/** They find their transaction themselves. */
const ENDINGS = ['commitTransaction', 'abortTransaction']

export type NumberedStatement = Statement & { readonly number: bigint }

/**
 * Runs a command: by itself, as a retryable write whose repetition returns the stored answer, or as
 * a part of a transaction.
 * @throws CommandError
 */
export function runCommand(
  services: Services & Origin,
  args: Args,
  command: Command,
): CommandReply | Promise<CommandReply> {
  const statement = parseStatement(args)
  const context: Context = { ...services, write: (job) => writeAlone(services, args, job) }
  if (!statement) return command(context, args)
  const session = services.sessions.use(statement.session, services.connection)
  if (!isNumbered(statement) || ENDINGS.includes(args.name)) return command(context, args)
  if (statement.isInTransaction) {
    checkAllowed(args)
    return session.inOrder(() => runInTransaction(context, args, command, session, statement))
  }
  if (RETRYABLE.includes(args.name)) {
    return session.inOrder(() => runRetryable(context, args, command, session, statement))
  }
  throw new MongoCommandError(
    'Location50768',
    'txnNumber may only be provided for multi-document transactions and retryable write ' +
      `commands. autocommit:false was not provided, and ${args.name} is not a retryable write ` +
      'command.',
  )
}

export function isNumbered(statement: Statement): statement is NumberedStatement {
  return statement.number !== undefined
}

function writeAlone(
  { schema }: Services,
  args: Args,
  job: () => CommandReply,
): Promise<CommandReply> {
  return schema.write(job, args.count('maxTimeMS') || undefined)
}

function checkAllowed({ name }: Args): void {
  if (IN_TRANSACTION.includes(name)) return
  throw new MongoCommandError(
    'OperationNotSupportedInTransaction',
    `Cannot run '${name}' in a multi-document transaction.`,
  )
}

/** A write and its answer are stored together, so that a repetition finds both or none. */
async function runRetryable(
  context: Context,
  args: Args,
  command: Command,
  session: Session,
  { number }: NumberedStatement,
): Promise<CommandReply> {
  session.advance(number)
  if (session.outcome && 'reply' in session.outcome) return session.outcome.reply
  if (session.outcome || session.transaction) {
    throw new MongoCommandError(
      'IncompleteTransactionHistory',
      `txnNumber ${number} is the number of a transaction, not of a retryable write`,
    )
  }
  const { sessions } = context
  const write = (job: () => CommandReply) =>
    context.write(() => {
      const reply = job()
      sessions.storeOutcome(session, { reply })
      return reply
    })
  const reply = await command({ ...context, write }, args)
  session.outcome = { reply }
  return reply
}

async function runInTransaction(
  context: Context,
  args: Args,
  command: Command,
  session: Session,
  statement: NumberedStatement,
): Promise<CommandReply> {
  const transaction = transactionOf(context, session, statement)
  const { catalog, records } = transaction
  const write = (job: () => CommandReply) => transaction.write(job)
  try {
    const reply = await command({ ...context, catalog, records, write }, args)
    if ('batch' in reply) {
      const { id } = reply.batch as CursorBatch
      transaction.keepCursor(id, () => context.cursors.kill(id))
    }
    // As in MongoDB, a failed operation ends the transaction.
    if ('writeErrors' in reply) transaction.abort()
    return reply
  } catch (error) {
    transaction.abort()
    throw error
  }
}

function transactionOf(
  { sessions }: Context,
  session: Session,
  { number, isStart }: NumberedStatement,
): Transaction {
  if (!isStart) return session.requireTransaction(number)
  const isUsed = number === session.number
  session.advance(number)
  if (!isUsed) return sessions.begin(session)
  throw new MongoCommandError(
    'Location50911',
    `Cannot start a transaction at given transaction number ${number} a transaction with the ` +
      'same number is in use',
  )
}
