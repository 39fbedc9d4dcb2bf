/** Sessions that a restarted client has lost end; all others continue. */
import { describe, expect, it } from 'vitest'
import type { CreditControlClient } from '../../src/domain/charge-request.ts'
import { findSession } from '../../src/ledger/open-sessions.ts'
import { endLostSessions } from '../../src/ledger/restarts.ts'
import { openClientStates, pendingRestarts } from '../../src/store/client-states.ts'
import { useNode } from '../support/workers/nodes.ts'
import { MONEY, NOW_MS, REPLAY_MS, request, service } from '../support/workers/processor-fixture.ts'

const { scene } = useNode()

const GATEWAY = 'gw@r'
const of = (stateId: number, name = GATEWAY): CreditControlClient => ({ name, stateId })
const MIB = 1_000_000

async function send(
  kind: 'start' | 'update' | 'release',
  sid: number,
  number: number,
  client: CreditControlClient | null,
  used = 0,
) {
  const services = [service(kind === 'release' ? -1 : MIB, used, { ratingGroup: 10 })]
  const more = { sessionId: `s${sid}`, client }
  const [outcome] = await scene().charge(request(kind, sid, number, services, more))
  return outcome
}

async function start(sid: number, client: CreditControlClient | null): Promise<void> {
  await scene().credit(sid, MONEY, 1_000_000)
  expect(await send('start', sid, 0, client)).toMatchObject({ reason: 'granted' })
}

const stateOf = async (sid: number) =>
  (await findSession(scene().ledger, 'test', `s${sid}`))?.session.state

async function restart(stateId: number, name = GATEWAY): Promise<void> {
  const states = openClientStates(scene().ledger.redis)
  await states.raise(name, stateId, stateId - 1)
}

const end = (isStopping = () => false) =>
  endLostSessions(scene().ledger, {
    settings: { attemptsMax: 8, replayMs: REPLAY_MS },
    nowMs: () => NOW_MS + 1000,
    onExpired: () => undefined,
    isStopping,
  })

describe('a restarted client', () => {
  it('has lost the sessions from before, and no others', async () => {
    const clients = [of(5), of(6), of(5, 'other@r'), of(4), null] as const
    for (const [index, client] of clients.entries()) await start(index + 1, client)
    expect(await end()).toBe(0)
    await restart(6)
    expect(await end()).toBe(2)
    const states = await Promise.all([1, 2, 3, 4, 5].map(stateOf))
    expect(states).toEqual(['expired', 'open', 'open', 'expired', 'open'])
    for (const [sid, reserved] of [
      [1, 0],
      [2, 2_000],
    ] as const) {
      const [money] = (await scene().owner(sid)).state.buckets
      expect(money?.reserved).toBe(reserved)
    }
    expect([...(await pendingRestarts(scene().ledger.redis))]).toEqual([])
    expect(await end()).toBe(0)
  })

  it('continues a session that it has not lost', async () => {
    await start(1, of(5))
    await send('update', 1, 1, of(6))
    await restart(6)
    expect(await end()).toBe(0)
    // A delayed request from before the restart changes nothing.
    await send('update', 1, 2, of(5))
    await restart(6)
    expect(await end()).toBe(0)
    expect(await stateOf(1)).toBe('open')
  })

  it('is charged for usage that it reports late', async () => {
    await start(1, of(5))
    await restart(6)
    expect(await end()).toBe(1)
    expect(await send('release', 1, 1, of(6), MIB)).toMatchObject({ reason: 'granted' })
    const [money] = (await scene().owner(1)).state.buckets
    expect(money).toMatchObject({ reserved: 0, spent: 2_000 })
  })

  it('is searched for again if the previous search was interrupted', async () => {
    await start(1, of(5))
    await restart(6)
    expect(await end(() => true)).toBe(0)
    expect(await stateOf(1)).toBe('open')
    expect(await end()).toBe(1)
  })
})
