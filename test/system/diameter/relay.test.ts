import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  command,
  flags,
  HEADER_BYTES,
} from '../../../src/realtime/codecs/diameter-wire/protocol.ts'
import { tollgate } from '../../support/system/command.ts'
import {
  CLIENT_REALM,
  hasFreeDiameter,
  RELAY,
  type Relay,
  startRelay,
} from '../../support/system/diameter/free-diameter.ts'
import {
  dataSession,
  GATEWAY,
  granted,
  NODE,
  NODE_SETTINGS,
} from '../../support/system/diameter/gateway-requests.ts'
import { arrived, connectLink, type Link } from '../../support/system/diameter/link.ts'
import { startTap, type Tap } from '../../support/system/diameter/tap.ts'
import { money, useNode } from '../../support/system/outages/node.ts'
import { hasTshark, tsharkOf } from '../../support/tshark.ts'

const SUBSCRIBERS = 4

/** A gateway that connects only to the relay, and a node that does as well. */
describe.skipIf(!hasFreeDiameter)('a node behind freeDiameter (not installed: skipped)', () => {
  const environment: Record<string, string> = { ...NODE_SETTINGS }
  let tap: Tap
  let relay: Relay
  let gateway: Link

  const node = useNode({ subscribers: SUBSCRIBERS, environment })
  beforeAll(async () => {
    await node().product.start('realtime')
    tap = await startTap(node().product.diameterPort)
    relay = await startRelay({ originHost: NODE['Origin-Host'], port: tap.port })
    await relay.connected()
    gateway = await connectLink({ port: relay.port, identity: GATEWAY })
  })
  afterAll(async () => {
    await gateway?.close()
    await relay?.stop()
    await tap?.close()
  })

  const ask = (avps: ReturnType<ReturnType<typeof dataSession>['initial']>, more = {}) =>
    gateway.ask(command.creditControl, avps, more)

  /** The n-th connection of the relay to the node. */
  const connection = (index: number) => {
    const found = tap.connections[index]
    if (found === undefined) throw new Error(`no connection ${index}`)
    return found
  }

  it('identifies itself', async () => {
    const { fromRelay, fromNode } = connection(0)
    const asked = await arrived(fromRelay, command.capabilitiesExchange, 'request')
    expect(asked.named).toMatchObject(RELAY)
    const answer = await arrived(fromNode, command.capabilitiesExchange, 'answer')
    expect(answer.named).toMatchObject({
      ...NODE,
      'Result-Code': 2001,
      'Auth-Application-Id': 4,
      'Host-IP-Address': '127.0.0.1',
    })
  })

  it('charges a session', async () => {
    const session = dataSession('gateway;relay;1', 0)
    const opened = await ask(session.initial(5))
    expect(opened.named).toMatchObject({
      'Session-Id': 'gateway;relay;1',
      'Result-Code': 2001,
      ...NODE,
      ...granted(5),
      'Auth-Application-Id': 4,
      'CC-Request-Type': 1,
      'CC-Request-Number': 0,
    })
    expect(opened.flags).toBe(flags.proxiable)
    expect(await node().moneyOf(session.sid)).toEqual(money(0, 5))
    const updated = await ask(session.update(1, { asked: 4, used: 5 }))
    expect(updated.named).toMatchObject({ 'Result-Code': 2001, ...granted(4) })
    expect(await node().moneyOf(session.sid)).toEqual(money(5, 4))
    const ended = await ask(session.termination(2, 3))
    expect(ended.named).toMatchObject({ 'Result-Code': 2001, 'CC-Request-Type': 3 })
    expect(await node().moneyOf(session.sid)).toEqual(money(8, 0))
    const passed = await arrived(connection(0).fromRelay, command.creditControl, 'request')
    expect(passed.named).toMatchObject({ ...GATEWAY, 'Route-Record': GATEWAY['Origin-Host'] })
  })

  it('returns the same answer to a repeated request, with the T bit or without', async () => {
    const session = dataSession('gateway;relay;2', 1)
    await ask(session.initial(5))
    const update = session.update(1, { asked: 5, used: 5 })
    const first = await ask(update, { endToEndId: 700 })
    const bits = flags.proxiable | flags.retransmitted
    const again = await ask(update, { endToEndId: 700, flags: bits })
    const unmarked = await ask(update, { endToEndId: 701 })
    expect(first.named).toMatchObject({ 'Result-Code': 2001, ...granted(5) })
    for (const { bytes } of [again, unmarked]) {
      expect(bytes.subarray(HEADER_BYTES)).toEqual(first.bytes.subarray(HEADER_BYTES))
    }
    expect(again).toMatchObject({ endToEndId: 700, flags: flags.proxiable })
    expect(await node().moneyOf(session.sid)).toEqual(money(5, 5))
    await ask(session.termination(2, 0))
  })

  it('answers the watchdog of the relay', async () => {
    const { fromRelay, fromNode } = connection(0)
    await arrived(fromRelay, command.watchdog, 'request')
    const answer = await arrived(fromNode, command.watchdog, 'answer')
    expect(answer.named).toMatchObject({ ...NODE, 'Result-Code': 2001 })
  })

  it('continues a session over another connection after it was killed', async () => {
    const session = dataSession('gateway;relay;3', 2)
    const opened = await ask(session.initial(5))
    expect(opened.named).toMatchObject({ 'Result-Code': 2001, ...granted(5) })
    await node().product.kill9('realtime')
    environment['TOLLGATE_DIAMETER_WATCHDOG_MS'] = '1000'
    await node().product.start('realtime')
    await relay.connected(2)
    const updated = await ask(session.update(1, { asked: 5, used: 5 }))
    expect(updated.named).toMatchObject({ 'Result-Code': 2001, ...granted(5) })
    const ended = await ask(session.termination(2, 5))
    expect(ended.named).toMatchObject({ 'Result-Code': 2001 })
    expect(await node().moneyOf(session.sid)).toEqual(money(10, 0))
  })

  it('sends a watchdog to the relay', async () => {
    const { fromRelay, fromNode } = connection(1)
    const asked = await arrived(fromNode, command.watchdog, 'request', 2)
    expect(asked.named).toMatchObject(NODE)
    const answer = await arrived(fromRelay, command.watchdog, 'answer', 2)
    expect(answer.named).toMatchObject({ ...RELAY, 'Result-Code': 2001 })
  })

  it('sends a RAR to the gateway after a top-up', async () => {
    const session = dataSession('gateway;relay;4', 3)
    await ask(session.initial(5))
    const add = ['balance', 'add', '--sid', String(session.sid), '--include', '1']
    expect(await tollgate(node().product, [...add, '--amount', '1'])).toMatchObject({ code: 0 })
    const asked = await gateway.receives(command.reAuth, 'request')
    expect(asked.named).toMatchObject({
      'Session-Id': 'gateway;relay;4',
      ...NODE,
      'Route-Record': NODE['Origin-Host'],
      'Destination-Realm': CLIENT_REALM,
      'Destination-Host': GATEWAY['Origin-Host'],
      'Auth-Application-Id': 4,
      'Re-Auth-Request-Type': 0,
    })
    const answer = await arrived(connection(1).fromRelay, command.reAuth, 'answer')
    expect(answer.named).toMatchObject({ 'Session-Id': 'gateway;relay;4', 'Result-Code': 2001 })
    const updated = await ask(session.update(1, { asked: 5, used: 5 }))
    expect(updated.named).toMatchObject({ 'Result-Code': 2001 })
    await ask(session.termination(2, 0))
    const paid = money(5, 0)
    expect(await node().moneyOf(session.sid)).toEqual({
      ...paid,
      credited: paid.credited + 1_000_000,
      free: paid.free + 1_000_000,
    })
  })

  it('disconnects in order', async () => {
    expect(await node().product.terminate('realtime')).toBe(0)
    const { fromRelay, fromNode } = connection(1)
    const asked = await arrived(fromNode, command.disconnectPeer, 'request')
    expect(asked.named).toMatchObject({ ...NODE, 'Disconnect-Cause': 0 })
    const answer = await arrived(fromRelay, command.disconnectPeer, 'answer')
    expect(answer.named).toMatchObject({ ...RELAY, 'Result-Code': 2001 })
  })

  it.skipIf(!hasTshark)('causes no tshark warning (not installed: skipped)', async () => {
    const messages = tap.connections.flatMap(({ fromNode }) => fromNode.map(({ bytes }) => bytes))
    const decoded = await tsharkOf(messages)
    expect(decoded.flatMap(({ problems }) => problems)).toEqual([])
    const bytes = decoded.flatMap(({ avps }) => avps).filter(({ name }) => name === undefined)
    expect(bytes).toEqual([])
  })
})
