import type { Clock } from '../../../runtime/clock.ts'
import type { CollectionCatalog } from '../store/catalog.ts'
import type { Records } from '../store/records.ts'
import type { Storage } from '../store/storage.ts'
import type { CursorBatch } from '../wire/batch.ts'
import type { Args } from './args.ts'
import type { Cursors } from './cursors.ts'

/** Resources of the commands. */
export type Context = {
  readonly storage: Storage
  readonly catalog: CollectionCatalog
  readonly records: Records
  readonly cursors: Cursors
  readonly clock: Clock
  readonly connectionId: number
  /** Whether the client has disconnected, so the answer is no longer needed. */
  readonly isAbandoned: () => boolean
}

/** The fields of an answer (`ok` is added), or a batch of documents. */
export type CommandReply = { readonly [field: string]: unknown } | { readonly batch: CursorBatch }

export type Command = (context: Context, args: Args) => CommandReply | Promise<CommandReply>

export type Commands = Readonly<Record<string, Command>>
