import { describe, expect, it } from 'vitest'
import { baseAnswer } from '../../../src/realtime/codecs/diameter-wire/base-answer.ts'
import {
  find,
  textAvp,
  textOf,
  uint32Avp,
  uint32Of,
} from '../../../src/realtime/codecs/diameter-wire/message.ts'
import { PeerConnection } from '../../../src/realtime/diameter/connection.ts'
import { IDENTITY, NOW_MS, nodeOf } from '../../support/realtime/diameter/node-of.ts'
import {
  ccr,
  cer,
  cerAvps,
  dpr,
  dwr,
  HOST,
  openKnownPeer,
  openPeer,
  origin,
  REALM,
  resultOf,
  written,
} from '../../support/realtime/diameter/raw-peer.ts'
import { waitUntil } from '../../support/wait.ts'

/** A node whose answers are due when they are called. */
async function holding() {
  const due: (() => void)[] = []
  const onRequest: NonNullable<Parameters<typeof nodeOf>[0]>['onRequest'] = (connection, bytes) =>
    due.push(() => connection.send(baseAnswer(bytes, 2001, IDENTITY)))
  return { due, ...(await nodeOf({ onRequest })) }
}

describe('a peer that connects', () => {
  it('receives the identity of the node', async () => {
    const { port, lines, figures } = await nodeOf()
    const peer = await openPeer(port)
    peer.send(cer())
    const cea = await peer.next()
    expect(cea).toMatchObject({ command: 257, flags: 0, hopByHopId: 7, endToEndId: 9 })
    const avps = cea?.avps ?? []
    expect(resultOf(cea)).toBe(2001)
    expect(textOf(avps, 264)).toBe(IDENTITY.originHost)
    expect(textOf(avps, 296)).toBe(IDENTITY.originRealm)
    expect(find(avps, 257)?.data).toEqual(Buffer.from([0, 1, 127, 0, 0, 1]))
    expect(uint32Of(avps, 266)).toBe(0)
    expect(textOf(avps, 269)).toBe('Tollgate')
    expect(uint32Of(avps, 278)).toBe(NOW_MS / 1000)
    expect(uint32Of(avps, 265)).toBe(10415)
    expect(uint32Of(avps, 258)).toBe(4)
    expect(find(avps, 260)).toBeUndefined()
    expect(lines).toEqual([
      {
        level: 'info',
        text: 'a Diameter peer is connected',
        fields: { host: HOST, realm: REALM, address: '127.0.0.1', peer: '' },
      },
    ])
    expect(await figures('tollgate_diameter_connections')).toEqual(['peer=,state=open: 1'])
  })

  it('is served without server requests, and may repeat its CER', async () => {
    const { port, requests, figures } = await nodeOf()
    const peer = await openKnownPeer(port)
    peer.send(ccr(1), ccr(2))
    expect(await peer.next()).toMatchObject({ command: 272, hopByHopId: 1, flags: 0x40 })
    expect(await peer.next()).toMatchObject({ command: 272, hopByHopId: 2 })
    expect(requests).toEqual([ccr(1), ccr(2)])
    expect(await peer.introduce()).toBe(2001)
    peer.send(dwr())
    const dwa = await peer.next()
    expect(dwa).toMatchObject({ command: 280, flags: 0 })
    expect(resultOf(dwa)).toBe(2001)
    expect(await figures('tollgate_diameter_messages_total')).toEqual([
      'direction=in,command=CE,type=request,result=: 2',
      'direction=out,command=CE,type=answer,result=2001: 2',
      'direction=in,command=CC,type=request,result=: 2',
      'direction=out,command=CC,type=answer,result=2001: 2',
      'direction=in,command=DW,type=request,result=: 1',
      'direction=out,command=DW,type=answer,result=2001: 1',
    ])
  })

  it.each([
    ['a request', ccr()],
    ['a DWR', dwr()],
    ['a DWR with nothing in it', dwr([])],
    ['a DPR', dpr()],
    ['a DWA', written(280, { flags: 0 })],
    ['a CEA', written(257, { flags: 0 })],
    ['an unknown command', written(999)],
  ])('is disconnected if its first message is %s', async (_what, bytes) => {
    const { port, requests } = await nodeOf()
    const peer = await openPeer(port)
    peer.send(bytes, cer())
    expect(await peer.next()).toBeNull()
    await peer.closed
    expect(requests).toEqual([])
  })

  it('cannot change its identity', async () => {
    const { port } = await nodeOf()
    const peer = await openKnownPeer(port)
    expect(await peer.introduce(cer(cerAvps('gw2.peer.test')))).toBe(5012)
    expect(await peer.next()).toBeNull()
  })
})

describe('a request that the node refuses', () => {
  it.each([
    ['of an unknown command', written(999), 3001],
    ['of credit control with another command', written(271, { application: 4 }), 3001],
    ['RAR', written(258, { flags: 0xc0, application: 4 }), 3001],
    ['ASR', written(274, { flags: 0xc0, application: 4 }), 3001],
    ['STR', written(275, { flags: 0xc0, application: 16777238 }), 3001],
    ['CCR of another application', written(272, { application: 16777238 }), 3007],
    ['of another application', written(265, { application: 1 }), 3007],
    ['DWR of another application', written(280, { application: 1, avps: origin() }), 3007],
    ['with the error bit', written(272, { flags: 0xa0, application: 4 }), 3008],
    ['that is an error', written(272, { flags: 0xa0, application: 4 }), 3008],
    ['DWR without Origin-Host', dwr([]), 5005],
    ['DPR without Disconnect-Cause', written(282, { avps: origin() }), 5005],
    ['DWR with an AVP unknown and mandatory', dwr([...origin(), textAvp(9999, 'x')]), 5001],
    ['DWR with two Origin-Hosts', dwr([...origin(), ...origin()]), 5009],
  ])('is %s', async (_what, bytes, code) => {
    const { port, requests } = await nodeOf()
    const peer = await openKnownPeer(port)
    peer.send(bytes)
    const answer = await peer.next()
    expect(resultOf(answer)).toBe(code)
    const isError = code < 4000
    expect((answer?.flags ?? 0) & 0xb0).toBe(isError ? 0x20 : 0)
    expect(answer).toMatchObject({ hopByHopId: 7, endToEndId: 9 })
    expect(requests).toEqual([])
    peer.send(dwr())
    expect(resultOf(await peer.next())).toBe(2001)
  })

  it('is answered with its Session-Id and Proxy-Info, also if it exceeds the rate', async () => {
    const { port } = await nodeOf()
    const peer = await openKnownPeer(port)
    const proxies = [textAvp(284, 'first'), textAvp(284, 'second')]
    const avps = [textAvp(263, 'a;b'), ...proxies, uint32Avp(416, 1)]
    peer.send(written(272, { flags: 0xc0, application: 5, avps }))
    const answer = await peer.next()
    expect(answer?.flags).toBe(0x60)
    expect(answer?.avps[0]).toMatchObject({ code: 263, data: Buffer.from('a;b') })
    expect(answer?.avps.slice(-2)).toEqual(proxies)
  })

  it('that fails in processing is answered, and the node continues', async () => {
    const { port, lines } = await nodeOf({
      onRequest: () => {
        throw new Error('a defect')
      },
    })
    const peer = await openKnownPeer(port)
    peer.send(ccr(1))
    expect(resultOf(await peer.next())).toBe(5012)
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1)
    peer.send(dwr())
    expect(resultOf(await peer.next())).toBe(2001)
  })
})

describe('a peer that disconnects', () => {
  it('receives its answers, then a DPA', async () => {
    const { port, lines, due } = await holding()
    const peer = await openKnownPeer(port)
    peer.send(ccr(1), ccr(2), dpr(), ccr(3))
    // Requests after the DPR are refused with DIAMETER_TOO_BUSY.
    const busy = await peer.next()
    expect(busy).toMatchObject({ command: 272, hopByHopId: 3 })
    expect(resultOf(busy)).toBe(3004)
    for (const answer of due) answer()
    expect(await peer.next()).toMatchObject({ command: 272, hopByHopId: 1 })
    expect(await peer.next()).toMatchObject({ command: 272, hopByHopId: 2 })
    const dpa = await peer.next()
    expect(dpa).toMatchObject({ command: 282, flags: 0, hopByHopId: 7, endToEndId: 9 })
    expect(resultOf(dpa)).toBe(2001)
    peer.socket.end()
    await peer.closed
    await waitUntil('the log', () => lines.length === 2)
    expect(lines[1]).toMatchObject({
      text: 'a Diameter peer has disconnected',
      fields: { host: HOST, cause: 'DPR of the peer' },
    })
  })

  it('with DPR but stays is cut off', async () => {
    const { port } = await nodeOf({ settings: { answerTimeoutMs: 100 } })
    const peer = await openKnownPeer(port)
    peer.send(dpr())
    expect(await peer.next()).toMatchObject({ command: 282 })
    await peer.closed
  })

  it('by closing its half receives its answers', async () => {
    const { port, due } = await holding()
    const peer = await openKnownPeer(port)
    peer.socket.end(ccr(1))
    await waitUntil('the request', () => due.length === 1)
    due[0]?.()
    expect(await peer.next()).toMatchObject({ command: 272, hopByHopId: 1 })
    expect(await peer.next()).toBeNull()
    await peer.closed
  })

  it('without DPR leaves answers that are dropped, and counted', async () => {
    const { port, node, figures, due } = await holding()
    const peer = await openKnownPeer(port)
    peer.send(ccr(1))
    await waitUntil('the request', () => due.length === 1)
    peer.socket.resetAndDestroy()
    await waitUntil('the end', () => [...node.connections()].length === 0)
    due[0]?.()
    expect(await figures('tollgate_diameter_dropped_answers_total')).toEqual([': 1'])
  })
})

describe('a node that stops', () => {
  it('notifies its peers, and answers the requests in flight', async () => {
    const { port, node, due } = await holding()
    const peer = await openKnownPeer(port)
    const silent = await openPeer(port)
    peer.send(ccr(1))
    await waitUntil('the request', () => due.length === 1)
    node.stop()
    const closed = node.close()
    const request = await peer.next()
    expect(request).toMatchObject({ command: 282, flags: 0x80 })
    expect(uint32Of(request?.avps ?? [], 273)).toBe(0)
    await silent.closed
    const { hopByHopId = 0 } = request ?? {}
    peer.send(written(282, { flags: 0, hopByHopId, avps: origin() }), ccr(2))
    expect(resultOf(await peer.next())).toBe(3004)
    due[0]?.()
    expect(await peer.next()).toMatchObject({ command: 272, hopByHopId: 1 })
    expect(await peer.next()).toBeNull()
    await closed
  })

  it('does not wait indefinitely for a silent peer', async () => {
    const { port, node } = await nodeOf({ settings: { answerTimeoutMs: 100 } })
    const peer = await openKnownPeer(port)
    await node.close()
    expect(await peer.next()).toMatchObject({ command: 282 })
    await peer.closed
  })
})

describe('the watchdog', () => {
  it('sends DWR to a silent peer, and disconnects it without an answer', async () => {
    const { port, lines, node } = await nodeOf({ settings: { watchdogMs: 200 } })
    const peer = await openKnownPeer(port)
    const first = await peer.next()
    expect(first).toMatchObject({ command: 280, flags: 0x80 })
    expect(textOf(first?.avps ?? [], 264)).toBe(IDENTITY.originHost)
    const { hopByHopId = 0 } = first ?? {}
    peer.send(written(280, { flags: 0, hopByHopId, avps: origin() }))
    expect(await peer.next()).toMatchObject({ command: 280, flags: 0x80 })
    expect([...node.connections()].map(({ state }) => state)).toEqual(['suspect'])
    // Any message is sufficient.
    peer.send(ccr(1))
    expect(await peer.next()).toMatchObject({ command: 272 })
    expect(await peer.next()).toMatchObject({ command: 280, flags: 0x80 })
    expect(await peer.next()).toBeNull()
    await waitUntil('the log', () => lines.length === 2)
    expect(lines[1]?.fields).toMatchObject({ cause: 'no message in state suspect' })
  })

  it('sends no DWR to a peer that has just sent a message', async () => {
    const watchdogMs = 3_600_000
    const states: string[] = []
    const { port } = await nodeOf({
      settings: { watchdogMs },
      onRequest: (connection, bytes) => {
        if (!(connection instanceof PeerConnection)) throw new Error('not a connection')
        const nowMs = performance.now()
        for (const laterMs of [watchdogMs - 1, watchdogMs + 1, 2 * watchdogMs]) {
          connection.checkTimers(nowMs + laterMs)
          states.push(connection.state)
        }
        connection.send(baseAnswer(bytes, 2001, IDENTITY))
      },
    })
    const peer = await openKnownPeer(port)
    peer.send(ccr(1))
    expect(await peer.next()).toMatchObject({ command: 280 })
    expect(states).toEqual(['open', 'open', 'suspect'])
  })
})
