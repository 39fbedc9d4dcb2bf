/** The part of an internal module of the driver that `lost-connections.ts` changes. */
declare module 'mongodb/lib/cmap/connection.js' {
  import type { EventEmitter } from 'node:events'

  export class Connection extends EventEmitter {
    /** Why it was closed; it emits `close` then, once. */
    readonly error: Error | null
    /** Resolves when the whole command was handed over to the socket. */
    writeCommand(command: unknown, options: unknown): Promise<void>
  }
}
