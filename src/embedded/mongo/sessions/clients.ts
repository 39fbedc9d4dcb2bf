/**
 * A process that uses the server, as far as it is known: connections that have used the same
 * session belong to the same client.
 */
export class Client {
  readonly connections = new Set<Connection>()
  #mergedInto: Client | undefined

  /** The client that this one has been recognised to be. */
  get current(): Client {
    return this.#mergedInto?.current ?? this
  }

  /** Both are one client from now on. */
  merge(other: Client): void {
    for (const connection of other.connections) {
      this.connections.add(connection)
      connection.client = this
    }
    other.connections.clear()
    other.#mergedInto = this
  }
}

export class Connection {
  readonly id: number
  client = new Client()

  constructor(id: number) {
    this.id = id
    this.client.connections.add(this)
  }
}

/**
 * Time in which a client without a connection may open another one, in milliseconds. A killed
 * process does not, and what it has locked must be released quickly.
 */
const RECONNECT_MS_MAX = 200

/** Removes a closed connection; `onGone` is called if the client has no connection any more. */
export function closeConnection(connection: Connection, onGone: (client: Client) => void): void {
  const { client } = connection
  client.connections.delete(connection)
  if (client.connections.size > 0) return
  const check = () => {
    if (client.current.connections.size === 0) onGone(client.current)
  }
  setTimeout(check, RECONNECT_MS_MAX).unref()
}
