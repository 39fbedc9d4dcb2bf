import { describe, expect, it } from 'vitest'
import { textOf, uint32Of } from '../../../src/realtime/codecs/diameter-wire/message.ts'
import type { DiameterConnection } from '../../../src/realtime/diameter/connection-context.ts'
import {
  abortSessionRequest,
  createEndToEndIds,
  createHopByHopIds,
  reAuthRequest,
} from '../../../src/realtime/diameter/server-requests.ts'
import { IDENTITY, NOW_MS, nodeOf } from '../../support/realtime/diameter/node-of.ts'
import {
  ccr,
  dpr,
  HOST,
  openKnownPeer,
  openPeer,
  origin,
  REALM,
  written,
} from '../../support/realtime/diameter/raw-peer.ts'

const ADDRESS = {
  sessionId: 's;1',
  destinationHost: HOST,
  destinationRealm: REALM,
  identity: IDENTITY,
  stateId: 17,
}

function firstOf(node: { connections(): Iterable<DiameterConnection> }): DiameterConnection {
  const [connection] = node.connections()
  if (connection === undefined) throw new Error('nobody is connected')
  return connection
}

describe('requests of the node', () => {
  it('are matched with their answers', async () => {
    const { port, node, figures } = await nodeOf()
    const peer = await openKnownPeer(port)
    const connection = firstOf(node)
    const raa = connection.request(reAuthRequest(ADDRESS))
    const asa = connection.request(abortSessionRequest(ADDRESS))
    const rar = await peer.next()
    const asr = await peer.next()
    expect(rar).toMatchObject({ command: 258, flags: 0xc0, application: 4 })
    expect(asr).toMatchObject({ command: 274, flags: 0xc0, application: 4 })
    expect(rar?.avps[0]).toMatchObject({ code: 263, data: Buffer.from('s;1') })
    const texts = [264, 296, 283, 293].map((code) => textOf(rar?.avps ?? [], code))
    expect(texts).toEqual([IDENTITY.originHost, IDENTITY.originRealm, REALM, HOST])
    const numbers = [258, 285, 278].map((code) => uint32Of(rar?.avps ?? [], code))
    expect(numbers).toEqual([4, 0, 17])
    expect(uint32Of(asr?.avps ?? [], 285)).toBeUndefined()
    expect(rar?.hopByHopId).not.toBe(asr?.hopByHopId)
    expect(rar?.endToEndId).not.toBe(asr?.endToEndId)
    // In the other order, among answers to no request, and one with the wrong command.
    const answer = (command: number, hopByHopId = 0) =>
      written(command, { flags: 0x40, application: 4, hopByHopId, avps: origin() })
    peer.send(answer(258, 4711), answer(274, rar?.hopByHopId))
    peer.send(answer(274, asr?.hopByHopId), answer(258, rar?.hopByHopId))
    peer.send(answer(258, rar?.hopByHopId))
    expect(await asa).toMatchObject({ command: 274, hopByHopId: asr?.hopByHopId })
    expect(await raa).toMatchObject({ command: 258, hopByHopId: rar?.hopByHopId })
    peer.send(ccr(1))
    await peer.next()
    expect(await figures('tollgate_diameter_unmatched_answers_total')).toEqual([': 3'])
  })

  it('have a result after the time-out without an answer', async () => {
    const { port, node } = await nodeOf({ settings: { answerTimeoutMs: 100 } })
    await openKnownPeer(port)
    expect(await firstOf(node).request(reAuthRequest(ADDRESS))).toBeNull()
  })

  it('have a result when the peer disconnects, and before it has connected', async () => {
    const { port, node } = await nodeOf({ settings: { answerTimeoutMs: 60_000 } })
    const silent = await openPeer(port)
    const peer = await openKnownPeer(port)
    const [first, second] = node.connections()
    expect(await first?.request(reAuthRequest(ADDRESS))).toBeNull()
    const answer = second?.request(reAuthRequest(ADDRESS))
    await peer.next()
    peer.send(dpr())
    peer.socket.end()
    expect(await answer).toBeNull()
    expect(await second?.request(reAuthRequest(ADDRESS))).toBeNull()
    silent.socket.destroy()
  })
})

describe('ids of requests', () => {
  it('are unique, hop by hop and, starting from the time, end to end', () => {
    const next = createEndToEndIds(NOW_MS)
    const ids = Array.from({ length: 1000 }, next)
    expect(new Set(ids).size).toBe(1000)
    for (const id of ids) expect(Math.floor(id / 2 ** 20)).toBe((NOW_MS / 1000) % 4096)
    const hops = Array.from({ length: 1000 }, createHopByHopIds())
    for (const id of hops) expect(id >= 0 && id < 2 ** 32).toBe(true)
    expect(new Set(hops).size).toBe(1000)
  })
})
