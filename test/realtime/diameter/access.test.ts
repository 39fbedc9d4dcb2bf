import { describe, expect, it } from 'vitest'
import { dnsNames } from '../../../src/realtime/certificate-names.ts'
import { find, uint32Of } from '../../../src/realtime/codecs/diameter-wire/message.ts'
import { createRateLimits } from '../../../src/realtime/http/rate-limits.ts'
import { nodeOf, storedPeer } from '../../support/realtime/diameter/node-of.ts'
import {
  ccr,
  cer,
  cerAvps,
  dwr,
  openKnownPeer,
  openPeer,
  origin,
  resultOf,
  written,
} from '../../support/realtime/diameter/raw-peer.ts'
import { waitUntil } from '../../support/wait.ts'

const LISTED = { openTo: 'nobody' } as const
/** Polls often, so that changes are seen immediately. */
const QUICK = { answerTimeoutMs: 100 }
const gw1 = (further: object = {}) => storedPeer('gw1', further)

describe('the access of a peer', () => {
  const rows: {
    what: string
    peers: readonly object[] | null
    mustBeListed?: boolean
    avps?: ReturnType<typeof cerAvps>
    code: number
    cause?: string
  }[] = [
    { what: 'any peer', peers: [], code: 2001 },
    { what: 'any peer while no peers were read', peers: null, code: 2001 },
    {
      what: 'no peer that is not listed',
      peers: [],
      mustBeListed: true,
      code: 3010,
      cause: 'unknown',
    },
    {
      what: 'no peer while no peers were read',
      peers: null,
      mustBeListed: true,
      code: 3004,
      cause: 'unavailable',
    },
    { what: 'a listed peer', peers: [gw1()], mustBeListed: true, code: 2001 },
    {
      what: 'a listed peer, in any case',
      peers: [gw1()],
      mustBeListed: true,
      avps: cerAvps('GW1.Peer.Test'),
      code: 2001,
    },
    {
      what: 'no disabled peer',
      peers: [gw1({ disabled: true })],
      mustBeListed: true,
      code: 3010,
      cause: 'unknown',
    },
    {
      what: 'a peer from its address',
      peers: [gw1({ addresses: ['127.0.0.0/8'] })],
      code: 2001,
    },
    {
      what: 'no peer from another address, even if peers need not be listed',
      peers: [gw1({ addresses: ['10.0.0.0/8'] })],
      code: 3010,
      cause: 'address',
    },
    {
      what: 'a peer of its realm',
      peers: [gw1({ diameter: { origin_host: 'gw1.peer.test', origin_realm: 'peer.test' } })],
      avps: cerAvps('gw1.peer.test', 'Peer.Test'),
      code: 2001,
    },
    {
      what: 'no peer of another realm',
      peers: [gw1({ diameter: { origin_host: 'gw1.peer.test', origin_realm: 'other.test' } })],
      code: 3010,
      cause: 'realm',
    },
  ]

  it.each(rows)('$what: $code', async ({ peers, mustBeListed, avps, code, cause }) => {
    const settings = mustBeListed === true ? LISTED : {}
    const { port, figures, requests } = await nodeOf({ settings, peers })
    const peer = await openPeer(port)
    peer.send(cer(avps))
    const cea = await peer.next()
    expect(resultOf(cea)).toBe(code)
    expect(cea?.flags).toBe(cause === undefined ? 0 : 0x20)
    peer.send(ccr())
    if (cause === undefined) {
      expect(await peer.next()).toMatchObject({ command: 272 })
      return
    }
    expect(await peer.next()).toBeNull()
    await peer.closed
    expect(requests).toEqual([])
    const counted = await figures('tollgate_diameter_peers_refused_total')
    expect(counted).toEqual([`cause=${cause}: 1`])
  })

  it('several connections of one host each have the name and file types of the peer', async () => {
    const { port, node, lines } = await nodeOf({ peers: [gw1({ file_types: ['gy'] })] })
    await openKnownPeer(port)
    await openKnownPeer(port)
    const all = [...node.connections()]
    expect(all.map(({ peerName }) => peerName)).toEqual(['gw1', 'gw1'])
    expect(all[0]?.peer?.fileTypes).toEqual(new Set(['gy']))
    expect(lines[0]?.fields).toMatchObject({ peer: 'gw1' })
  })
})

describe('a peer whose configuration changes while it is connected', () => {
  it.each([
    ['is removed', []],
    ['is disabled', [gw1({ disabled: true })]],
    ['has another address now', [gw1({ addresses: ['10.0.0.1'] })]],
  ])('is disconnected if it %s', async (_what, now) => {
    const settings = { ...LISTED, ...QUICK }
    const { port, setPeers, lines } = await nodeOf({ settings, peers: [gw1()] })
    const peer = await openKnownPeer(port)
    setPeers(now)
    const request = await peer.next()
    expect(request).toMatchObject({ command: 282, flags: 0x80 })
    expect(uint32Of(request?.avps ?? [], 273)).toBe(2)
    peer.send(written(282, { flags: 0, avps: origin() }))
    expect(await peer.next()).toBeNull()
    peer.socket.end()
    await peer.closed
    await waitUntil('the log', () => lines.length === 2)
    expect(lines[1]?.fields['cause']).not.toBe('')
  })

  it('stays connected if it may still connect, with the new configuration', async () => {
    const { port, node, setPeers } = await nodeOf({ settings: QUICK, peers: [gw1()] })
    const peer = await openKnownPeer(port)
    setPeers([storedPeer('gateway', { diameter: { origin_host: 'gw1.peer.test' } })])
    await waitUntil('the new name', () => [...node.connections()][0]?.peerName === 'gateway')
    setPeers([])
    await waitUntil('no name', () => [...node.connections()][0]?.peerName === '')
    peer.send(dwr())
    expect(await peer.next()).toMatchObject({ command: 280 })
  })
})

describe('a peer above its rate', () => {
  it('is asked to try another node, on all of its connections', async () => {
    const peers = [gw1({ requests_per_second: 3 })]
    const rateLimits = createRateLimits(() => 0)
    const { port, requests, lines, figures } = await nodeOf({ peers, rateLimits })
    const one = await openKnownPeer(port)
    const other = await openKnownPeer(port)
    one.send(ccr(1), ccr(2), ccr(3), ccr(4))
    const codes = []
    for (let count = 0; count < 4; count += 1) {
      const answer = await one.next()
      codes.push([answer?.hopByHopId, resultOf(answer), answer?.flags])
    }
    expect(codes).toEqual([
      [1, 2001, 0x40],
      [2, 2001, 0x40],
      [3, 2001, 0x40],
      [4, 3004, 0x60],
    ])
    other.send(ccr(5), dwr())
    const refused = await other.next()
    expect(resultOf(refused)).toBe(3004)
    expect(find(refused?.avps ?? [], 263)?.data.toString()).toBe('s1')
    expect(resultOf(await other.next())).toBe(2001)
    expect(requests).toHaveLength(3)
    const counted = await figures('tollgate_requests_refused_total')
    expect(counted).toEqual(['peer=gw1,cause=rate: 2'])
    // The log does not grow with the rate of messages.
    expect(lines).toHaveLength(2)
  })
})

describe('DNS names of a certificate', () => {
  it.each([
    [undefined, []],
    ['DNS:Gw1.Peer.test', ['gw1.peer.test']],
    ['DNS:a.test, IP Address:127.0.0.1, DNS:b.test', ['a.test', 'b.test']],
    ['DNS:"a.test, DNS:b.test"', []],
    ['URI:DNS:a.test', []],
    ['DNS:*.test', []],
  ])('are read from %s', (text, names) => {
    expect(dnsNames(text)).toEqual(names)
  })
})
