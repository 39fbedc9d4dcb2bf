/** Answers to Diameter peers during outages, overload and shutdown. */
// covers: src/realtime/diameter/ src/realtime/admission.ts
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { command, flags } from '../../../src/realtime/codecs/diameter-wire/protocol.ts'
import type { NamedAvps } from '../../../src/realtime/diameter/named.ts'
import { publishSessionEvent } from '../../../src/store/session-events.ts'
import { DEFAULT_LIMITS, PATIENT } from '../../support/product/patience.ts'
import { aidOf } from '../../support/product/population.ts'
import {
  creditControl,
  dataSession,
  GATEWAY,
  granted,
  NODE_SETTINGS,
  service,
} from '../../support/system/diameter/gateway-requests.ts'
import { connectLink, type Link, type Message } from '../../support/system/diameter/link.ts'
import { money, startNode, type TestNode } from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'

const environment: Record<string, string> = {
  ...DEFAULT_LIMITS,
  ...NODE_SETTINGS,
  TOLLGATE_MONGO_TIMEOUT_MS: '1000',
}
let node: TestNode
let link: Link

const connect = () => connectLink({ port: node.product.diameterPort, identity: GATEWAY })
const ask = (avps: NamedAvps, by = link) => by.ask(command.creditControl, avps)
const resultOf = ({ named }: Message) => named['Result-Code']

beforeAll(async () => {
  node = await startNode({ subscribers: 40, environment })
  await node.product.start('realtime')
  link = await connect()
})
afterAll(async () => {
  await link?.close()
  await node?.stop()
})

/** An answer with DIAMETER_TOO_BUSY, as a protocol error. */
function expectTooBusy({ named, flags: bits }: Message, sessionId: string): void {
  expect(named).toMatchObject({ 'Result-Code': 3004, 'Session-Id': sessionId })
  expect(bits & (flags.error | flags.request)).toBe(flags.error)
}

function isReAuth({ command: code, named }: Message, sessionId: string): boolean {
  return code === command.reAuth && named['Session-Id'] === sessionId
}

async function insist(avps: NamedAvps): Promise<Message> {
  let answer: Message | undefined
  await waitUntil('a definite answer', async () => {
    answer = await ask(avps)
    return resultOf(answer) !== 3004
  })
  return answer as Message
}

/** Charges the n-th subscriber once, so that the node has its profile in memory. */
async function chargeOnce(index: number): Promise<void> {
  const first = dataSession(`outages;first ${index}`, index)
  expect(resultOf(await insist(first.initial(1)))).toBe(2001)
  expect(resultOf(await insist(first.termination(1, 0)))).toBe(2001)
}

const outages = [
  {
    what: 'killed',
    begin: () => node.product.kill9('redis'),
    end: () => node.product.start('redis'),
  },
  {
    what: 'stopped, so that it only hangs',
    begin: async () => process.kill(node.product.pid('redis'), 'SIGSTOP'),
    end: async () => process.kill(node.product.pid('redis'), 'SIGCONT'),
  },
]

describe.each(outages)('a Redis that is $what', ({ what, begin, end }) => {
  const index = what === 'killed' ? 0 : 2
  const name = (which: string) => `outages;${which} while ${what}`

  it('is answered with 3004; the same connection continues when it is back', async () => {
    const { sid, initial, update, termination } = dataSession(name('open'), index)
    const next = dataSession(name('new'), index + 1)
    await chargeOnce(index + 1)
    expect((await ask(initial(5))).named).toMatchObject(granted(5))
    await begin()
    try {
      const requests = [update(1, { asked: 5, used: 5 }), next.initial(5)]
      const [open, second] = (await Promise.all(requests.map((one) => ask(one)))) as [
        Message,
        Message,
      ]
      expectTooBusy(open, name('open'))
      expectTooBusy(second, name('new'))
      expect(resultOf(await link.ask(command.watchdog, GATEWAY))).toBe(2001)
    } finally {
      await end()
    }
    expect((await insist(update(1, { asked: 5, used: 5 }))).named).toMatchObject(granted(5))
    expect(resultOf(await insist(next.initial(5)))).toBe(2001)
    expect(await node.moneyOf(sid)).toEqual(money(5, 5))
    expect(await node.moneyOf(next.sid)).toEqual(money(0, 5))
    // Session events are received again, too.
    await waitUntil('a request of the node', async () => {
      await publishSessionEvent(node.reader.ledger.redis, {
        cause: 'credit',
        aid: aidOf(index, 1),
        sid,
      })
      return link.received.some((one) => isReAuth(one, name('open')))
    })
    expect(resultOf(await ask(termination(2, 5)))).toBe(2001)
    expect(resultOf(await ask(next.termination(1, 0)))).toBe(2001)
    expect(await node.moneyOf(sid)).toEqual(money(10, 0))
    expect(link.isClosed).toBe(false)
  })
})

describe.skipIf(process.env['TEST_MONGO_URL'])('a MongoDB that is killed', () => {
  it('affects no cached subscriber; requests of others are answered with 3004', async () => {
    const known = dataSession('outages;known', 4)
    const { sid, initial, update, termination } = known
    const uncached = dataSession('outages;stranger', 5)
    const unknown = creditControl('outages;nobody', 'initial', 0, {
      'Subscription-Id': { 'Subscription-Id-Type': 0, 'Subscription-Id-Data': '888001' },
      ...service({ asked: 5 }),
    })
    expect((await ask(initial(5))).named).toMatchObject(granted(5))
    await node.product.kill9('mongo')
    try {
      expect((await ask(update(1, { asked: 5, used: 5 }))).named).toMatchObject(granted(5))
      const more = dataSession('outages;known, again', 4)
      expect((await ask(more.initial(5))).named).toMatchObject(granted(5))
      expect(resultOf(await ask(more.termination(1, 5)))).toBe(2001)
      expectTooBusy(await ask(uncached.initial(5)), 'outages;stranger')
      expectTooBusy(await ask(unknown), 'outages;nobody')
    } finally {
      await node.product.start('mongo')
    }
    expect((await insist(uncached.initial(5))).named).toMatchObject(granted(5))
    expect(resultOf(await insist(unknown))).toBe(5030)
    expect(resultOf(await ask(termination(2, 5)))).toBe(2001)
    expect(resultOf(await ask(uncached.termination(1, 0)))).toBe(2001)
    expect(await node.moneyOf(sid)).toEqual(money(15, 0))
  })
})

describe('a node that is not ready', () => {
  it('still charges, as over HTTP: its connected peers cannot use another node', async () => {
    const { initial, termination } = dataSession('outages;ready', 6)
    const configure = (value: string) =>
      node.reader.ledger.redis.client.config('SET', 'maxmemory-policy', value)
    await chargeOnce(6)
    await configure('allkeys-lru')
    try {
      await waitUntil('not ready', async () => {
        return (await fetch(`${node.product.realtimeUrl}/health/ready`)).status === 503
      })
      expect((await ask(initial(1))).named).toMatchObject(granted(1))
    } finally {
      await configure('noeviction')
    }
    await node.product.ready('realtime')
    expect(resultOf(await ask(termination(1, 0)))).toBe(2001)
    expect(await node.moneyOf(dataSession('', 6).sid)).toEqual(money(0, 0))
  })
})

/** Restarts the node with other settings. */
async function restart(settings: Record<string, string>): Promise<void> {
  expect(await node.product.terminate('realtime')).toBe(0)
  Object.assign(environment, settings)
  await node.product.start('realtime')
  link = await connect()
}

/** Stops Redis meanwhile, so that no pending request is answered. */
async function whileRedisIsStopped(work: () => Promise<void>): Promise<void> {
  process.kill(node.product.pid('redis'), 'SIGSTOP')
  try {
    await work()
  } finally {
    process.kill(node.product.pid('redis'), 'SIGCONT')
  }
}

describe('more concurrent requests than a node admits', () => {
  it('are answered with 3004 immediately; admitted requests are answered', async () => {
    await restart({ ...PATIENT, TOLLGATE_REALTIME_IN_FLIGHT_MAX: '1' })
    const [first, second] = [8, 9].map((index) => dataSession(`outages;busy ${index}`, index))
    if (first === undefined || second === undefined) throw new Error('no sessions')
    for (const index of [8, 9]) await chargeOnce(index)
    let taken: Promise<Message> | undefined
    await whileRedisIsStopped(async () => {
      taken = ask(first.initial(5))
      expectTooBusy(await ask(second.initial(5)), 'outages;busy 9')
    })
    expect((await taken)?.named).toMatchObject(granted(5))
    expect((await insist(second.initial(5))).named).toMatchObject(granted(5))
    for (const one of [first, second]) {
      expect(resultOf(await insist(one.termination(1, 0)))).toBe(2001)
      expect(await node.moneyOf(one.sid)).toEqual(money(0, 0))
    }
    await restart({
      TOLLGATE_REALTIME_IN_FLIGHT_MAX: '4096',
      TOLLGATE_DIAMETER_ANSWER_TIMEOUT_MS: '300',
    })
  })
})

describe('a node that is stopped', () => {
  it('disconnects its peers, answers pending requests, and exits with 0', async () => {
    const indexes = Array.from({ length: 16 }, (_, index) => 16 + index)
    await Promise.all(indexes.map(chargeOnce))
    const sessions = indexes.map((index) => dataSession(`outages;late ${index}`, index))
    const connectSilent = () =>
      connectLink({ port: node.product.diameterPort, identity: GATEWAY, respond: () => null })
    const silent = await connectSilent()
    const idle = [await connect(), await connectSilent()]
    let answers: Promise<Message>[] = []
    let ended: Promise<number | null> | undefined
    await whileRedisIsStopped(async () => {
      answers = sessions.map((one, index) => ask(one.initial(5), index % 2 === 0 ? link : silent))
      // Each connection is processed in order: earlier requests are pending once this is answered.
      for (const one of [link, silent]) await one.ask(command.watchdog, GATEWAY)
      ended = node.product.terminate('realtime')
      for (const one of [link, silent, ...idle]) {
        const leave = await one.receives(command.disconnectPeer, 'request')
        expect(leave.named).toMatchObject({ 'Disconnect-Cause': 0 })
      }
      expectTooBusy(await ask(dataSession('outages;too late', 8).initial(5)), 'outages;too late')
      // Including the silent one: the timeouts of both have passed.
      const areGone = () => idle.every(({ isClosed }) => isClosed)
      await waitUntil('idle peers are disconnected', areGone)
      expect([link.isClosed, silent.isClosed]).toEqual([false, false])
    })
    for (const answer of await Promise.all(answers)) {
      expect(answer.named).toMatchObject(granted(5))
    }
    await waitUntil('the answering peer is disconnected', () => link.isClosed)
    await waitUntil('the silent peer is disconnected', () => silent.isClosed)
    expect(await ended).toBe(0)
    await node.product.start('realtime')
    link = await connect()
    for (const one of sessions) {
      expect(await node.moneyOf(one.sid)).toEqual(money(0, 5))
      expect(resultOf(await ask(one.termination(1, 5)))).toBe(2001)
      expect(await node.moneyOf(one.sid)).toEqual(money(5, 0))
    }
  })
})
