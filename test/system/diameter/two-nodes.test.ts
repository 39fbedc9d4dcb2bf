/** Requests of one session that arrive at two nodes of an installation, in any order. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  command,
  flags,
  HEADER_BYTES,
} from '../../../src/realtime/codecs/diameter-wire/protocol.ts'
import type { NamedAvps } from '../../../src/realtime/diameter/named.ts'
import { FIRST_SID } from '../../support/product/population.ts'
import { type Product, startProduct } from '../../support/product/product.ts'
import { tollgate } from '../../support/system/command.ts'
import {
  creditControl,
  dataSession,
  GATEWAY,
  granted,
  NODE,
  NODE_SETTINGS,
  subscription,
} from '../../support/system/diameter/gateway-requests.ts'
import { connectLink, type Link, type Message } from '../../support/system/diameter/link.ts'
import { MONEY, money, startNode, type TestNode } from '../../support/system/outages/node.ts'

/** Names of the same length, so that the other bytes of an answer have the same offsets. */
const HOSTS = ['node1.node.example', 'node2.node.example'] as const
/** Micros of one message in the demo catalogue. */
const SMS_PRICE = 40_000

let node: TestNode
let other: Product
let links: [Link, Link]

beforeAll(async () => {
  const settings = (originHost: string) => ({
    ...NODE_SETTINGS,
    TOLLGATE_DIAMETER_ORIGIN_HOST: originHost,
  })
  node = await startNode({ subscribers: 8, environment: settings(HOSTS[0]) })
  const { redisUrl, mongoUrl, database } = node.product
  other = await startProduct({
    redisUrl,
    mongoUrl,
    database,
    environment: settings(HOSTS[1]),
  })
  await Promise.all([node.product.start('realtime'), other.start('realtime')])
  const connect = (port: number) => connectLink({ port, identity: GATEWAY })
  links = [await connect(node.product.diameterPort), await connect(other.diameterPort)]
})
afterAll(async () => {
  for (const link of links ?? []) await link.close()
  await other?.stop()
  await node?.stop()
})

let endToEndId = 0x5000_0000

/** Sends a request to a node; the hop-by-hop identifier is that of the connection. */
function ask(at: 0 | 1, avps: NamedAvps, more: { isRepeated?: boolean; endToEndId?: number } = {}) {
  const bits = flags.proxiable | (more.isRepeated === true ? flags.retransmitted : 0)
  endToEndId += 1
  return links[at].ask(command.creditControl, avps, { endToEndId, ...more, flags: bits })
}

/** An answer without its identifiers, with the name of the first node. */
function content({ bytes }: Message): string {
  const text = bytes.subarray(HEADER_BYTES).toString('latin1')
  return bytes.subarray(0, 12).toString('latin1') + text.replace(HOSTS[1], HOSTS[0])
}

describe('a request that is repeated at another node', () => {
  it('gets the answer of the first, with the T bit and without, and moves nothing', async () => {
    const { sid, initial, update, termination } = dataSession('nodes;repeated', 0)
    const steps: [NamedAvps, ReturnType<typeof money>][] = [
      [initial(5), money(0, 5)],
      [update(1, { asked: 4, used: 5 }), money(5, 4)],
      [update(2, { asked: 3, used: 2 }), money(7, 3)],
      [termination(3, 3), money(10, 0)],
    ]
    for (const [index, [avps, moved]] of steps.entries()) {
      const [first, second] = index % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)
      const answer = await ask(first, avps)
      expect(answer.named).toMatchObject({ 'Result-Code': 2001, 'Origin-Host': HOSTS[first] })
      expect(await node.moneyOf(sid)).toEqual(moved)
      for (const [at, isRepeated] of [
        [second, false],
        [second, true],
        [first, true],
      ] as const) {
        const repeated = await ask(at, avps, { isRepeated })
        expect(repeated.named['Origin-Host']).toBe(HOSTS[at])
        expect(content(repeated)).toBe(content(answer))
        expect(repeated.endToEndId).not.toBe(answer.endToEndId)
      }
      expect(await node.moneyOf(sid)).toEqual(moved)
    }
  })

  it('gets the same answer while it is pending at the first', async () => {
    const { sid, initial, update, termination } = dataSession('nodes;at once', 1)
    const steps = [initial(5), ...[1, 2, 3, 4].map((n) => update(n, { asked: 5, used: 5 }))]
    for (const avps of [...steps, termination(5, 5)]) {
      const [one, two] = await Promise.all([ask(0, avps), ask(1, avps, { isRepeated: true })])
      expect(one.named).toMatchObject({ 'Result-Code': 2001 })
      expect(content(two)).toBe(content(one))
    }
    expect(await node.moneyOf(sid)).toEqual(money(25, 0))
  })

  it('is refused if its content differs', async () => {
    const { sid, initial, update, termination } = dataSession('nodes;other', 2)
    await ask(0, initial(5))
    await ask(0, update(1, { asked: 5, used: 5 }))
    const refused = await ask(1, update(1, { asked: 5, used: 4 }))
    expect(refused.named['Result-Code']).not.toBe(2001)
    expect(await node.moneyOf(sid)).toEqual(money(5, 5))
    expect((await ask(1, termination(2, 0))).named).toMatchObject({ 'Result-Code': 2001 })
  })
})

describe('a session', () => {
  it('continues at another node, even if no host is named, and receives a RAR there', async () => {
    const { sid, initial, update, termination } = dataSession('nodes;moves', 3)
    expect((await ask(0, initial(5))).named).toMatchObject(granted(5))
    for (const number of [1, 2, 3, 4]) {
      const at = number % 2 === 1 ? 1 : 0
      const answer = await ask(at, update(number, { asked: 5, used: 5 }))
      expect(answer.named).toMatchObject({ 'Result-Code': 2001, ...granted(5) })
      expect(await node.moneyOf(sid)).toEqual(money(number * 5, 5))
    }
    await ask(1, update(5, { asked: 5, used: 5 }))
    const add = ['balance', 'add', '--sid', String(sid), '--include', '1', '--amount', '1']
    expect(await tollgate(node.product, add)).toMatchObject({ code: 0 })
    const request = await links[1].receives(command.reAuth, 'request')
    expect(request.named).toMatchObject({
      'Session-Id': 'nodes;moves',
      'Origin-Host': HOSTS[1],
      'Origin-Realm': NODE['Origin-Realm'],
    })
    expect((await ask(1, termination(6, 1))).named).toMatchObject({ 'Result-Code': 2001 })
    expect(await node.moneyOf(sid)).toMatchObject({ reserved: 0, spent: 260_000 })
  })
})

describe('an event without a number', () => {
  it('is identified by its end-to-end identifier, at any node', async () => {
    const sid = FIRST_SID + 4
    const eventOf = (name: string) => {
      const { 'CC-Request-Number': _number, ...event } = creditControl(name, 'event', 0, {
        'Service-Context-Id': '32274@3gpp.org',
        'Requested-Action': 0,
        ...subscription(sid),
        'Requested-Service-Unit': { 'CC-Service-Specific-Units': 2 },
      })
      return event
    }
    const paid = (messages: number) => {
      const spent = messages * SMS_PRICE
      return { credited: MONEY, spent, reserved: 0, free: MONEY - spent }
    }
    const first = await ask(0, eventOf('nodes;event'), { endToEndId: 77 })
    expect(first.named).toMatchObject({ 'Result-Code': 2001 })
    expect(first.named).not.toHaveProperty('CC-Request-Number')
    for (const isRepeated of [false, true]) {
      const repeated = await ask(1, eventOf('nodes;event'), { endToEndId: 77, isRepeated })
      expect(content(repeated)).toBe(content(first))
    }
    expect(await node.moneyOf(sid)).toEqual(paid(2))
    // Same session id, other identifier: an event is a session, and this one has ended.
    const another = await ask(1, eventOf('nodes;event'), { endToEndId: 78 })
    expect(another.named).toMatchObject({ 'Result-Code': 5002 })
    expect(await node.moneyOf(sid)).toEqual(paid(2))
    for (const endToEndId of [77, 78]) {
      const next = await ask(1, eventOf(`nodes;event ${endToEndId}`), { endToEndId })
      expect(next.named).toMatchObject({ 'Result-Code': 2001 })
    }
    expect(await node.moneyOf(sid)).toEqual(paid(6))
  })
})
