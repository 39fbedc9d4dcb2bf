/** Restarts of clients, as seen by several nodes. */
import { beforeEach, describe, expect, it } from 'vitest'
import { createOriginStates } from '../../../src/realtime/diameter/origin-states.ts'
import { SessionRegistry } from '../../../src/realtime/diameter/sessions.ts'
import {
  type ClientStates,
  forgetRestarts,
  openClientStates,
  pendingRestarts,
} from '../../../src/store/client-states.ts'
import { useRedis } from '../../support/connected-redis.ts'
import { waitUntil } from '../../support/wait.ts'

let restarted: string[]
let warned: number

const { redis } = useRedis({ appendfsync: 'everysec' })
beforeEach(async () => {
  await redis().client.flushall()
  restarted = []
  warned = 0
})

/** A node that has seen no client yet. */
function nodeOf(open: () => Promise<ClientStates> = async () => openClientStates(redis())) {
  const log = { info: () => undefined, warn: () => (warned += 1) }
  const onRestart = (host: string, realm: string) => restarted.push(`${host} ${realm}`)
  return createOriginStates({ open, onRestart, log: log as never })
}

const stored = async (name: string) => Number(await redis().client.get(`diameter-client:${name}`))

/** Reports a state id, and waits until at least that one is stored. */
async function say(node: ReturnType<typeof nodeOf>, host: string, stateId: number): Promise<void> {
  node.observe(host, 'R', stateId)
  const name = `${host}@R`.toLowerCase()
  await waitUntil('it is on record', async () => (await stored(name)) >= stateId)
}

const pending = async () => Object.fromEntries(await pendingRestarts(redis()))

describe('a client', () => {
  it('has restarted when its state id grows, at any node', async () => {
    const [one, other] = [nodeOf(), nodeOf()]
    await say(one, 'Gw', 5)
    await say(other, 'gw', 5)
    expect(await pending()).toEqual({})
    await say(other, 'gw', 6)
    await say(one, 'GW', 6)
    await waitUntil('the restart', () => restarted.length > 0)
    expect(restarted).toEqual(['gw R'])
    expect(await pending()).toEqual({ 'gw@r': 6 })
    await say(nodeOf(), 'gw', 9)
    expect(await pending()).toEqual({ 'gw@r': 9 })
  })

  it('with the same, a smaller or no state id has not restarted', async () => {
    const node = nodeOf()
    await say(node, 'gw', 5)
    expect(node.observe('gw', 'R', 0)).toBeNull()
    expect(node.observe('gw', 'R', 4)).toEqual({ name: 'gw@r', stateId: 4 })
    node.observe('gw', 'R', 5)
    await say(nodeOf(), 'other', 1)
    await say(nodeOf(), 'gw', 4)
    expect([await pending(), await stored('gw@r'), restarted]).toEqual([{}, 5, []])
  })

  it('whose restart could not be written to Redis is recorded with its next message', async () => {
    let isAway = true
    const states = openClientStates(redis())
    const node = nodeOf(async () => {
      if (isAway) throw new Error('away')
      return states
    })
    await say(nodeOf(), 'gw', 5)
    node.observe('gw', 'R', 6)
    await waitUntil('it has failed', () => warned === 1)
    node.observe('gw', 'R', 6)
    isAway = false
    await waitUntil('the restart', () => {
      node.observe('gw', 'R', 6)
      return restarted.length > 0
    })
    expect([await pending(), warned]).toEqual([{ 'gw@r': 6 }, 1])
  })

  it('with an invalid host name is ignored', () => {
    expect(nodeOf().observe('', 'r', 5)).toBeNull()
    expect(nodeOf().observe('x'.repeat(512), 'r', 5)).toBeNull()
  })
})

it('a handled restart is forgotten, a later one is not', async () => {
  const node = nodeOf()
  for (const stateId of [1, 2]) await say(node, 'a b', stateId)
  const seen = await pendingRestarts(redis())
  await say(node, 'a b', 3)
  await forgetRestarts(redis(), seen)
  expect(await pending()).toEqual({ 'a b@r': 3 })
  await forgetRestarts(redis(), await pendingRestarts(redis()))
  expect(await pending()).toEqual({})
})

it('the sessions of a restarted client receive no server requests', () => {
  const registry = new SessionRegistry<object>(10)
  const route = { origin: 'o', originRealm: 'r', aid: 1, sid: 2, connection: {} }
  for (const [sessionId, originHost] of [
    ...([
      ['a', 'gw1'],
      ['b', 'gw2'],
      ['c', 'gw1'],
    ] as const),
  ]) {
    registry.learn({ ...route, sessionId, originHost })
  }
  registry.forgetClient('gw1', 'r')
  registry.forgetClient('gw3', 'r')
  expect(['a', 'b', 'c'].map((id) => registry.find('o', id) !== undefined)).toEqual([
    false,
    true,
    false,
  ])
  expect(registry.size).toBe(1)
})
