import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { baseAnswer } from '../../../src/realtime/codecs/diameter-wire/base-answer.ts'
import type { DiameterConnection } from '../../../src/realtime/diameter/connection-context.ts'
import {
  BACKPRESSURE_REQUESTS_MIN,
  type Backpressure,
  ReadThrottle,
  YIELD_BYTES,
} from '../../../src/realtime/diameter/read-throttle.ts'
import { IDENTITY, nodeOf } from '../../support/realtime/diameter/node-of.ts'
import { ccr, dwr, openPeer, resultOf } from '../../support/realtime/diameter/raw-peer.ts'
import { waitUntil } from '../../support/wait.ts'

/** A node that answers when the test lets it, and is behind while the test says so. */
async function busyNode() {
  const resumed: (() => void)[] = []
  const backpressure: { isBehind: boolean } & Backpressure = {
    isBehind: true,
    onCaughtUp: (resume) => resumed.push(resume),
  }
  const due: (() => void)[] = []
  const onRequest = (connection: DiameterConnection, bytes: Buffer) => {
    const answer = baseAnswer(bytes, 2001, IDENTITY)
    due.push(() => connection.send(answer))
  }
  const { port, requests } = await nodeOf({ backpressure, onRequest })
  const answerAll = () => {
    for (const answer of due.splice(0)) answer()
  }
  return { port, requests, backpressure, resumed, answerAll }
}

const many = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ccr(from + index, `s${from + index}`))

it('stops reading from a peer while the node is behind', async () => {
  const { port, requests, backpressure, resumed, answerAll } = await busyNode()
  const peer = await openPeer(port)
  await peer.introduce()
  const first = BACKPRESSURE_REQUESTS_MIN + 1
  peer.send(...many(1, first))
  await waitUntil('the first are read', () => requests.length === first)
  expect(resumed).toHaveLength(1)
  peer.send(...many(first + 1, 10), dwr())
  // Another peer, whose answer comes after everything read from the first one.
  const other = await openPeer(port)
  await other.introduce()
  other.send(dwr())
  expect(resultOf(await other.next())).toBe(2001)
  expect(requests).toHaveLength(first)
  backpressure.isBehind = false
  resumed[0]?.()
  await waitUntil('the others are read', () => requests.length === first + 10)
  answerAll()
  const codes = []
  for (let count = 0; count < first + 11; count += 1) codes.push(resultOf(await peer.next()))
  expect(codes).toEqual(codes.map(() => 2001))
})

it('keeps reading from a peer with few requests in flight', async () => {
  const { port, requests, resumed, answerAll } = await busyNode()
  const peer = await openPeer(port)
  await peer.introduce()
  peer.send(...many(1, 5))
  await waitUntil('all are read', () => requests.length === 5)
  peer.send(...many(6, 5))
  await waitUntil('all are read', () => requests.length === 10)
  expect(resumed).toEqual([])
  answerAll()
})

it('serves other connections after each large piece', async () => {
  const socket = new PassThrough().resume()
  const backpressure = { isBehind: false, onCaughtUp: () => undefined }
  const limits = { outputBytesMax: 1, stalledMs: 1, waitingBytes: () => 0 }
  const reading = new ReadThrottle(socket as never, { backpressure, ...limits })
  reading.afterRead(YIELD_BYTES - 1, 1_000)
  expect(socket.isPaused()).toBe(false)
  reading.afterRead(YIELD_BYTES, 1_000)
  reading.afterRead(YIELD_BYTES, 1_000)
  expect([socket.isPaused(), reading.isStopped]).toEqual([true, true])
  await turn()
  expect([socket.isPaused(), reading.isStopped]).toEqual([false, false])
})
