/** Who does something, as it is written down. */
export interface Actor {
  /** How it has proved who it is; `open`: it need not; `cli`, `node`: this machine. */
  readonly by: 'session' | 'token' | 'signature' | 'open' | 'cli' | 'node'
  /** Id of the user or name of the client; empty where there is none. */
  readonly id: string
  /** Name of the user or client, or of the user of the machine. */
  readonly name: string
  /** Address it came from; empty for this machine. */
  readonly address: string
}

/** Without whatever else is known of a caller. */
export function plainActor({ by, id, name, address }: Actor): Actor {
  return { by, id, name, address }
}
