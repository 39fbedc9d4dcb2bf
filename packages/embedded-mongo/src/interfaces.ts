/** Interfaces that the program around the server may implement. */

/** Source of the current time. */
export interface Clock {
  /** Milliseconds since 1970; an integer that never decreases. */
  nowMs(): number
}

/** Receives what happens; `fields` are additional facts, such as `err`. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  fatal(fields: object, message: string): void
}

/** Makes a process the only user of a data folder, until `release` or its end. */
export type FolderLock = (dataDir: string) => Promise<{ release(): Promise<void> }>
