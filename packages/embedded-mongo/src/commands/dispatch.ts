import { MongoCommandError } from '../errors.ts'
import { runCommand } from '../sessions/run.ts'
import { decode, encode } from '../values/document.ts'
import { encodeBatch } from '../wire/batch.ts'
import type { Request } from '../wire/request.ts'
import { Args } from './args.ts'
import { collectionCommands } from './collections.ts'
import type { Commands, Origin, Services } from './command.ts'
import { explainCommands } from './explain.ts'
import { findAndModifyCommands } from './find-and-modify.ts'
import { handshakeCommands } from './handshake.ts'
import { indexCommands } from './indexes.ts'
import { readCommands } from './read.ts'
import type { CommandReply } from './reply.ts'
import { sessionCommands } from './sessions.ts'
import { writeCommands } from './write.ts'

export const COMMANDS: Commands = {
  ...handshakeCommands,
  ...readCommands,
  ...explainCommands,
  ...writeCommands,
  ...findAndModifyCommands,
  ...collectionCommands,
  ...indexCommands,
  ...sessionCommands,
}

/**
 * Runs the command of a request and encodes its answer. A `MongoCommandError` is encoded as an
 * error answer; any other error is reported to `onFailure` and answered as an internal error.
 */
export async function dispatch(
  services: Services & Origin,
  request: Request,
  onFailure: (error: unknown, command: string) => void,
): Promise<Uint8Array> {
  let command = 'unknown'
  services.turns.begin()
  try {
    const args = new Args(request, decode(request.body))
    command = args.name
    return encodeAnswer(await run(services, args))
  } catch (error) {
    if (!(error instanceof MongoCommandError)) onFailure(error, command)
    return encodeError(error)
  }
}

function run(services: Services & Origin, args: Args): CommandReply | Promise<CommandReply> {
  const command = Object.hasOwn(COMMANDS, args.name) ? COMMANDS[args.name] : undefined
  if (command) return runCommand(services, args, command)
  throw new MongoCommandError('CommandNotFound', `no such command: '${args.name}'`)
}

function encodeAnswer(answer: CommandReply): Uint8Array {
  if ('batch' in answer) return encodeBatch(answer.batch as Parameters<typeof encodeBatch>[0])
  return encode({ ...answer, ok: 1 })
}

function encodeError(error: unknown): Uint8Array {
  const refusal =
    error instanceof MongoCommandError
      ? error
      : new MongoCommandError('InternalError', String(error))
  const { message: errmsg, code, codeName, details } = refusal
  return encode({ ok: 0, errmsg, code, codeName, ...details })
}
