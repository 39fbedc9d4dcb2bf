import type { Clock } from '../interfaces.ts'
import type { Connection } from '../sessions/clients.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Catalog } from '../store/catalog.ts'
import type { Records } from '../store/records.ts'
import type { Schema } from '../store/schema.ts'
import type { Args } from './args.ts'
import type { Cursors } from './cursors.ts'
import type { CommandReply } from './reply.ts'
import type { Turns } from './turns.ts'

/** Resources that all connections share. */
export type Services = {
  readonly schema: Schema
  readonly catalog: Catalog
  readonly records: Records
  readonly cursors: Cursors
  readonly turns: Turns
  readonly sessions: Sessions
  readonly clock: Clock
  /** Address of this server as its clients know it. */
  readonly address: string
}

/** Where a request comes from. */
export type Origin = {
  readonly connection: Connection
  /** Whether the client has disconnected, so the answer is no longer needed. */
  readonly isAbandoned: () => boolean
}

/** Resources of a command; `catalog`, `records` and `write` belong to its transaction, if any. */
export type Context = Services &
  Origin & {
    /**
     * Runs the part of a command that writes and resolves when it is on disk, or part of the
     * transaction. It is synchronous and may run again.
     */
    readonly write: (job: () => CommandReply) => Promise<CommandReply>
  }

export type Command = (context: Context, args: Args) => CommandReply | Promise<CommandReply>

export type Commands = Readonly<Record<string, Command>>
