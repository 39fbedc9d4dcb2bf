import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { baseAnswer } from '../../../src/realtime/codecs/diameter-wire/base-answer.ts'
import { avp } from '../../../src/realtime/codecs/diameter-wire/message.ts'
import { IDENTITY, nodeOf } from '../../support/realtime/diameter/node-of.ts'
import {
  ccr,
  cer,
  dwr,
  openKnownPeer,
  openPeer,
  peerOf,
  resultOf,
  written,
} from '../../support/realtime/diameter/raw-peer.ts'
import { waitUntil } from '../../support/wait.ts'

/** A CCR padded to a message of this many bytes. */
const filled = (bytes: number) => {
  const bare = ccr(1).length
  return ccr(1, 's1', [avp(9999, Buffer.alloc(bytes - bare - 8), 0, false)])
}

describe('requests in pieces', () => {
  it('are served wherever they are cut, and however many arrive together', async () => {
    const { port, requests } = await nodeOf()
    const stream = Buffer.concat([ccr(1), dwr(), ccr(2, 'another session')])
    const whole = await openKnownPeer(port)
    whole.send(stream, stream, stream)
    for (let count = 0; count < 9; count += 1) expect(resultOf(await whole.next())).toBe(2001)
    for (let cut = 1; cut < stream.length; cut += 1) {
      const peer = await openKnownPeer(port)
      const before = requests.length
      peer.send(stream.subarray(0, cut))
      // The answers to complete requests show that the node has read the first part.
      const complete = [ccr(1).length, ccr(1).length + dwr().length].filter((end) => end <= cut)
      for (const _ of complete) expect(resultOf(await peer.next())).toBe(2001)
      peer.send(stream.subarray(cut))
      for (let count = complete.length; count < 3; count += 1) {
        expect(resultOf(await peer.next())).toBe(2001)
      }
      expect(requests.slice(before)).toEqual([ccr(1), ccr(2, 'another session')])
      peer.socket.destroy()
    }
  })

  it('are served byte by byte', async () => {
    const { port } = await nodeOf()
    const peer = await openKnownPeer(port)
    for (const byte of ccr(1)) {
      peer.send(Buffer.from([byte]))
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(resultOf(await peer.next())).toBe(2001)
  })
})

describe('bytes that are not messages', () => {
  const changed = (change: (bytes: Buffer) => void) => {
    const bytes = ccr(1)
    change(bytes)
    return bytes
  }
  it.each([
    ['another version', changed((bytes) => bytes.writeUInt8(3, 0)), 5011],
    ['a short length', changed((bytes) => bytes.writeUIntBE(12, 1, 3)), 5015],
    ['an odd length', changed((bytes) => bytes.writeUIntBE(41, 1, 3)), 5015],
    ['a message that is too long', filled(8192 + 4), 5015],
    ['a length of 16 MB', changed((bytes) => bytes.writeUIntBE(0xfffffc, 1, 3)), 5015],
  ])('are answered once before the connection ends: %s', async (_what, bytes, code) => {
    const { port, requests } = await nodeOf({ settings: { messageBytesMax: 8192 } })
    const other = await openKnownPeer(port)
    for (const peer of [await openKnownPeer(port), await openPeer(port)]) {
      peer.send(bytes, ccr(2), ccr(3))
      const answer = await peer.next()
      expect(resultOf(answer)).toBe(code)
      expect(answer).toMatchObject({ command: 272, hopByHopId: 1, endToEndId: 1 })
      expect(await peer.next()).toBeNull()
    }
    expect(requests).toEqual([])
    other.send(filled(8192))
    expect(resultOf(await other.next())).toBe(2001)
  })

  it.each([
    ['text', Buffer.from('GET /realtime HTTP/1.1\r\nHost: a\r\n\r\n')],
    ['TLS', Buffer.from('16030100a5010000a10303000102030405060708090a0b0c0d0e0f', 'hex')],
    ['zeros', Buffer.alloc(64)],
  ])('end the connection: %s', async (_what, bytes) => {
    const { port } = await nodeOf()
    const socket = connect({ port, host: '127.0.0.1' })
    const hasEnded = new Promise((resolve) => socket.on('end', resolve))
    socket.on('error', () => undefined)
    socket.resume()
    socket.write(bytes)
    await hasEnded
    const peer = await openKnownPeer(port)
    peer.send(dwr())
    expect(resultOf(await peer.next())).toBe(2001)
  })

  it('end the connection of a peer that keeps sending without reading', async () => {
    const { port, node } = await nodeOf({ settings: { answerTimeoutMs: 100 } })
    const peer = await openPeer(port)
    peer.send(Buffer.alloc(64))
    const timer = setInterval(() => peer.socket.writable && peer.send(Buffer.alloc(64)), 10)
    await waitUntil('the end', () => [...node.connections()].length === 0)
    clearInterval(timer)
  })
})

describe('silent peers', () => {
  const CROWD = 1000

  it('are disconnected by the thousand while others are served', async () => {
    const { port, node } = await nodeOf({ settings: { capabilitiesTimeoutMs: 1500 } })
    const known = await openKnownPeer(port)
    const sockets: Socket[] = []
    for (let count = 0; count < CROWD; count += 1) {
      const socket = connect({ port, host: '127.0.0.1' })
      peerOf(socket)
      sockets.push(socket)
    }
    let isOver = false
    const closed = Promise.all(
      sockets.map((socket) => new Promise((resolve) => socket.on('close', resolve))),
    ).then(() => {
      isOver = true
    })
    let served = 0
    while (!isOver) {
      known.send(ccr(served))
      expect(await known.next()).toMatchObject({ command: 272, hopByHopId: served })
      served += 1
    }
    await closed
    await waitUntil('the end of all', () => [...node.connections()].length === 1)
    expect(served).toBeGreaterThan(10)
  })

  it('are disconnected after half a CER, too', async () => {
    const { port } = await nodeOf({ settings: { capabilitiesTimeoutMs: 100 } })
    const peer = await openPeer(port)
    peer.send(cer().subarray(0, 30))
    await peer.closed
  })
})

describe('connections above the limit', () => {
  it('are closed until others have ended', async () => {
    const { port, node, lines } = await nodeOf({ settings: { connectionsMax: 3 } })
    const first = await openKnownPeer(port)
    await openPeer(port)
    await openPeer(port)
    await waitUntil('three', () => [...node.connections()].length === 3)
    for (let count = 0; count < 5; count += 1) await (await openPeer(port)).closed
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1)
    first.socket.destroy()
    await waitUntil('room', () => [...node.connections()].length === 2)
    await openKnownPeer(port)
  })
})

describe('a peer that never reads', () => {
  const ANSWER_BYTES = 4000
  const OUTPUT_BYTES_MAX = 65_536

  it('is not read further, then disconnected, while others are served', async () => {
    const padding = avp(9999, Buffer.alloc(ANSWER_BYTES), 0, false)
    const { port, requests, node, lines } = await nodeOf({
      settings: { outputBytesMax: OUTPUT_BYTES_MAX, watchdogMs: 1000 },
      onRequest: (connection, bytes) => {
        connection.send(baseAnswer(bytes, 2001, IDENTITY, [padding]))
      },
    })
    const other = await openKnownPeer(port)
    const peer = await openKnownPeer(port)
    peer.socket.pause()
    const batch = Buffer.concat(Array.from({ length: 500 }, (_, index) => ccr(index)))
    let isGone = false
    peer.socket.on('close', () => {
      isGone = true
    })
    let sent = 0
    const pump = () => {
      while (!isGone && peer.socket.writable && peer.socket.writableLength === 0) {
        peer.socket.write(batch)
        sent += 500
      }
    }
    peer.socket.on('drain', pump)
    pump()
    const gone = () => [...node.connections()].length === 1
    let served = 0
    await waitUntil('the end of the peer', async () => {
      other.send(ccr(served))
      await other.next()
      served += 1
      return gone()
    })
    expect(sent).toBeGreaterThan(500)
    // The bytes read are bounded by the answers that the system and the node buffer.
    const answeredBytes = (requests.length - served) * ANSWER_BYTES
    expect(answeredBytes).toBeLessThan(40 * 1024 * 1024)
    expect(lines.at(-1)?.fields).toMatchObject({ cause: 'does not read its answers' })
    peer.socket.destroy()
  })

  it('and then does receives all of its answers', async () => {
    const padding = avp(9999, Buffer.alloc(ANSWER_BYTES), 0, false)
    const { port } = await nodeOf({
      settings: { outputBytesMax: OUTPUT_BYTES_MAX },
      onRequest: (connection, bytes) => {
        connection.send(baseAnswer(bytes, 2001, IDENTITY, [padding]))
      },
    })
    const peer = await openKnownPeer(port)
    peer.socket.pause()
    const COUNT = 4000
    for (let index = 0; index < COUNT; index += 1) peer.send(ccr(index))
    peer.socket.resume()
    for (let index = 0; index < COUNT; index += 1) {
      expect(await peer.next()).toMatchObject({ hopByHopId: index })
    }
  })
})

describe('answers to no request', () => {
  it('are counted and otherwise ignored', async () => {
    const { port, figures } = await nodeOf()
    const peer = await openKnownPeer(port)
    for (const command of [257, 272, 282, 999]) peer.send(written(command, { flags: 0 }))
    peer.send(written(272, { flags: 0x0f }), dwr())
    expect(resultOf(await peer.next())).toBe(2001)
    expect(await figures('tollgate_diameter_unmatched_answers_total')).toEqual([': 5'])
  })
})
