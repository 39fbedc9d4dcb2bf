/** Delivery to real receivers over HTTP, from a real MongoDB. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createSealer } from '../../src/catalog/sealing/sealing.ts'
import { eventOf, NOW_MS } from '../support/notifications/event.ts'
import { KEY, useScene } from '../support/notifications/scene.ts'
import { waitUntil } from '../support/wait.ts'

const scene = useScene()

describe('an event', () => {
  it('is sent once as GET, and keeps what the receiver has answered', async () => {
    const { settings, add, receiver, deliver, states, event } = await scene()
    const crm = await receiver()
    crm.respond = (response) => response.end('{"success":true,"id":7}')
    await settings({ url: crm.url })
    await add(eventOf('a'))
    deliver()
    await expect.poll(states).toEqual({ a: 'delivered' })
    const [sent, ...more] = crm.received
    expect(more).toEqual([])
    expect(sent?.method).toBe('GET')
    expect(sent?.params).toMatchObject({ stamp: 'a', event_code: 'HALF', before: '40' })
    const stored = await event('a')
    expect(stored.returned_value).toBe('{"success":true,"id":7}')
    expect(stored.notify_time?.getTime()).toBeGreaterThan(NOW_MS)
    const started = Math.floor((stored.start_notify_time?.getTime() ?? 0) / 1000)
    expect(sent?.params['start_notify_time']).toBe(String(started))
    expect(stored.delivery.attempts).toBe(1)
  })

  it('of a rule with an address is sent there, in its way', async () => {
    const { settings, add, receiver, deliver, states } = await scene()
    const [usual, own] = [await receiver(), await receiver()]
    own.respond = (response) => response.end('<r><success>1</success></r>')
    await settings({ url: usual.url })
    await add(
      eventOf('a'),
      eventOf('b', { receiver: { url: own.url, method: 'post', decoder: 'xml' } }),
    )
    deliver()
    await expect.poll(states).toEqual({ a: 'delivered', b: 'delivered' })
    expect([usual.stamps(), own.stamps()]).toEqual([['a'], ['b']])
    expect(own.received[0]?.method).toBe('POST')
  })

  it('without a receiver is marked, and not read again', async () => {
    const { settings, add, deliver, states, receiver } = await scene()
    const crm = await receiver()
    await settings({})
    await add(eventOf('a'), eventOf('b'), eventOf('c', { receiver: { url: crm.url } }))
    deliver()
    await expect.poll(states).toEqual({ a: 'unaddressed', b: 'unaddressed', c: 'delivered' })
  })

  it('that was made pending again is sent again', async () => {
    const { settings, add, receiver, deliver, states, catalog, event } = await scene()
    const crm = await receiver()
    await settings({ url: crm.url })
    await add(eventOf('a'))
    deliver()
    await expect.poll(states).toEqual({ a: 'delivered' })
    const delivery = { state: 'pending' as const, due: new Date(NOW_MS), attempts: 0 }
    await catalog.events.updateOne({ stamp: 'a' }, { $set: { delivery } })
    await expect.poll(() => crm.stamps()).toEqual(['a', 'a'])
    await expect.poll(async () => (await event('a')).delivery.state).toBe('delivered')
  })

  it('is not sent before it is due', async () => {
    const { settings, add, receiver, deliver, states } = await scene()
    const crm = await receiver()
    await settings({ url: crm.url })
    const later = eventOf('a')
    later.delivery.due = new Date(NOW_MS + 86_400_000)
    await add(later, eventOf('b'))
    deliver()
    await expect.poll(states).toEqual({ a: 'pending', b: 'delivered' })
    expect(crm.stamps()).toEqual(['b'])
  })
})

/** An address that refuses connections. */
async function closedUrl(): Promise<string> {
  const server = createServer()
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  await new Promise((closed) => server.close(closed))
  return `http://127.0.0.1:${port}/x`
}

describe('a failed attempt', () => {
  it.each([
    ['not accepted', 200, '{"success":false,"secret":"x"}'],
    ['HTML', 200, '<html>welcome</html>'],
    ['not JSON', 200, ''],
    ['redirect', 302, ''],
    ['status', 503, '{"success":true}'],
    ['request', 404, '{"success":true}'],
    ['too large', 200, JSON.stringify({ success: true, more: 'x'.repeat(70_000) })],
  ])('has the name "%s" for status %i', async (kind, status, body) => {
    const { settings, add, receiver, deliver, states, event } = await scene()
    const crm = await receiver()
    crm.respond = (response) => {
      response.writeHead(status, { location: crm.url })
      response.end(body)
    }
    await settings({ url: crm.url, num_of_tries: 1 })
    await add(eventOf('a'))
    deliver()
    await expect.poll(states).toEqual({ a: 'dead' })
    const { delivery, returned_value: returned } = await event('a')
    expect(delivery.error).toMatch(new RegExp(`^${kind}: its? `))
    expect(delivery.error).not.toContain('secret')
    expect(returned).toBeUndefined()
    expect(crm.received).toHaveLength(1)
  })

  it('has a name if the connection is reset, refused, or gets no complete answer', async () => {
    const { settings, add, receiver, deliver, states, event } = await scene()
    const [resets, endless, silent] = [await receiver(), await receiver(), await receiver()]
    resets.respond = (response) => response.destroy()
    endless.respond = (response) => {
      const timer = setInterval(() => response.write(' '), 10)
      response.on('close', () => clearInterval(timer))
    }
    silent.respond = () => undefined
    await settings({ num_of_tries: 1, timeout_ms: 2_000 })
    const to = (stamp: string, url: string) => eventOf(stamp, { receiver: { url } })
    await add(
      to('endless', endless.url),
      to('private', 'http://10.1.2.3/x'),
      to('refused', await closedUrl()),
      to('reset', resets.url),
      to('silent', silent.url),
    )
    deliver()
    await expect.poll(async () => new Set(Object.values(await states()))).toEqual(new Set(['dead']))
    const errorOf = async (stamp: string) => (await event(stamp)).delivery.error
    expect(await errorOf('refused')).toBe('unreachable: it cannot be reached (ECONNREFUSED)')
    expect(await errorOf('reset')).toMatch(/^unreachable: it cannot be reached \(/)
    expect(await errorOf('silent')).toBe('timeout: its answer was not complete within 2000 ms')
    expect(await errorOf('endless')).toBe('timeout: its answer was not complete within 2000 ms')
    expect(await errorOf('private')).toMatch(/^address: its address is private/)
  })

  it('is repeated until the receiver accepts', async () => {
    const { settings, add, receiver, deliver, states, event, metricOf } = await scene()
    const crm = await receiver()
    crm.respond = (response) => response.end(`{"success":${crm.received.length > 2}}`)
    await settings({ url: crm.url })
    await add(eventOf('a'))
    deliver()
    await expect.poll(states).toEqual({ a: 'delivered' })
    const { delivery } = await event('a')
    expect([delivery.attempts, delivery.error]).toEqual([3, undefined])
    const name = 'tollgate_notifications_total'
    expect(await metricOf(name, { outcome: 'failed' })).toBe(2)
    expect(await metricOf(name, { outcome: 'delivered' })).toBe(1)
  })

  it('is the last one after the number of tries: the event is dead, and logged', async () => {
    const { settings, add, receiver, deliver, states, event, metricOf, records } = await scene()
    const crm = await receiver()
    crm.respond = (response) => response.writeHead(500).end()
    await settings({ url: `${crm.url}?key=hidden`, num_of_tries: 2 })
    await add(eventOf('a'))
    deliver()
    await expect.poll(states).toEqual({ a: 'dead' })
    expect(crm.received).toHaveLength(2)
    expect((await event('a')).delivery).toMatchObject({
      attempts: 2,
      error: 'status: it answers with status 500',
    })
    const { host } = new URL(crm.url)
    expect(await metricOf('tollgate_notifications_total', { outcome: 'dead' })).toBe(1)
    expect(records.find(({ msg }) => msg.includes('dead'))).toMatchObject({
      stamp: 'a',
      code: 'HALF',
      host,
      reason: 'status: it answers with status 500',
    })
    expect(JSON.stringify(records)).not.toMatch(/hidden|"aid"|"sid"/)
  })
})

describe('one receiver', () => {
  it('does not delay another one, however many of its events are pending', async () => {
    const { settings, add, receiver, deliver, catalog } = await scene()
    const [dead, healthy] = [await receiver(), await receiver()]
    const open: (() => void)[] = []
    dead.respond = (response) =>
      new Promise<void>((end) => open.push(end)).then(() => response.end())
    await settings({ url: dead.url, timeout_ms: 60_000, concurrency: 2 })
    await add(...Array.from({ length: 3_000 }, (_, index) => eventOf(`dead-${index}`)))
    const delivery = deliver()
    await expect.poll(() => dead.received.length).toBe(2)
    // They come later, and are due later.
    const url = healthy.url
    const news = (at: number) =>
      eventOf(`new-${at}`, { creation_ms: NOW_MS + 4_000, receiver: { url } })
    await add(...Array.from({ length: 40 }, (_, at) => news(at)))
    const delivered = () => catalog.events.countDocuments({ 'delivery.state': 'delivered' })
    await expect.poll(delivered).toBe(40)
    expect(dead.received.length).toBe(2)
    const pending = { 'delivery.state': 'pending', 'delivery.attempts': 1 } as const
    expect(await catalog.events.countDocuments(pending)).toBe(2)
    for (const end of open) end()
    await delivery.stop(0)
  })

  it('gets a pause after failures in a row, and then one event at a time', async () => {
    const { settings, add, receiver, deliver, catalog, metricOf, records } = await scene()
    const crm = await receiver()
    let isUp = false
    crm.respond = (response) => response.end(`{"success":${isUp}}`)
    await settings({ url: crm.url })
    await add(...Array.from({ length: 200 }, (_, index) => eventOf(`e${index}`)))
    deliver()
    const circuit = () => metricOf('tollgate_notification_circuit')
    await expect.poll(circuit).toBe(2)
    // Those under way when it opened, and probes.
    expect(crm.received.length).toBeLessThan(20)
    const { host } = new URL(crm.url)
    expect(
      records.some(({ msg, ...fields }) => msg.includes('fails') && fields['host'] === host),
    ).toBe(true)
    isUp = true
    const left = () => catalog.events.countDocuments({ 'delivery.state': 'pending' })
    await expect.poll(left).toBe(0)
    expect(await circuit()).toBe(0)
  })

  it('has at most the connections of its setting, and its rate', async () => {
    const { settings, add, receiver, deliver, catalog } = await scene()
    const crm = await receiver()
    let underWay = 0
    let most = 0
    crm.respond = async (response) => {
      underWay += 1
      most = Math.max(most, underWay)
      await new Promise((later) => setTimeout(later, 20))
      underWay -= 1
      response.end('{"success":true}')
    }
    await settings({ url: crm.url, concurrency: 3, rate_per_second: 1_000 })
    await add(...Array.from({ length: 50 }, (_, index) => eventOf(`e${index}`)))
    deliver()
    const delivered = () => catalog.events.countDocuments({ 'delivery.state': 'delivered' })
    await expect.poll(delivered).toBe(50)
    expect(most).toBeLessThanOrEqual(3)
    expect(most).toBeGreaterThan(1)
  })
})

describe('two processes', () => {
  it('send each event once', async () => {
    const { settings, add, receiver, deliver, catalog } = await scene()
    const crm = await receiver()
    await settings({ url: crm.url })
    const stamps = Array.from({ length: 120 }, (_, index) => `e${index}`)
    await add(...stamps.map((stamp) => eventOf(stamp)))
    deliver()
    deliver()
    const delivered = () => catalog.events.countDocuments({ 'delivery.state': 'delivered' })
    await expect.poll(delivered).toBe(120)
    expect(crm.stamps().sort()).toEqual([...stamps].sort())
  })

  it('take over what a killed one has claimed, when its claim ends', async () => {
    const { settings, add, receiver, deliver, states, event } = await scene()
    const crm = await receiver()
    let nowMs = NOW_MS + 10_000
    await settings({ url: crm.url, timeout_ms: 1_000 }, {})
    const claimed = eventOf('a')
    claimed.start_notify_time = new Date(nowMs)
    claimed.delivery = { state: 'pending', due: new Date(nowMs + 60_000), attempts: 1 }
    await add(claimed, eventOf('b'))
    deliver({ clock: { nowMs: () => nowMs } })
    await expect.poll(states).toEqual({ a: 'pending', b: 'delivered' })
    nowMs += 60_000
    await expect.poll(states).toEqual({ a: 'delivered', b: 'delivered' })
    expect((await event('a')).delivery.attempts).toBe(2)
  })

  it('claim for the time of the settings, or for longer than an attempt', async () => {
    const { settings, add, receiver, deliver, event, catalog } = await scene()
    const crm = await receiver()
    crm.respond = () => undefined
    const nowMs = NOW_MS + 10_000
    const orphan = async (text: string, stamp: string) => {
      const notify = { notify_orphan_time: text }
      await catalog.config.updateOne(
        { _id: 'events' },
        { $set: { 'value.settings.notify': notify }, $inc: { rev: 1 } },
      )
      await add(eventOf(stamp))
      const delivery = deliver({ clock: { nowMs: () => nowMs } })
      await waitUntil('it is sent', () => crm.stamps().includes(stamp))
      const { due } = (await event(stamp)).delivery
      await delivery.stop(0)
      return due.getTime() - nowMs
    }
    await settings({ url: crm.url, timeout_ms: 10_000 })
    expect(await orphan('2 hours', 'a')).toBe(7_200_000)
    await catalog.events.deleteMany({})
    expect(await orphan('1 second', 'b')).toBe(15_000)
  })
})

describe('the end of a process', () => {
  it('gives the events of attempts under way back, as if they had not begun', async () => {
    const { settings, add, receiver, deliver, event } = await scene()
    const crm = await receiver()
    crm.respond = () => undefined
    await settings({ url: crm.url, timeout_ms: 60_000 })
    await add(eventOf('a'))
    const delivery = deliver()
    await expect.poll(() => crm.stamps()).toEqual(['a'])
    await delivery.stop(0)
    const { delivery: after } = await event('a')
    expect(after).toMatchObject({ state: 'pending', attempts: 0 })
    expect(after.due.getTime()).toBeLessThan(NOW_MS + 3_600_000)
    crm.respond = null
    deliver()
    await expect.poll(() => crm.stamps()).toEqual(['a', 'a'])
  })

  it('waits for attempts under way', async () => {
    const { settings, add, receiver, deliver, states } = await scene()
    const crm = await receiver()
    let answer: () => void = () => undefined
    crm.respond = (response) => {
      answer = () => response.end('{"success":true}')
    }
    await settings({ url: crm.url })
    await add(eventOf('a'))
    const delivery = deliver()
    await expect.poll(() => crm.stamps()).toEqual(['a'])
    const stopped = delivery.stop(30_000)
    answer()
    await stopped
    expect(await states()).toEqual({ a: 'delivered' })
  })
})

describe('the settings', () => {
  it('apply without a restart: another address, also for what had failed', async () => {
    const { settings, add, receiver, deliver, states, metricOf } = await scene()
    const [wrong, right] = [await receiver(), await receiver()]
    wrong.respond = (response) => response.writeHead(404).end()
    await settings({ url: wrong.url })
    const stamps = ['a', 'b', 'c', 'd', 'e', 'f']
    await add(...stamps.map((stamp) => eventOf(stamp)))
    deliver()
    await expect.poll(() => metricOf('tollgate_notification_circuit')).toBe(2)
    await settings({ url: right.url })
    await expect
      .poll(async () => new Set(Object.values(await states())))
      .toEqual(new Set(['delivered']))
    expect(new Set(right.stamps())).toEqual(new Set(stamps))
    const { host } = new URL(wrong.url)
    expect(await metricOf('tollgate_notification_circuit', { receiver: host })).toBe(0)
  })

  it('that are invalid, or whose secret cannot be opened, send nothing', async () => {
    const { settings, add, receiver, deliver, states, records, catalog } = await scene()
    const crm = await receiver()
    const sealed = createSealer('the key of another installation').seal('0123456789abcdef')
    await settings({ url: crm.url, secret: sealed })
    await add(eventOf('a'), eventOf('b', { receiver: { url: crm.url } }))
    deliver()
    const problem = () => records.filter(({ msg }) => msg.includes('invalid')).at(-1)?.['problem']
    await expect.poll(problem).toMatch(/^events\.settings\.http\.secret cannot be opened/)
    await catalog.config.updateOne(
      { _id: 'events' },
      { $set: { 'value.settings.http': { url: 5 } }, $inc: { rev: 1 } },
    )
    await expect.poll(problem).toMatch(/^events\.settings\.http\.url must be an address/)
    expect(await states()).toEqual({ a: 'pending', b: 'pending' })
    expect(crm.received).toEqual([])
    await settings({ url: crm.url })
    await expect.poll(states).toEqual({ a: 'delivered', b: 'delivered' })
  })

  it('with a secret sign each notification; it is in no log', async () => {
    const { settings, add, receiver, deliver, states, records } = await scene()
    const crm = await receiver()
    const secret = 'shared-with-the-receiver'
    await settings({ url: crm.url, secret: createSealer(KEY).seal(secret) })
    await add(eventOf('a'))
    deliver()
    await expect.poll(states).toEqual({ a: 'delivered' })
    const header = crm.received[0]?.headers['tollgate-signature']
    expect(header).toMatch(/^t=\d{10},v1=[0-9a-f]{64}$/)
    expect(JSON.stringify(records)).not.toContain(secret)
  })
})
