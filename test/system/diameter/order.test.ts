/** Requests that do not wait for answers, at four workers, which only processes have. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { command } from '../../../src/realtime/codecs/diameter-wire/protocol.ts'
import { useMade } from '../../support/opened.ts'
import { FIRST_SID } from '../../support/product/population.ts'
import { openSocket, type RawAnswer } from '../../support/realtime/http/socket.ts'
import {
  dataSession,
  GATEWAY,
  NODE_SETTINGS,
} from '../../support/system/diameter/gateway-requests.ts'
import {
  capabilitiesOf,
  type Message,
  onMessages,
  requestBytes,
} from '../../support/system/diameter/link.ts'
import { money, session, useNode } from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'

const SESSIONS = 1_000
/** Subscribers whose sessions use HTTP. */
const BY_HTTP = 100
/** Sessions that are written together, whose messages are admitted together. */
const AT_ONCE = 100
/** Bytes of a piece; messages have some 200 to 400. */
const PIECE = 1_009

const node = useNode({
  subscribers: SESSIONS + BY_HTTP,
  environment: { ...NODE_SETTINGS, TOLLGATE_REALTIME_WORKERS: '4' },
})
useMade(() => node().product.start('realtime'))

async function openPeer() {
  const socket = connect({ port: node().product.diameterPort, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  const answers: Message[] = []
  onMessages(socket, (message) => answers.push(message))
  const write = (bytes: Buffer) => new Promise<void>((done) => socket.write(bytes, () => done()))
  await write(requestBytes(command.capabilitiesExchange, 1, capabilitiesOf(GATEWAY)))
  await waitUntil('CEA', () => answers.length === 1)
  return { write, answers, close: () => socket.destroy() }
}

/** CCR-I, CCR-U and CCR-T of a session: two MiB are used. */
function messagesOf(index: number): Buffer[] {
  const { initial, update, termination } = dataSession(`order;${index}`, index)
  const all = [initial(1), update(1, { asked: 1, used: 1 }), termination(2, 1)]
  return all.map((avps, number) => requestBytes(command.creditControl, 10 * index + number, avps))
}

it('over Diameter, in pieces, are all charged, and leave nothing reserved', async () => {
  const peer = await openPeer()
  for (let first = 0; first < SESSIONS; first += AT_ONCE) {
    const indexes = Array.from({ length: AT_ONCE }, (_, index) => first + index)
    const bytes = Buffer.concat(indexes.flatMap(messagesOf))
    for (let at = 0; at < bytes.length; at += PIECE) {
      await peer.write(bytes.subarray(at, at + PIECE))
    }
    await waitUntil('the answers', () => peer.answers.length === 1 + 3 * (first + AT_ONCE))
  }
  const refused = peer.answers.filter(({ named }) => named['Result-Code'] !== 2001)
  expect(refused.map(({ named }) => named)).toEqual([])
  for (let index = 0; index < SESSIONS; index += 1) {
    expect(await node().moneyOf(FIRST_SID + index)).toEqual(money(2, 0))
  }
  peer.close()
})

it('over HTTP, on several connections, are charged in the order in which they arrive', async () => {
  const [one, other] = [
    openSocket(node().product.realtimePort),
    openSocket(node().product.realtimePort),
  ]
  await Promise.all([one.connected, other.connected])
  const post = (body: object) => {
    const text = JSON.stringify(body)
    return `POST /realtime HTTP/1.1\r\nhost: x\r\ncontent-length: ${text.length}\r\n\r\n${text}`
  }
  const codeOf = (answer: RawAnswer | null) => JSON.parse(answer?.body ?? '{}').returnCode
  for (let index = SESSIONS; index < SESSIONS + BY_HTTP; index += 1) {
    const { start, update } = session(`order-${index}`, FIRST_SID + index)
    await one.send(post(start()))
    await other.send(post(update(1)))
    expect([codeOf(await one.answer()), codeOf(await other.answer())]).toEqual([1, 1])
    expect(await node().moneyOf(FIRST_SID + index)).toEqual(money(1, 1))
  }
  for (const socket of [one, other]) socket.destroy()
})
