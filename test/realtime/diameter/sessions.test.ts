import { describe, expect, it } from 'vitest'
import { SessionRegistry, type SessionRoute } from '../../../src/realtime/diameter/sessions.ts'

interface Wire {
  name: string
}
const A: Wire = { name: 'a' }
const B: Wire = { name: 'b' }

function route(sessionId: string, more: Partial<SessionRoute<Wire>> = {}): SessionRoute<Wire> {
  return {
    sessionId,
    origin: 'diameter:net/gy',
    originHost: 'pgw1.net',
    originRealm: 'net',
    aid: 1,
    sid: 10,
    connection: A,
    ...more,
  }
}

function registryOf(...routes: SessionRoute<Wire>[]): SessionRegistry<Wire> {
  const registry = new SessionRegistry<Wire>(1_000)
  for (const one of routes) registry.learn(one)
  return registry
}

const ids = (found: Iterable<{ sessionId: string }>) =>
  [...found].map(({ sessionId }) => sessionId).sort()

function walked(registry: SessionRegistry<Wire>): string[] {
  const found: string[] = []
  registry.beginWalk()
  for (let one = registry.nextInWalk(); one !== undefined; one = registry.nextInWalk()) {
    found.push(one.sessionId)
  }
  return found
}

function routed(registry: SessionRegistry<Wire>, sessionId: string) {
  const known = registry.find('diameter:net/gy', sessionId)
  return known === undefined ? undefined : registry.routeTo(known)
}

describe('a session', () => {
  it('is cached from its first answer to its end', () => {
    const registry = registryOf(route('s'))
    expect(routed(registry, 's')).toEqual(route('s'))
    expect(registry.find('diameter:other/gy', 's')).toBeUndefined()
    registry.forget('diameter:net/gy', 's')
    registry.forget('diameter:net/gy', 's')
    expect([registry.size, routed(registry, 's')]).toEqual([0, undefined])
    expect([...registry.ofSubscriber(1, 10), ...registry.ofSubscriber(1, 0)]).toEqual([])
  })

  it('keeps its object, and is routed to the connection of its last request', () => {
    const registry = registryOf(route('s'))
    const known = registry.find('diameter:net/gy', 's')
    const moved = route('s', { connection: B, originHost: 'pgw2.net', originRealm: 'other' })
    registry.learn(moved)
    expect(registry.find('diameter:net/gy', 's')).toBe(known)
    expect([registry.size, routed(registry, 's')]).toEqual([1, moved])
  })

  it('of another subscriber is a new one', () => {
    const registry = registryOf(route('s'))
    const known = registry.find('diameter:net/gy', 's')
    registry.learn(route('s', { aid: 2, sid: 20 }))
    expect(registry.find('diameter:net/gy', 's')).not.toBe(known)
    expect([registry.size, ids(registry.ofSubscriber(1, 0))]).toEqual([1, []])
    expect(ids(registry.ofSubscriber(2, 20))).toEqual(['s'])
  })

  it('has the sequence number of its last request', () => {
    const registry = registryOf(route('s'))
    const known = registry.find('diameter:net/gy', 's')
    expect(known?.sequence).toBe(0)
    const before = registry.sequence
    expect(registry.nextSequence()).toBe(before + 1)
    registry.learn(route('s'), before)
    expect(known?.sequence).toBe(0)
    registry.learn(route('s'))
    registry.learn(route('s'), before)
    expect(known?.sequence).toBe(1)
  })
})

describe('sessions', () => {
  it('are found by subscriber and account, whichever of them end', () => {
    const all = ['a', 'b', 'c', 'd', 'e'].map((name, index) =>
      route(name, { sid: index < 3 ? 10 : 11 }),
    )
    for (const gone of ['a', 'b', 'c', 'd', 'e']) {
      const registry = registryOf(...all, route('x', { aid: 2, sid: 10 }))
      registry.forget('diameter:net/gy', gone)
      const left = (names: string[]) => names.filter((name) => name !== gone)
      expect(ids(registry.ofSubscriber(1, 0))).toEqual(left(['a', 'b', 'c', 'd', 'e']))
      expect(ids(registry.ofSubscriber(1, 10))).toEqual(left(['a', 'b', 'c']))
      expect(ids(registry.ofSubscriber(1, 11))).toEqual(left(['d', 'e']))
      expect(ids(registry.ofSubscriber(2, 10))).toEqual(['x'])
    }
  })

  it('agree with the model after any operations', () => {
    const registry = new SessionRegistry<Wire>(20)
    const model = new Map<string, SessionRoute<Wire>>()
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % below
    }
    for (let turn = 0; turn < 5_000; turn += 1) {
      const one = route(`s${random(40)}`, { aid: random(3) + 1, sid: random(4) + 1 })
      if (random(3) === 0) {
        registry.forget(one.origin, one.sessionId)
        model.delete(one.sessionId)
      } else {
        registry.learn(one)
        model.delete(one.sessionId)
        model.set(one.sessionId, one)
        const [first = ''] = model.keys()
        if (model.size > 20) model.delete(first)
      }
      expect(registry.size).toBe(model.size)
    }
    expect(walked(registry)).toEqual([...model.keys()])
    for (const aid of [1, 2, 3]) {
      const of = [...model.values()].filter((one) => one.aid === aid)
      expect(ids(registry.ofSubscriber(aid, 0))).toEqual(ids(of))
      for (const sid of [1, 2, 3, 4]) {
        expect(ids(registry.ofSubscriber(aid, sid))).toEqual(ids(of.filter((o) => o.sid === sid)))
      }
    }
  })

  it('above the limit are forgotten, the oldest first', () => {
    const registry = new SessionRegistry<Wire>(2)
    for (const name of ['a', 'b', 'a', 'c']) registry.learn(route(name))
    expect([registry.size, walked(registry)]).toEqual([2, ['a', 'c']])
  })

  it('can be iterated while they change', () => {
    const registry = registryOf(...['a', 'b', 'c', 'd'].map((name) => route(name)))
    registry.beginWalk()
    expect(registry.nextInWalk()?.sessionId).toBe('a')
    registry.forget('diameter:net/gy', 'b')
    registry.learn(route('c'))
    expect(registry.nextInWalk()?.sessionId).toBe('d')
    expect(registry.nextInWalk()?.sessionId).toBe('c')
    expect(registry.nextInWalk()).toBeUndefined()
    registry.learn(route('e'))
    expect(registry.nextInWalk()).toBeUndefined()
  })
})

describe('a closed connection', () => {
  it('reaches no session; its sessions stay cached, and return with another connection', () => {
    const registry = registryOf(route('s'), route('t'))
    registry.dropConnection(A)
    expect([registry.size, routed(registry, 's')]).toEqual([2, undefined])
    registry.learn(route('t', { connection: B }))
    // The client of both sessions is now reached over that connection.
    expect(routed(registry, 's')).toEqual(route('s', { connection: B }))
    registry.dropConnection(B)
    expect(routed(registry, 's')).toBeUndefined()
  })

  it('is not restored by a late answer', () => {
    const registry = registryOf(route('s', { connection: B }))
    registry.dropConnection(A)
    registry.learn(route('s'))
    expect(routed(registry, 's')).toBeUndefined()
  })
})
