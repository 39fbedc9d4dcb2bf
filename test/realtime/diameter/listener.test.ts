import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { PortTakenError } from '../../../src/realtime/diameter/listener.ts'
import { ListenError } from '../../../src/realtime/http/listening.ts'
import { nodeOf } from '../../support/realtime/diameter/node-of.ts'
import { openKnownPeer } from '../../support/realtime/diameter/raw-peer.ts'

const others: { close(): void }[] = []
afterEach(() => {
  for (const other of others.splice(0)) other.close()
})

/** A port that is in use. */
async function takenPort(): Promise<number> {
  const server = createServer()
  others.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no port')
  return address.port
}

describe('a node whose port is in use', () => {
  it('starts without Diameter if only loopback could reach it, and logs that', async () => {
    const port = await takenPort()
    const { node, lines } = await nodeOf({ settings: { port } })
    expect([node.port, node.tlsPort, [...node.connections()]]).toEqual([0, 0, []])
    expect(lines).toEqual([
      {
        level: 'warn',
        fields: { host: '127.0.0.1', port },
        text: 'the Diameter port is in use by another process: the node runs without Diameter',
      },
    ])
    node.stop()
    await node.close()
  })

  it('does not start if peers are configured', async () => {
    const port = await takenPort()
    for (const openTo of ['network', 'nobody'] as const) {
      const start = nodeOf({ settings: { port, openTo } })
      await expect(start).rejects.toThrow(PortTakenError)
      await expect(start).rejects.toThrow(`cannot listen on 127.0.0.1:${port}: the port is in use`)
    }
  })

  it('does not start on an address that the machine does not have', async () => {
    const start = nodeOf({ settings: { host: '192.0.2.1' } })
    await expect(start).rejects.toThrow(ListenError)
    await expect(start).rejects.not.toThrow(PortTakenError)
  })
})

describe('a node that the network can reach', () => {
  it('logs that if peers need not be listed', async () => {
    const { lines, port } = await nodeOf({ settings: { host: '0.0.0.0', openTo: 'network' } })
    expect(lines[0]).toMatchObject({ level: 'warn', fields: { host: '0.0.0.0', port } })
    await openKnownPeer(port)
    const closed = await nodeOf({ settings: { host: '0.0.0.0' } })
    expect(closed.lines).toEqual([])
    await expect(openKnownPeer(closed.port)).rejects.toThrow('refused with 3010')
  })
})
