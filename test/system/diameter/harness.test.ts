import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { command } from '../../../src/realtime/codecs/diameter-wire/protocol.ts'
import { choosePort } from '../../support/product/ports.ts'
import {
  CLIENT_REALM,
  hasFreeDiameter,
  RELAY,
  type Relay,
  startRelay,
} from '../../support/system/diameter/free-diameter.ts'
import { connectLink, type Link } from '../../support/system/diameter/link.ts'
import { type StubNode, startStubNode } from '../../support/system/diameter/stub-node.ts'

const NODE = { 'Origin-Host': 'node.node.example', 'Origin-Realm': 'node.example' }
const CLIENT = { 'Origin-Host': `gateway.${CLIENT_REALM}`, 'Origin-Realm': CLIENT_REALM }

/** The relay of the other tests behaves as they assume, whatever the node does. */
describe.skipIf(!hasFreeDiameter)('freeDiameter with a stub node (not installed: skipped)', () => {
  let node: StubNode
  let relay: Relay
  let client: Link

  beforeAll(async () => {
    node = await startStubNode(NODE, await choosePort())
    relay = await startRelay({ originHost: NODE['Origin-Host'], port: node.port })
    await relay.connected()
    client = await connectLink({ port: relay.port, identity: CLIENT })
  })
  afterAll(async () => {
    await client?.close()
    await relay?.stop()
    await node?.close()
  })

  const request = (number: number) => ({
    'Session-Id': 'gateway;1;1',
    ...CLIENT,
    'Destination-Realm': NODE['Origin-Realm'],
    'Auth-Application-Id': 4,
    'Service-Context-Id': '32251@3gpp.org',
    'CC-Request-Type': 1,
    'CC-Request-Number': number,
  })

  it('forwards requests with a Route-Record, and returns the answers', async () => {
    const answer = await client.ask(command.creditControl, request(0), { endToEndId: 4711 })
    expect(answer).toMatchObject({
      endToEndId: 4711,
      named: { 'Session-Id': 'gateway;1;1', 'Result-Code': 2001, ...NODE },
    })
    const [link] = node.links
    const asked = await link?.receives(command.creditControl, 'request')
    expect(asked?.named).toMatchObject({ ...request(0), 'Route-Record': CLIENT['Origin-Host'] })
    const capabilities = await link?.receives(command.capabilitiesExchange, 'request')
    expect(capabilities?.named).toMatchObject(RELAY)
  })

  it('forwards requests of the node to the client', async () => {
    const answer = await node.links[0]?.ask(command.reAuth, {
      'Session-Id': 'gateway;1;1',
      ...NODE,
      'Destination-Realm': CLIENT_REALM,
      'Destination-Host': CLIENT['Origin-Host'],
      'Auth-Application-Id': 4,
      'Re-Auth-Request-Type': 0,
    })
    expect(answer?.named).toMatchObject({ 'Result-Code': 2001, ...CLIENT })
    expect(await client.receives(command.reAuth, 'request')).toMatchObject({
      named: { 'Session-Id': 'gateway;1;1', 'Route-Record': NODE['Origin-Host'] },
    })
  })

  it('reconnects', async () => {
    const { port } = node
    await node.close()
    node = await startStubNode(NODE, port)
    await relay.connected(2)
    const answer = await client.ask(command.creditControl, request(1))
    expect(answer.named).toMatchObject({ 'Result-Code': 2001, 'CC-Request-Number': 1 })
  })
})
