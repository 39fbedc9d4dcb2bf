/** Open sessions, found and released by operators. */

import { describe, expect, it } from 'vitest'
import { stateField } from '../../src/ledger/keys.ts'
import {
  findSession,
  findSessionsById,
  type LocatedSession,
  openSessionsOf,
} from '../../src/ledger/open-sessions.ts'
import { CorruptValueError } from '../../src/ledger/owner-packing.ts'
import { releaseSession } from '../../src/ledger/release.ts'
import { useTwoNodes } from '../support/workers/nodes.ts'
import {
  DATA_UNITS,
  MONEY,
  NOW_MS,
  REPLAY_MS,
  request,
  service,
} from '../support/workers/processor-fixture.ts'

const { scene, other } = useTwoNodes()

const MIB = 1_000_000

/** Opens a session that holds 1 MiB of units. */
async function start(sid: number, sessionId: string, origin = 'test') {
  await scene().credit(sid, DATA_UNITS, 10 * MIB)
  const [outcome] = await scene().charge(
    request('start', sid, 0, [service(MIB, 0, { ratingGroup: 10 })], { sessionId, origin }),
  )
  expect(outcome?.reason).toBe('granted')
}

async function openOf(aid: number, sid = 0): Promise<string[]> {
  const found: string[] = []
  for await (const { session } of openSessionsOf(scene().ledger, { aid, sid })) {
    found.push(session.identity.sessionId)
  }
  return found.sort()
}

const SETTINGS = { attemptsMax: 8, replayMs: REPLAY_MS }
const release = (location: LocatedSession, by = scene()) =>
  releaseSession(by.ledger, location, SETTINGS, NOW_MS + 1_000)

async function locationOf(sessionId: string, origin = 'test'): Promise<LocatedSession> {
  const found = await findSession(scene().ledger, origin, sessionId)
  if (found === null) throw new Error(`no session ${sessionId}`)
  return found
}

const amounts = async (sid: number) =>
  (await scene().owner(sid)).state.buckets.map(({ spent, reserved, free }) => [
    spent,
    reserved,
    free,
  ])

describe('open sessions', () => {
  it('are found by subscriber and by account', async () => {
    await start(1, 'a')
    await start(1, 'b')
    await start(2, 'c')
    await start(11, 'eleven')
    // Another account of the same partition.
    await start(6401, 'far')
    await scene().charge(request('release', 1, 1, [service(0)], { sessionId: 'b' }))
    expect(await openOf(1)).toEqual(['a', 'c', 'eleven'])
    expect(await openOf(1, 1)).toEqual(['a'])
    expect(await openOf(65)).toEqual(['far'])
    expect(await openOf(6)).toEqual([])
  })

  it('are found once each, in many steps', async () => {
    await scene().credit(1, MONEY, 1)
    const ids = Array.from({ length: 1_203 }, (_, index) => `s${index}`)
    for (let from = 0; from < ids.length; from += 100) {
      const part = ids.slice(from, from + 100)
      const free = [service(1, 0, { usaget: 'free' })]
      await scene().charge(...part.map((sessionId) => request('start', 1, 0, free, { sessionId })))
    }
    expect(await openOf(1)).toEqual(ids.sort())
  })

  it('are found by id for any client; ended ones if none is open', async () => {
    await start(1, 'same', 'http')
    await start(201, 'same', 'diameter:net/gy')
    await start(2, 'same but longer')
    const origins = async () =>
      (await findSessionsById(scene().ledger, 'same'))
        .map(({ session }) => session.identity.origin)
        .sort()
    expect(await origins()).toEqual(['diameter:net/gy', 'http'])
    await release(await locationOf('same', 'http'))
    expect(await origins()).toEqual(['diameter:net/gy'])
    await release(await locationOf('same', 'diameter:net/gy'))
    expect(await origins()).toEqual(['diameter:net/gy', 'http'])
    expect(await findSessionsById(scene().ledger, 'none')).toEqual([])
    expect(await findSession(scene().ledger, 'test', 'same')).toBeNull()
  })
})

describe('a released session', () => {
  it('returns its reserved units, once; late usage is settled', async () => {
    await start(1, 'a')
    await start(1, 'stays')
    const location = await locationOf('a')
    expect(await amounts(1)).toEqual([[0, 2 * MIB, 18 * MIB]])
    const released = await release(location)
    expect(released?.services[0]?.reservation.units).toBe(MIB)
    expect(await amounts(1)).toEqual([[0, MIB, 19 * MIB]])
    expect((await findSession(scene().ledger, 'test', 'a'))?.session.state).toBe('expired')
    expect(await openOf(1)).toEqual(['stays'])
    const { version } = (await scene().owner(1)).state
    expect(await release(location)).toBeNull()
    expect((await scene().owner(1)).state.version).toBe(version)
    const used = [service(0, 400_000, { ratingGroup: 10 })]
    const more = { sessionId: 'a' }
    const [late] = await scene().charge(request('release', 1, 1, used, more))
    expect(late?.reason).not.toBe('unknownSession')
    expect(await amounts(1)).toEqual([[400_000, MIB, 19 * MIB - 400_000]])
  })

  it('is not held up by live traffic of its account, and loses none of it', async () => {
    await start(1, 'a')
    await start(1, 'busy')
    const location = await locationOf('a')
    let isOver = false
    let number = 0
    const traffic = async () => {
      while (!isOver) {
        number += 1
        const used = [service(1_000, 1_000, { ratingGroup: 10 })]
        const [outcome] = await other().charge(
          request('update', 1, number, used, { sessionId: 'busy' }),
        )
        expect(outcome?.reason).toBe('granted')
      }
    }
    const going = traffic()
    expect(await release(location)).not.toBeNull()
    isOver = true
    await going
    expect(await amounts(1)).toEqual([[number * 1_000, 1_000, 20 * MIB - number * 1_000 - 1_000]])
  })

  it('ends once if two nodes release it', async () => {
    await start(1, 'a')
    const location = await locationOf('a')
    const both = await Promise.all([release(location), release(location, other())])
    expect(both.filter((session) => session !== null)).toHaveLength(1)
    expect(await amounts(1)).toEqual([[0, 0, 10 * MIB]])
  })

  it('of a damaged owner stays unchanged', async () => {
    await start(1, 'a')
    const location = await locationOf('a')
    const key = scene().ledger.keys.account(location.aid)
    await scene().redis.client.hset(key, stateField(location.sid), 'damaged')
    await expect(release(location)).rejects.toThrow(CorruptValueError)
  })
})
