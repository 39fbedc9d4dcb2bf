/** The originator of an action, as audit records and stored documents have it. */
export interface Actor {
  /**
   * How the actor was authenticated. `open`: no authentication is required; `cli`, `node`: this
   * machine.
   */
  readonly by: 'session' | 'token' | 'signature' | 'open' | 'cli' | 'node'
  /** Id of the user or name of the client; empty if the request is anonymous. */
  readonly id: string
  /** Name of the user or client, or of the user of the machine. */
  readonly name: string
  /** Client address; empty for this machine. */
  readonly address: string
}

/** Drops further members of a caller, so that only the fields of `Actor` are stored. */
export function plainActor({ by, id, name, address }: Actor): Actor {
  return { by, id, name, address }
}

/** The node itself, for what no caller has asked for. */
export const NODE_ACTOR: Actor = { by: 'node', id: '', name: '', address: '' }
