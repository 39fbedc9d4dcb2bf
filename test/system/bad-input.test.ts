/**
 * Errors of a request stay with that request: each is answered by name, moves nothing, and has no
 * effect on concurrent requests.
 */

import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fenceField, stateField } from '../../src/ledger/keys.ts'
import { aidOf, FIRST_SID, populate } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import {
  type Fields,
  type LedgerReader,
  openLedgerReader,
  post,
  postPart,
  type Reply,
  subscriber,
  withCatalog,
} from '../support/system/exchange.ts'
import { waitUntil } from '../support/wait.ts'

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
let reader: LedgerReader

beforeAll(async () => {
  const environment = {
    TOLLGATE_REALTIME_IN_FLIGHT_MAX: String(IN_FLIGHT_MAX),
    // Starts may use all slots.
    TOLLGATE_REALTIME_NEW_SESSIONS_PERCENT: '100',
    // Requests that wait for a stopped Redis must not time out meanwhile.
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
  reader = await openLedgerReader(product.redisUrl)
})
afterAll(async () => {
  await reader?.close()
  await product?.stop()
})

const send = (body: Fields | string | Buffer, headers: Record<string, string> = {}) =>
  post(product.realtimePort, body, headers)

let sessions = 0

/** A valid start of a new session. */
function start(sid: number, more: Fields = {}): Fields {
  sessions += 1
  const session = { session_id: `session-${sessions}`, request_num: 0, sid }
  return { record_type: 'start_request', ...session, usaget: 'data', usagev: MIB, ...more }
}

const ownerOf = (index: number) => reader.ownerOf(aidOf(index, PER_ACCOUNT), FIRST_SID + index)

/** The state of every subscriber of this file. */
async function allOwners(): Promise<unknown[]> {
  const owners = Array.from({ length: SUBSCRIBERS }, (_, index) => ownerOf(index))
  const others = [NO_PLAN, NO_CREDIT, BARRED].map(({ aid, sid }) => reader.ownerOf(aid, sid))
  const states = await Promise.all([...owners, ...others])
  return states.map(({ sid, buckets, owed, repaid }) => ({ sid, buckets, owed, repaid }))
}

const outcomes = (replies: readonly Reply[]) =>
  replies.map(({ status, returnCode }) => `${status} ${returnCode}`)
const granted = (count: number) => Array.from({ length: count }, () => '200 1')

type Row = readonly [
  what: string,
  body: Fields | string | Buffer,
  status: number,
  returnCode: number,
  /** Expected part of `desc`. */
  names: string,
  headers?: Record<string, string>,
]

const data = (usagev: unknown) => start(SID, { usagev })
const later = (kind: 'update' | 'release', session_id: string, request_num: number) => ({
  record_type: `${kind}_request`,
  session_id,
  request_num,
  usaget: 'data',
  ...(kind === 'update' ? { usagev: MIB } : { used_usagev: MIB }),
})
const NOT_WHOLE = 'must be a whole number from 0 to 2^53 - 1'
const TEXT = { 'content-type': 'text/plain' }

const UNKNOWN_TYPE = start(SID, { record_type: 'stop_request' })
const REUSED = { ...later('update', 'open', 5), usagev: 2 * MIB }

const malformed: Row[] = [
  ['not JSON', '{"record_type":', 400, -20, 'body is not JSON'],
  ['empty', '', 400, -20, 'body is empty'],
  ['a list', '[1]', 400, -20, 'body is not a JSON object'],
  ['not UTF-8', Buffer.of(0x22, 0xff), 400, -20, 'body is not UTF-8'],
  ['over the limit', ' '.repeat(BODY_MAX + 1), 413, -20, 'body must have at most 65536 bytes'],
  ['not said to be JSON', start(SID), 415, -20, 'content-type must be application/json', TEXT],
  ['an unknown record type', UNKNOWN_TYPE, 400, -20, 'record_type must be start_request, upd'],
  ['no volume', data(undefined), 400, -20, 'usagev is required'],
  ['a word for a volume', data('much'), 400, -20, `usagev ${NOT_WHOLE}`],
  ['volume -1', data(-1), 400, -20, `usagev ${NOT_WHOLE}`],
  ['volume 1.5', data(1.5), 400, -20, `usagev ${NOT_WHOLE}`],
  ['volume 2^53', data(2 ** 53), 400, -20, `usagev ${NOT_WHOLE}`],
  ['volume 1e300', data(1e300), 400, -20, `usagev ${NOT_WHOLE}`],
  ['no session id', start(SID, { session_id: null }), 400, -20, 'session_id is required'],
  ['no subscriber', start(SID, { sid: null }), 400, -20, 'sid is required'],
]

const denied: Row[] = [
  ['an unknown sid', start(77), 200, -2, 'Subscriber not found'],
  ['an unknown msisdn', start(0, { sid: null, msisdn: '0' }), 200, -2, 'Subscriber not found'],
  ['no plan', start(NO_PLAN.sid), 200, -2, 'plan NO_SUCH_PLAN is not in the catalogue'],
  ['no rate', start(SID, { usaget: 'fax' }), 200, -3, 'No rate'],
  ['no credit', start(NO_CREDIT.sid), 200, -1, 'No available balances'],
  ['barred', start(BARRED.sid), 200, -11, 'Subscriber is barred'],
  ['update of an unknown session', later('update', 'nobody', 1), 200, -7, 'Unknown session'],
  ['release of an unknown session', later('release', 'nobody', 1), 200, -7, 'Unknown session'],
  ['update of a closed session', later('update', 'closed', 2), 200, -8, 'Session is closed'],
  ['release of a closed session', later('release', 'closed', 3), 200, -8, 'Session is closed'],
  ['a number again with other content', REUSED, 200, -10, 'Request number reused'],
  ['a number older than the last', later('update', 'open', 4), 200, -9, 'request_num 5 was'],
]

describe('a refused request', () => {
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

  for (const [what, body, status, returnCode, names, headers] of [...malformed, ...denied]) {
    it(`${what}: ${status}, ${returnCode}, ${names}; nothing moves`, async () => {
      const before = await allOwners()
      const reply = await send(body, headers)
      expect(reply).toMatchObject({ status, returnCode })
      expect(reply.desc).toContain(names)
      expect(JSON.parse(reply.text).status).toBe(0)
      expect(await allOwners()).toEqual(before)
    })
  }

  it('a repeated request number with the same content: the same bytes; nothing moves', async () => {
    const before = await ownerOf(0)
    const reply = await send(open(5))
    expect(reply).toMatchObject({ status: 200, returnCode: 1, text: answered.get(5) })
    expect(await ownerOf(0)).toEqual(before)
  })

  it('the session of the refused requests continues', async () => {
    expect(await send(later('update', 'open', 6))).toMatchObject({ status: 200, returnCode: 1 })
    expect(await send(later('release', 'open', 7))).toMatchObject({ status: 200, returnCode: 1 })
    // The releases of `closed` and of this session.
    const spent = 2 * MIB_PRICE
    expect((await ownerOf(0)).buckets).toMatchObject([{ spent, reserved: 0, free: MONEY - spent }])
  })
})

const admittedSids = () => Array.from({ length: IN_FLIGHT_MAX }, (_, index) => FIRST_SID + index)

type Damage = (key: string, sid: number) => Promise<unknown>

const redisClient = () => reader.ledger.redis.client
const setField =
  (field: (sid: number) => string, value: string): Damage =>
  (key, sid) =>
    redisClient().hset(key, field(sid), value)

describe('a bad request among valid ones', () => {
  it('has no effect on them', async () => {
    // Including the four denied ones, exactly as many as are admitted; malformed ones take no slot.
    const valid = admittedSids().slice(4)
    const states = () => Promise.all(valid.map((sid) => ownerOf(sid - FIRST_SID)))
    const before = await states()
    const replies = await Promise.all([
      ...valid.slice(0, 10).map((sid) => send(start(sid))),
      ...malformed.map(([, body, , , , headers]) => send(body, headers)),
      send(start(77)),
      send(start(NO_PLAN.sid)),
      send(start(SID, { usaget: 'fax' })),
      send(start(NO_CREDIT.sid)),
      ...valid.slice(10).map((sid) => send(start(sid))),
    ])
    expect(outcomes(replies)).toEqual([
      ...granted(10),
      ...malformed.map(([, , status, returnCode]) => `${status} ${returnCode}`),
      '200 -2',
      '200 -2',
      '200 -3',
      '200 -1',
      ...granted(valid.length - 10),
    ])
    const after = await states()
    expect(after.map(({ buckets }) => buckets[0]?.reserved)).toEqual(
      before.map(({ buckets }) => (buckets[0]?.reserved ?? 0) + MIB_PRICE),
    )
  })

  const damages: { what: string; sid?: 0; isWhole?: true; isNew?: true; damage: Damage }[] = [
    { what: 'garbage for a state that a worker knows', damage: setField(stateField, 'garbage') },
    {
      what: 'garbage for a state that no worker has seen',
      isNew: true,
      damage: setField(stateField, 'garbage'),
    },
    { what: 'an empty state', damage: setField(stateField, '') },
    {
      what: 'half a state',
      isNew: true,
      damage: async (key, sid) => {
        const whole = await redisClient().hgetBuffer(key, stateField(sid))
        await redisClient().hset(key, stateField(sid), whole?.subarray(0, whole.length / 2) ?? '')
      },
    },
    { what: 'garbage for a fence', damage: setField(fenceField, 'garbage') },
    {
      what: 'a text in the place of the hash',
      isWhole: true,
      damage: (key) => redisClient().set(key, 'text'),
    },
    { what: 'a shared state of garbage', sid: 0, damage: setField(stateField, 'garbage') },
  ]

  it.each(damages.map((row, index) => ({ ...row, index })))(
    'that meets $what fails alone',
    async ({ sid: damagedSid, isWhole = damagedSid === 0, isNew, damage, index }) => {
      // Each has a neighbour in its account, which is charged too unless the damaged state is
      // shared.
      const first = FIRST_SID + IN_FLIGHT_MAX + 2 * index
      const [sid, neighbour] = [first, first + 1]
      const key = reader.ledger.keys.account(aidOf(sid - FIRST_SID, PER_ACCOUNT))
      if (!isNew) expect(await send(start(sid))).toMatchObject({ returnCode: 1 })
      const whole = await redisClient().dumpBuffer(key)
      await damage(key, damagedSid ?? sid)
      const damaged = await storedOf(key, damagedSid ?? sid)
      const valid = admittedSids().slice(0, 16)
      const sids = [neighbour, ...valid.slice(0, 8), sid, ...valid.slice(8)]
      try {
        const replies = await Promise.all(sids.map((one) => send(start(one))))
        const refused = isWhole ? [sid, neighbour] : [sid]
        const expected = sids.map((one) => (refused.includes(one) ? '503 -91' : '200 1'))
        expect(outcomes(replies)).toEqual(expected)
        const reply = replies[sids.indexOf(sid)]
        expect(reply?.desc).toContain('Stored account is damaged')
        expect(reply?.headers['retry-after']).toBe('1')
        // The damaged state is kept unchanged.
        expect(await storedOf(key, damagedSid ?? sid)).toEqual(damaged)
      } finally {
        await redisClient().del(key)
        if (whole !== null) await redisClient().restore(key, 0, whole, 'REPLACE')
      }
      expect(await send(start(sid))).toMatchObject({ status: 200, returnCode: 1 })
    },
  )
})

/** State and fence of an owner, or the text in the place of the hash. */
async function storedOf(key: string, sid: number): Promise<unknown> {
  const client = redisClient()
  if ((await client.type(key)) === 'string') return client.get(key)
  return client.hmgetBuffer(key, stateField(sid), fenceField(sid))
}

/** Sends as many concurrent requests as are admitted. */
const sendAdmitted = () => Promise.all(admittedSids().map((sid) => send(start(sid))))

async function whileRedisIsStopped<T>(work: () => Promise<T>): Promise<T> {
  process.kill(product.pid('redis'), 'SIGSTOP')
  try {
    return await work()
  } finally {
    process.kill(product.pid('redis'), 'SIGCONT')
  }
}

describe('closed connections', () => {
  it('in the middle of a body leave nothing behind', async () => {
    const before = await allOwners()
    const whole = JSON.stringify(start(SID))
    const half = whole.slice(0, whole.length / 2)
    const open = await Promise.all(
      admittedSids().map(() => postPart(product.realtimePort, half, whole.length)),
    )
    for (const socket of open) socket.destroy()
    expect(await allOwners()).toEqual(before)
    expect(outcomes(await sendAdmitted())).toEqual(granted(IN_FLIGHT_MAX))
  })

  it('before the answer release their slots when the outcome is known', async () => {
    await whileRedisIsStopped(async () => {
      const open = await Promise.all(
        admittedSids().map((sid) => {
          const body = JSON.stringify(start(sid))
          return postPart(product.realtimePort, body, body.length)
        }),
      )
      // Refused because all slots are taken.
      await waitUntil('all slots are taken', async () => {
        const probe = send(start(SID))
        probe.catch(() => undefined)
        const reply = await Promise.race([probe, pause(500, null, { ref: false })])
        return reply?.returnCode === -90
      })
      for (const socket of open) socket.destroy()
    })
    await waitUntil('all slots are free', async () => {
      return outcomes(await sendAdmitted()).every((outcome) => outcome === '200 1')
    })
  })
})

describe('more requests than are admitted', () => {
  it('are refused immediately, while the admitted ones wait and are granted', async () => {
    const EXCESS = 12
    const sids = Array.from({ length: IN_FLIGHT_MAX + EXCESS }, (_, index) => FIRST_SID + index)
    const requests = sids.map((sid) => start(sid))
    const replies: (Reply | null)[] = requests.map(() => null)
    const answered = () => replies.filter((reply) => reply !== null)
    const under = await whileRedisIsStopped(async () => {
      const sent = requests.map(async (body, index) => {
        replies[index] = await send(body)
      })
      await waitUntil('the excess is answered', () => answered().length >= EXCESS)
      // Even now a malformed request is reported as such.
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
    // The refused requests have left no trace: repeated, they are granted.
    const again = requests.filter((_, index) => refused[index])
    const repeated = await Promise.all(again.map((body) => send(body)))
    expect(outcomes(repeated)).toEqual(granted(EXCESS))
  })
})
