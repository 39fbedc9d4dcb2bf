/**
 * What goes wrong in a request stays with that request: each is answered by name, moves nothing,
 * and costs those around it nothing.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aidOf, FIRST_SID, populate } from '../../bench/population.ts'
import { type Product, startProduct } from '../../bench/product.ts'
import { waitUntil } from '../support/wait.ts'
import {
  type Books,
  type Fields,
  openBooks,
  post,
  postPart,
  type Reply,
  subscriber,
  withCatalog,
} from './exchange.ts'

const MIB = 1024 * 1024
const MIB_PRICE = 10_000
const MONEY = 100_000_000
const IN_FLIGHT_MAX = 24
const PER_ACCOUNT = 2
const SUBSCRIBERS = 40
const BODY_MAX = 65_536

const SID = FIRST_SID
const NO_PLAN = { sid: 900_001, aid: 9_001 }
const NO_CREDIT = { sid: 900_002, aid: 9_002 }
const BARRED = { sid: 1_004, aid: 1 }

let product: Product
let books: Books

beforeAll(async () => {
  const environment = {
    TOLLGATE_REALTIME_IN_FLIGHT_MAX: String(IN_FLIGHT_MAX),
    // What waits for a Redis that is stopped shall not be given up meanwhile.
    TOLLGATE_REDIS_COMMAND_TIMEOUT_MS: '30000',
    TOLLGATE_REALTIME_REQUEST_TIMEOUT_MS: '40000',
  }
  product = await startProduct({ environment })
  const credits = [{ prepaidIncludeId: 1, amount: MONEY }]
  const population = { subscribers: SUBSCRIBERS, subscribersPerAccount: PER_ACCOUNT, credits }
  await populate({ ...product, ...population })
  await withCatalog(product, async (catalog) => {
    const documents = [
      subscriber(NO_PLAN.sid, NO_PLAN.aid, { plan: 'NO_SUCH_PLAN', rev: 0 }),
      subscriber(NO_CREDIT.sid, NO_CREDIT.aid, { rev: 0 }),
    ]
    await catalog.subscribers.insertMany(documents as never[])
  })
  await product.start('realtime')
  books = await openBooks(product.redisUrl)
})
afterAll(async () => {
  await books?.close()
  await product?.stop()
})

const send = (body: Fields | string | Buffer, headers: Record<string, string> = {}) =>
  post(product.realtimePort, body, headers)

let sessions = 0

/** A good opening of a session of its own. */
function start(sid: number, more: Fields = {}): Fields {
  sessions += 1
  const session = { session_id: `session-${sessions}`, request_num: 0, sid }
  return { record_type: 'start_request', ...session, usaget: 'data', usagev: MIB, ...more }
}

const ownerOf = (index: number) => books.ownerOf(aidOf(index, PER_ACCOUNT), FIRST_SID + index)

/** What every subscriber of this file has. */
async function allBooks(): Promise<unknown[]> {
  const owners = Array.from({ length: SUBSCRIBERS }, (_, index) => ownerOf(index))
  const others = [NO_PLAN, NO_CREDIT, BARRED].map(({ aid, sid }) => books.ownerOf(aid, sid))
  const states = await Promise.all([...owners, ...others])
  return states.map(({ sid, buckets, owed, repaid }) => ({ sid, buckets, owed, repaid }))
}

const outcomes = (replies: readonly Reply[]) =>
  replies.map(({ status, returnCode }) => `${status} ${returnCode}`)
const granted = (count: number) => Array.from({ length: count }, () => '200 1')

interface Row {
  what: string
  body: Fields | string | Buffer
  headers?: Record<string, string>
  /** HTTP status and return code. */
  gives: readonly [status: number, returnCode: number]
  /** What `desc` names. */
  names: string
}

const data = (usagev: unknown) => start(SID, { usagev })
const later = (kind: 'update' | 'release', session_id: string, request_num: number) => ({
  ...{ record_type: `${kind}_request`, session_id, request_num, usaget: 'data' },
  ...(kind === 'update' ? { usagev: MIB } : { used_usagev: MIB }),
})
const NOT_WHOLE = 'must be a whole number from 0 to 2^53 - 1'
const TEXT = { 'content-type': 'text/plain' }

const malformed: Row[] = [
  { what: 'not JSON', body: '{"record_type":', gives: [400, -20], names: 'body is not JSON' },
  { what: 'empty', body: '', gives: [400, -20], names: 'body is empty' },
  { what: 'a list', body: '[1]', gives: [400, -20], names: 'body is not a JSON object' },
  { what: 'not UTF-8', body: Buffer.of(0x22, 0xff), gives: [400, -20], names: 'not UTF-8' },
  { what: 'too long', body: ' '.repeat(BODY_MAX + 1), gives: [413, -20], names: '65536 bytes' },
  { what: 'text', body: start(SID), headers: TEXT, gives: [415, -20], names: 'content-type must' },
  {
    what: 'an unknown record type',
    body: start(SID, { record_type: 'stop_request' }),
    gives: [400, -20],
    names: 'record_type must be start_request, update_request',
  },
  { what: 'no volume', body: data(undefined), gives: [400, -20], names: 'usagev is required' },
  { what: 'volume a word', body: data('much'), gives: [400, -20], names: `usagev ${NOT_WHOLE}` },
  { what: 'volume -1', body: data(-1), gives: [400, -20], names: `usagev ${NOT_WHOLE}` },
  { what: 'volume 1.5', body: data(1.5), gives: [400, -20], names: `usagev ${NOT_WHOLE}` },
  { what: 'volume 2^53', body: data(2 ** 53), gives: [400, -20], names: `usagev ${NOT_WHOLE}` },
  { what: 'volume 1e300', body: data(1e300), gives: [400, -20], names: `usagev ${NOT_WHOLE}` },
  {
    what: 'no session id',
    body: start(SID, { session_id: undefined }),
    gives: [400, -20],
    names: 'session_id is required',
  },
  {
    what: 'no subscriber',
    body: start(SID, { sid: undefined }),
    gives: [400, -20],
    names: 'sid is required',
  },
]

const denied: Row[] = [
  { what: 'unknown sid', body: start(77), gives: [200, -2], names: 'Subscriber not found' },
  {
    what: 'an unknown msisdn',
    body: start(0, { sid: undefined, msisdn: '0' }),
    gives: [200, -2],
    names: 'Subscriber not found',
  },
  { what: 'no plan', body: start(NO_PLAN.sid), gives: [200, -2], names: 'not found' },
  { what: 'no rate', body: start(SID, { usaget: 'fax' }), gives: [200, -3], names: 'No rate' },
  {
    what: 'no credit',
    body: start(NO_CREDIT.sid),
    gives: [200, -1],
    names: 'No available balances',
  },
  { what: 'barred', body: start(BARRED.sid), gives: [200, -11], names: 'Subscriber is barred' },
  {
    what: 'update of an unknown session',
    body: later('update', 'nobody', 1),
    gives: [200, -7],
    names: 'Unknown session',
  },
  {
    what: 'release of an unknown session',
    body: later('release', 'nobody', 1),
    gives: [200, -7],
    names: 'Unknown session',
  },
  {
    what: 'update of a closed session',
    body: later('update', 'closed', 2),
    gives: [200, -8],
    names: 'Session is closed',
  },
  {
    what: 'release of a closed session',
    body: later('release', 'closed', 3),
    gives: [200, -8],
    names: 'Session is closed',
  },
  {
    what: 'a request number again with other content',
    body: { ...later('update', 'open', 5), usagev: 2 * MIB },
    gives: [200, -10],
    names: 'Request number reused',
  },
  {
    what: 'a request number older than the last',
    body: later('update', 'open', 4),
    gives: [200, -9],
    names: 'request_num 5 was answered',
  },
]

describe('a request that is refused', () => {
  const answered = new Map<number, string>()
  const open = (number: number) => {
    const first = start(SID, { session_id: 'open', request_num: number })
    return number === 0 ? first : later('update', 'open', number)
  }

  beforeAll(async () => {
    for (const number of [0, 5]) answered.set(number, (await send(open(number))).text)
    await send(start(SID, { session_id: 'closed' }))
    expect(await send(later('release', 'closed', 1))).toMatchObject({ returnCode: 1 })
  })

  for (const { what, body, headers, gives, names } of [...malformed, ...denied]) {
    it(`${what}: ${gives.join(' ')}, ${names}; nothing moves`, async () => {
      const before = await allBooks()
      const reply = await send(body, headers)
      expect([reply.status, reply.returnCode]).toEqual(gives)
      expect(reply.desc).toContain(names)
      expect(JSON.parse(reply.text).status).toBe(0)
      expect(await allBooks()).toEqual(before)
    })
  }

  it('a request number again with the same content: the same bytes; nothing moves', async () => {
    const before = await ownerOf(0)
    const reply = await send(open(5))
    expect(reply).toMatchObject({ status: 200, returnCode: 1, text: answered.get(5) })
    expect(await ownerOf(0)).toEqual(before)
  })

  it('the session that was asked for wrongly goes on', async () => {
    expect(await send(later('update', 'open', 6))).toMatchObject({ status: 200, returnCode: 1 })
    expect(await send(later('release', 'open', 7))).toMatchObject({ status: 200, returnCode: 1 })
    // The release of `closed`, and this one.
    const spent = 2 * MIB_PRICE
    expect((await ownerOf(0)).buckets).toMatchObject([{ spent, reserved: 0, free: MONEY - spent }])
  })
})

const everybody = () => Array.from({ length: IN_FLIGHT_MAX }, (_, index) => FIRST_SID + index)

describe('a bad request among good ones', () => {
  it('costs them nothing', async () => {
    // With the four that are denied as many as are admitted; the malformed ones take no slot.
    const good = everybody().slice(4)
    const states = () => Promise.all(good.map((sid) => ownerOf(sid - FIRST_SID)))
    const before = await states()
    const replies = await Promise.all([
      ...good.slice(0, 10).map((sid) => send(start(sid))),
      ...malformed.map(({ body, headers }) => send(body, headers)),
      send(start(77)),
      send(start(NO_PLAN.sid)),
      send(start(SID, { usaget: 'fax' })),
      send(start(NO_CREDIT.sid)),
      ...good.slice(10).map((sid) => send(start(sid))),
    ])
    expect(outcomes(replies)).toEqual([
      ...granted(10),
      ...malformed.map(({ gives }) => gives.join(' ')),
      ...['200 -2', '200 -2', '200 -3', '200 -1'],
      ...granted(good.length - 10),
    ])
    const after = await states()
    expect(after.map(({ buckets }) => buckets[0]?.reserved)).toEqual(
      before.map(({ buckets }) => (buckets[0]?.reserved ?? 0) + MIB_PRICE),
    )
  })

  it.each([
    // Each has a neighbour in its account that is among the good ones.
    { which: 'one that a worker knows', index: 4, isKnown: true },
    { which: 'one that no worker has seen', index: SUBSCRIBERS - 1, isKnown: false },
  ])('with a damaged owner fails alone: $which', async ({ index, isKnown }) => {
    const sid = FIRST_SID + index
    const { keys, redis } = books.ledger
    const key = keys.owner(aidOf(index, PER_ACCOUNT), sid)
    const neighbour = index % 2 === 0 ? sid + 1 : sid - 1
    const good = [neighbour, ...everybody().slice(6, 22)]
    if (isKnown) expect(await send(start(sid))).toMatchObject({ returnCode: 1 })
    const whole = (await redis.client.hgetBuffer(key, 's')) as Buffer
    await redis.client.hset(key, 's', 'garbage')
    const sids = [...good.slice(0, 8), sid, ...good.slice(8)]
    const replies = await Promise.all(sids.map((one) => send(start(one))))
    const expected = sids.map((one) => (one === sid ? '503 -91' : '200 1'))
    expect(outcomes(replies)).toEqual(expected)
    const refused = replies[sids.indexOf(sid)]
    expect(refused?.desc).toContain('Stored account is damaged')
    expect(refused?.headers['retry-after']).toBe('1')
    expect(await redis.client.hget(key, 's')).toBe('garbage')
    await redis.client.hset(key, 's', whole)
    expect(await send(start(sid))).toMatchObject({ status: 200, returnCode: 1 })
  })
})

/** Sends as many requests at once as are admitted. */
const fullHouse = () => Promise.all(everybody().map((sid) => send(start(sid))))

async function whileRedisStands<T>(work: () => Promise<T>): Promise<T> {
  process.kill(product.pid('redis'), 'SIGSTOP')
  try {
    return await work()
  } finally {
    process.kill(product.pid('redis'), 'SIGCONT')
  }
}

describe('connections that are cut', () => {
  it('in the middle of a body leave nothing behind', async () => {
    const before = await allBooks()
    const whole = JSON.stringify(start(SID))
    const half = whole.slice(0, whole.length / 2)
    const open = await Promise.all(
      everybody().map(() => postPart(product.realtimePort, half, whole.length)),
    )
    for (const socket of open) socket.destroy()
    expect(await allBooks()).toEqual(before)
    expect(outcomes(await fullHouse())).toEqual(granted(IN_FLIGHT_MAX))
  })

  it('before the answer give their slots back when the outcome is there', async () => {
    await whileRedisStands(async () => {
      const open = await Promise.all(
        everybody().map((sid) => {
          const body = JSON.stringify(start(sid))
          return postPart(product.realtimePort, body, body.length)
        }),
      )
      // Refused: all the slots are taken.
      await waitUntil('a full house', async () => {
        const probe = send(start(SID))
        probe.catch(() => undefined)
        const reply = await Promise.race([probe, pause(500, null, { ref: false })])
        return reply?.returnCode === -90
      })
      for (const socket of open) socket.destroy()
    })
    await waitUntil('all the slots', async () => {
      return outcomes(await fullHouse()).every((outcome) => outcome === '200 1')
    })
  })
})

describe('more requests than are admitted', () => {
  it('are refused at once, while those that are admitted wait and are granted', async () => {
    const EXCESS = 12
    const sids = Array.from({ length: IN_FLIGHT_MAX + EXCESS }, (_, index) => FIRST_SID + index)
    const requests = sids.map((sid) => start(sid))
    const replies: (Reply | null)[] = requests.map(() => null)
    const answered = () => replies.filter((reply) => reply !== null)
    const under = await whileRedisStands(async () => {
      const sent = requests.map(async (body, index) => {
        replies[index] = await send(body)
      })
      await waitUntil('the excess is answered', () => answered().length >= EXCESS)
      // Also now a request that makes no sense is told so.
      expect(await send('{')).toMatchObject({ status: 400, returnCode: -20 })
      const early = answered()
      expect(outcomes(early)).toEqual(Array.from({ length: EXCESS }, () => '503 -90'))
      expect(early.map(({ headers }) => headers['retry-after'])).toEqual(early.map(() => '1'))
      return sent
    })
    const refused = replies.map((reply) => reply !== null)
    await Promise.all(under)
    const admitted = answered().filter((_, index) => refused[index] === false)
    expect(outcomes(admitted)).toEqual(granted(IN_FLIGHT_MAX))
    // The refused ones have left no trace: repeated they are as good as new.
    const again = requests.filter((_, index) => refused[index])
    const repeated = await Promise.all(again.map((body) => send(body)))
    expect(outcomes(repeated)).toEqual(granted(EXCESS))
  })
})
