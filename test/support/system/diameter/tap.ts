/** A proxy between a relay and a node that records the messages of both. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { type Message, onMessages } from './link.ts'

export interface TappedConnection {
  readonly fromRelay: readonly Message[]
  readonly fromNode: readonly Message[]
}

export interface Tap {
  readonly port: number
  /** Connections that the node has accepted, in order. */
  readonly connections: readonly TappedConnection[]
  close(): Promise<void>
}

export async function startTap(nodePort: number): Promise<Tap> {
  const connections: TappedConnection[] = []
  const sockets = new Set<Socket>()
  const join = (from: Socket, to: Socket, messages: Message[]) => {
    sockets.add(from)
    onMessages(from, (message) => messages.push(message))
    from.on('data', (bytes: Buffer) => to.write(bytes))
    from.on('end', () => to.end())
    from.on('error', () => to.destroy())
    from.on('close', () => {
      sockets.delete(from)
      to.destroySoon()
    })
  }
  const server = createServer({ allowHalfOpen: true }, (relay) => {
    const node = connect({ port: nodePort, host: '127.0.0.1', allowHalfOpen: true })
    const connection = { fromRelay: [], fromNode: [] }
    node.once('connect', () => connections.push(connection))
    join(relay, node, connection.fromRelay)
    join(node, relay, connection.fromNode)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    connections,
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
