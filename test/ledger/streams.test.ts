import { describe, expect, it } from 'vitest'
import { LedgerLostError } from '../../src/ledger/epochs.ts'
import { stateField } from '../../src/ledger/keys.ts'
import { openSessions, openStreamReader, streamBacklog } from '../../src/ledger/streams.ts'
import { StoreDownError } from '../../src/store/redis.ts'
import { bucketOf, ownerOf, writing } from '../support/ledger/fixture.ts'
import { READ_BYTES } from '../support/ledger.ts'
import { waitUntil } from '../support/wait.ts'
import { useNode } from '../support/workers/nodes.ts'
import {
  MONEY,
  openProcessorFixture,
  request,
  SHARED_DATA,
  service,
} from '../support/workers/processor-fixture.ts'

const { redis, scene } = useNode()

it('the reader returns lines, operations and states, each in its newest version', async () => {
  const reader = await openStreamReader(scene().ledger, 'one')
  await scene().credit(1, MONEY, 1_000_000, 'first')
  await scene().credit(1, SHARED_DATA, 500_000)
  await scene().charge(request('start', 1, 0, [service(1_000_000)]))
  const seen: unknown[] = []
  const stamps = new Set<string>()
  const read = async () => {
    const { entries, unreadable } = await reader.read(READ_BYTES, 1)
    expect(unreadable).toEqual([])
    const line = entries.flatMap((entry) => entry.lines).at(-1)
    if (line !== undefined) stamps.add(line.stamp)
    const versions = entries.flatMap((entry) => entry.owners.map((one) => [one.sid, one.version]))
    seen.push([line?.version, line?.counts.used, line?.state, Object.fromEntries(versions)])
    return { entries, line }
  }
  const { entries } = await read()
  expect(entries.flatMap((entry) => entry.operations)).toMatchObject([
    { operationId: 'first', amount: 1_000_000 },
    { amount: 500_000 },
  ])
  for (const number of [1, 2]) {
    await scene().charge(request('update', 1, number, [service(1_000_000, 400_000)]))
    await read()
  }
  await scene().charge(request('update', 1, 3, [service(1_000_000, 10)]))
  await scene().charge(request('release', 1, 4, [service(-1, 99_990)]))
  const { line } = await read()
  expect(stamps.size).toBe(1)
  expect(seen).toEqual([
    [undefined, undefined, undefined, { 0: 2, 1: 2 }],
    [1, 400_000, 'open', { 0: 3, 1: 3 }],
    [2, 800_000, 'open', { 0: 4, 1: 4 }],
    [4, 900_000, 'closed', { 1: 6 }],
  ])
  // The newest line alone shows all funding sources.
  expect(line?.counts.payments).toMatchObject([
    { owner: 1, kind: 'units', amount: 500_000 },
    { owner: 0, kind: 'money', amount: 10_000 },
  ])
})

it('unacknowledged entries remain, and another reader can take them over', async () => {
  const first = await openStreamReader(scene().ledger, 'first')
  for (const sid of [1, 101, 201]) await scene().credit(sid, MONEY, 100)
  expect((await first.read(READ_BYTES, 1)).entries).toHaveLength(3)
  expect((await first.read(READ_BYTES, 1)).entries).toEqual([])
  const second = await openStreamReader(scene().ledger, 'second')
  expect((await second.read(READ_BYTES, 1)).entries).toEqual([])
  expect((await second.readPending(READ_BYTES, 60_000)).entries).toEqual([])
  const { entries } = await second.readPending(READ_BYTES, 0)
  expect(entries).toHaveLength(3)
  expect(await streamBacklog(scene().ledger)).toBe(3)
  await second.acknowledge(entries.slice(1))
  expect(await streamBacklog(scene().ledger)).toBe(1)
  expect((await first.readPending(READ_BYTES, 0)).entries).toMatchObject([{ id: entries[0]?.id }])
  // An entry deleted before it was acknowledged cannot be taken over.
  const [left] = entries
  await scene().redis.client.xdel(scene().ledger.keys.stream(left?.partition ?? 0), left?.id ?? '')
  expect((await first.readPending(READ_BYTES, 0)).entries).toEqual([])
})

it('unreadable entries are reported, and the rest is returned', async () => {
  const reader = await openStreamReader(scene().ledger, 'one')
  const stream = scene().ledger.keys.stream(1)
  await scene().credit(1, MONEY, 100)
  await scene().credit(2, MONEY, 100)
  await scene().redis.client.hset(scene().ledger.keys.account(1), stateField(2), 'damage')
  const { client } = scene().redis
  const damaged = [
    await client.xadd(stream, '*', 'r', 'damage'),
    await client.xadd(stream, '*', 'what', 'is this'),
    await client.xadd(stream, '*', '1:2', ''),
    // A number alone is a packed value too, but not a record.
    await client.xadd(stream, '*', 'r', Buffer.from([7])),
  ]
  await scene().credit(1, MONEY, 100)
  const { entries, unreadable } = await reader.read(READ_BYTES, 1)
  expect(entries).toHaveLength(2)
  // Also the credit of the owner that was damaged afterwards.
  expect(unreadable.map(({ id }) => id)).toEqual(expect.arrayContaining(damaged))
  expect(unreadable).toHaveLength(damaged.length + 1)
  expect(unreadable.every(({ reason, partition }) => reason !== '' && partition === 1)).toBe(true)
})

it('waiting entries and open sessions are counted', async () => {
  await openStreamReader(scene().ledger, 'one')
  for (const sid of [1, 2, 101]) {
    await scene().credit(sid, MONEY, 1_000_000)
    await scene().charge(request('start', sid, 0, [service(1_000_000)]))
  }
  expect(await streamBacklog(scene().ledger)).toBe(6)
  expect(await openSessions(scene().ledger)).toBe(3)
  await scene().charge(request('release', 2, 1, []))
  expect(await openSessions(scene().ledger)).toBe(2)
})

it('one owner may have more sessions in a commit than one script can pass on', async () => {
  const MANY = 8_100
  const reader = await openStreamReader(scene().ledger, 'one')
  await scene().ledger.commit([writing(ownerOf(1, 1, [bucketOf(0)]))], 0)
  const starts = Array.from({ length: MANY }, (_, index) =>
    request('start', 1, 0, [service(10, 0, { usaget: 'free' })], { sessionId: `s${index}` }),
  )
  const outcomes = await scene().charge(...starts)
  expect(new Set(outcomes.map(({ reason }) => reason))).toEqual(new Set(['granted']))
  const { entries } = await reader.read(READ_BYTES, 1)
  expect(entries.length).toBeGreaterThan(MANY / 500)
  expect(await openSessions(scene().ledger)).toBe(MANY)
})

it('the reader returns no more than the requested bytes, the rest without waiting', async () => {
  const reader = await openStreamReader(scene().ledger, 'one')
  const sids = Array.from({ length: 300 }, (_, index) => index + 1)
  const commits = sids.map((sid) => writing(ownerOf(sid, 1, [], sid)))
  await scene().ledger.commit([...commits], 0)
  const read = async () => {
    const { entries } = await reader.read(1, 60_000)
    return entries.flatMap(({ owners }) => owners.map(({ sid }) => sid))
  }
  // Entries are read whole.
  const whole = 4096 / 32
  const found: number[] = []
  while (found.length < sids.length) {
    const sidsOfOne = await read()
    expect(sidsOfOne.length).toBeGreaterThan(0)
    expect(sidsOfOne.length).toBeLessThanOrEqual(whole)
    found.push(...sidsOfOne)
  }
  expect(found.sort((one, two) => one - two)).toEqual(sids)
})

it('the accounts of an entry are returned although another of them is damaged', async () => {
  const reader = await openStreamReader(scene().ledger, 'one')
  const stream = scene().ledger.keys.stream(0)
  for (const sid of [1, 2]) await scene().ledger.commit([writing(ownerOf(sid, 1, [], sid))], 0)
  await scene().redis.client.hset(scene().ledger.keys.account(2), stateField(2), 'damage')
  await reader.acknowledge((await reader.read(READ_BYTES, 1)).entries)
  const fields = ['1:1', '', 'r', 'damage', '2:2', '', '1:1', '']
  const id = await scene().redis.client.xadd(stream, '*', ...fields)
  const { entries, unreadable } = await reader.read(READ_BYTES, 1)
  expect(unreadable.map((one) => one.id)).toEqual([id, id])
  expect(entries.map((one) => one.owners.map(({ sid }) => sid))).toEqual([[1], [1]])
})

it('entries deleted in an older Redis are skipped, and failed removal is reported', async () => {
  const reader = await openStreamReader(scene().ledger, 'one')
  await scene().credit(1, MONEY, 100)
  const { entries } = await reader.read(READ_BYTES, 1)
  const { client } = scene().redis
  const call = client.callBuffer.bind(client)
  // Redis 6.2 replies with null in place of a deleted entry; the Redis here is a later one.
  client.callBuffer = (async (...args: Parameters<typeof call>) => {
    const reply = (await call(...args)) as unknown[]
    if (args[0] === 'XAUTOCLAIM') (reply[1] as unknown[]).unshift(null)
    return reply
  }) as typeof client.callBuffer
  try {
    const { entries: again } = await reader.readPending(READ_BYTES, 0)
    expect(again.map(({ id }) => id)).toEqual(entries.map(({ id }) => id))
  } finally {
    client.callBuffer = call
  }
  await client.del(scene().ledger.keys.stream(1))
  await client.set(scene().ledger.keys.stream(1), 'not a stream')
  await expect(reader.acknowledge(entries)).rejects.toThrow('WRONGTYPE')
})

it('missing streams report a lost ledger, also to a waiting reader', async () => {
  const other = await openProcessorFixture(redis().url)
  const reader = await openStreamReader(other.ledger, 'one')
  const waiting = reader.read(READ_BYTES, 1_500).catch((error: unknown) => error)
  await waitUntil('the reader waits', async () => {
    return /cmd=xreadgroup/.test(String(await scene().redis.client.client('LIST')))
  })
  await scene().redis.client.flushall()
  expect(await waiting).toBeInstanceOf(LedgerLostError)
  await expect(reader.readPending(READ_BYTES, 0)).rejects.toBeInstanceOf(LedgerLostError)
  await other.close()
})

describe('accounts that cannot be recorded', () => {
  const stream = () => scene().ledger.keys.stream(0)
  const fieldsLeft = async () => {
    const left = await scene().redis.client.xrange(stream(), '-', '+')
    return left.map(([, fields]) => fields)
  }
  const pendingCount = async () => {
    const [count] = (await scene().redis.client.xpending(stream(), 'recorder')) as [number]
    return count
  }

  it('get entries of their own, once, with any number of recorders', async () => {
    const reader = await openStreamReader(scene().ledger, 'one')
    await scene().redis.client.xadd(stream(), '*', '1:1', '', 'r', 'damage', '2:2', 'a b')
    const { entries, unreadable } = await reader.read(READ_BYTES, 1)
    expect(unreadable).toMatchObject([{ aid: 1, isShared: true }])
    expect(entries).toMatchObject([
      { aid: 1, isShared: true },
      { aid: 2, isShared: true },
    ])
    for (const forgotten of [1, 0]) expect(await reader.isolateAccounts(entries)).toBe(forgotten)
    const apart = [
      ['1:1', '', 'r', 'damage'],
      ['2:2', 'a b'],
    ]
    expect(await fieldsLeft()).toEqual(apart)
    expect(await pendingCount()).toBe(0)
    const again = await reader.read(READ_BYTES, 1)
    expect(again.unreadable).toMatchObject([{ aid: 1, isShared: false }])
    expect(again.entries).toMatchObject([
      { aid: 1, isShared: false },
      { aid: 2, isShared: false },
    ])
  })

  it('stay where they are if Redis is full', async () => {
    const reader = await openStreamReader(scene().ledger, 'one')
    await scene().redis.client.xadd(stream(), '*', '1:1', '', '2:2', '')
    const { entries } = await reader.read(READ_BYTES, 1)
    await scene().redis.client.config('SET', 'maxmemory', '1')
    await expect(reader.isolateAccounts(entries.slice(1))).rejects.toBeInstanceOf(StoreDownError)
    await scene().redis.client.config('SET', 'maxmemory', '0')
    expect(await fieldsLeft()).toEqual([['1:1', '', '2:2', '']])
    expect(await pendingCount()).toBe(1)
  })
})

describe('entries of a read', () => {
  const namesOf = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => [`${from + index}:1`, '']).flat()
  const idsIn = ({ entries }: { entries: { id: string }[] }) => entries.map(({ id }) => id)

  const bytesOf = (names: readonly string[]) => names.join('').length

  it('are left in the stream beyond the limit, and the next read continues', async () => {
    const reader = await openStreamReader(scene().ledger, 'one')
    const { partitions } = scene().ledger.keys
    const stream = scene().ledger.keys.stream(0)
    const names = namesOf(1, 300)
    // The size of the first entry is estimated, that of the others is known.
    await scene().redis.client.xadd(stream, '*', ...names)
    await reader.acknowledge((await reader.read(1, 1)).entries)
    const ids: (string | null)[] = []
    for (let entry = 0; entry < 5; entry += 1) {
      ids.push(await scene().redis.client.xadd(stream, '*', ...names))
    }
    expect(partitions).toBeGreaterThan(1)
    const first = await reader.read(2 * bytesOf(names), 1)
    expect([...new Set(idsIn(first))]).toEqual(ids.slice(0, 2))
    expect(first.isFull).toBe(true)
    const [pending] = (await scene().redis.client.xpending(stream, 'recorder')) as [number]
    expect(pending).toBe(2)
    const second = await reader.read(READ_BYTES, 1)
    expect([...new Set(idsIn(second))]).toEqual(ids.slice(2))
    expect(second.isFull).toBe(false)
  })

  it('of one read are more than one command returns, if they are small', async () => {
    const reader = await openStreamReader(scene().ledger, 'one')
    const stream = scene().ledger.keys.stream(0)
    const names = namesOf(1, 500)
    await scene().redis.client.xadd(stream, '*', ...names)
    await reader.acknowledge((await reader.read(1, 1)).entries)
    for (let aid = 1; aid <= 50; aid += 1)
      await scene().redis.client.xadd(stream, '*', `${aid}:1`, '')
    const { entries, isFull } = await reader.read(2 * bytesOf(names), 1)
    expect(entries).toHaveLength(50)
    expect(isFull).toBe(false)
  })

  it('are counted once when they are deleted', async () => {
    const reader = await openStreamReader(scene().ledger, 'one')
    const id = await scene().redis.client.xadd(scene().ledger.keys.stream(0), '*', '1:1', '')
    await reader.read(READ_BYTES, 1)
    const place = { partition: 0, id: id ?? '' }
    for (const forgotten of [1, 0]) expect(await reader.acknowledge([place])).toBe(forgotten)
  })
})
