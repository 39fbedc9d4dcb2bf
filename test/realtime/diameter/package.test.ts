import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { nodeOf } from '../../support/realtime/diameter/node-of.ts'

type PackagedAvp = [name: string, value: unknown]

interface PackagedMessage {
  header: { flags: Record<string, boolean> }
  body: PackagedAvp[]
}

/** The third-party package `diameter`, as a client. */
interface Packaged {
  createConnection(
    options: { host: string; port: number },
    onConnect: () => void,
  ): Socket & {
    diameterConnection: {
      createRequest(application: string, command: string, sessionId?: string): PackagedMessage
      sendRequest(message: PackagedMessage): Promise<PackagedMessage>
      end(): void
    }
  }
}

const ORIGIN: PackagedAvp[] = [
  ['Origin-Host', 'gw1.peer.test'],
  ['Origin-Realm', 'peer.test'],
]

it('the client of the package diameter connects, is served, and disconnects', async () => {
  const { port, requests } = await nodeOf()
  const packaged = createRequire(import.meta.url)('diameter') as Packaged
  const socket = packaged.createConnection({ host: '127.0.0.1', port }, () => undefined)
  const errors: unknown[] = []
  socket.on('error', (error) => errors.push(error))
  await new Promise((resolve) => socket.once('connect', resolve))
  const closed = new Promise((resolve) => socket.on('close', resolve))
  const { diameterConnection: connection } = socket
  const exchange = (application: string, command: string, ...avps: PackagedAvp[]) => {
    const request = connection.createRequest(application, command, 'session')
    request.body = [...request.body.filter(([name]) => name === 'Session-Id'), ...ORIGIN, ...avps]
    return connection.sendRequest(request)
  }
  const base = (command: string, ...avps: PackagedAvp[]) =>
    exchange('Diameter Common Messages', command, ...avps)

  const cea = await base(
    'Capabilities-Exchange',
    ['Host-IP-Address', '127.0.0.1'],
    ['Vendor-Id', 10415],
    ['Product-Name', 'node-diameter'],
    ['Auth-Application-Id', 'Diameter Credit Control'],
  )
  expect(Object.fromEntries(cea.body)).toMatchObject({
    'Result-Code': 'DIAMETER_SUCCESS',
    'Origin-Host': 'ocs.example.net',
    'Host-IP-Address': '127.0.0.1',
    'Product-Name': 'Tollgate',
    'Auth-Application-Id': 'Diameter Credit Control',
  })
  const dwa = await base('Device-Watchdog')
  expect(Object.fromEntries(dwa.body)).toMatchObject({ 'Result-Code': 'DIAMETER_SUCCESS' })
  const cca = await exchange('Diameter Credit Control Application', 'Credit-Control')
  expect(cca.body[0]).toEqual(['Session-Id', 'session'])
  expect(requests).toHaveLength(1)
  const unknown = await exchange('Diameter Credit Control Application', 'Re-Auth')
  expect(Object.fromEntries(unknown.body)).toMatchObject({
    'Result-Code': 'DIAMETER_COMMAND_UNSUPPORTED',
  })
  expect(unknown.header.flags['error']).toBe(true)
  const dpa = await base('Disconnect-Peer', ['Disconnect-Cause', 'REBOOTING'])
  expect(Object.fromEntries(dpa.body)).toMatchObject({ 'Result-Code': 'DIAMETER_SUCCESS' })
  connection.end()
  await closed
  expect(errors).toEqual([])
})
