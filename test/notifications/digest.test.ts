/** E-mails with new events, through a real mail server. */
import { afterEach, describe, expect, it } from 'vitest'
import {
  type NotificationSettings,
  notificationSettingsOf,
} from '../../src/catalog/settings/events/notification-settings.ts'
import { closeMail } from '../../src/external/mail.ts'
import { createDigests } from '../../src/notifications/digest.ts'
import { type MailServer, startMailServer } from '../support/mail-server.ts'
import { eventOf, NOW_MS } from '../support/notifications/event.ts'
import { useScene } from '../support/notifications/scene.ts'
import { choosePort } from '../support/product/ports.ts'

const scene = useScene()
const HOUR_MS = 3_600_000
const servers: MailServer[] = []
afterEach(async () => {
  closeMail()
  for (const server of servers.splice(0)) await server.close()
})

type Email = NotificationSettings['email']
const EMAIL: Email = { globalAddresses: ['ops@example.net'], intervalMs: HOUR_MS }
const GLOBAL = { notify_by_email: { notify: true, use_global_addresses: true } }
const to = (...addresses: string[]) => ({
  notify_by_email: { notify: true, additional_addresses: addresses },
})

async function mailed(options: Parameters<typeof startMailServer>[0] = {}) {
  const open = await scene()
  const server = await startMailServer(options)
  servers.push(server)
  const mail = { url: server.url, from: 'Tollgate <tollgate@example.org>', timeoutMs: 60_000 }
  const now = { ms: NOW_MS + 60_000 }
  const clock = { nowMs: () => now.ms }
  const { catalog, metrics } = open
  const warned: object[] = []
  const log = { warn: (fields: object) => warned.push(fields) } as never
  const digests = () => createDigests({ catalog, mail, clock, log, metrics })
  return { ...open, server, now, digests, warned }
}

const receiverOf = (message: string) => /^To: (.*)$/m.exec(message)?.[1]

describe('a digest', () => {
  it('has the new events of an address in one e-mail, each once', async () => {
    const { add, digests, server, now, event } = await mailed()
    await add(
      ...['a', 'b'].map((stamp) => eventOf(stamp, { receiver: GLOBAL })),
      eventOf('c', { receiver: GLOBAL, event_code: 'FULL', event_description: '' }),
      eventOf('no e-mail'),
      eventOf('off', {
        receiver: { notify_by_email: { notify: false, use_global_addresses: true } },
      }),
    )
    const digest = digests()
    expect(await digest.send(EMAIL)).toBe(1)
    const [message = '', ...more] = server.messages
    expect(more).toEqual([])
    expect(receiverOf(message)).toBe('ops@example.net')
    expect(message).toContain('Subject: Tollgate: 3 events')
    expect(message).toContain('HALF: 2')
    expect(message).toContain('FULL: 1')
    expect(message.replace(/=\r?\n/g, '')).toContain(
      '2026-11-21T10:00:00.750Z FULL; account 17, subscriber 18; 40 to 60.5; reached 50',
    )
    expect(message).toMatch(/Message-ID: <events-[0-9a-f]{32}@example\.org>/)
    expect((await event('a')).emailed_to).toEqual(['ops@example.net'])
    now.ms += 10 * HOUR_MS
    expect(await digest.send(EMAIL)).toBe(0)
    expect(server.messages).toHaveLength(1)
  })

  it('is one of each address in an interval; later events wait for the next one', async () => {
    const { add, digests, server, now } = await mailed()
    const digest = digests()
    await add(eventOf('a', { receiver: to('x@example.net', 'y@example.net', 'x@example.net') }))
    expect(await digest.send(EMAIL)).toBe(2)
    await add(eventOf('b', { receiver: to('x@example.net') }))
    expect(await digest.send(EMAIL)).toBe(0)
    // Another process knows it as well.
    expect(await digests().send(EMAIL)).toBe(0)
    now.ms += HOUR_MS
    expect(await digest.send(EMAIL)).toBe(1)
    expect(server.messages.map(receiverOf).sort()).toEqual([
      'x@example.net',
      'x@example.net',
      'y@example.net',
    ])
  })

  it('that is not accepted is repeated; those of others are not', async () => {
    let isAccepting = false
    const { add, digests, server, now } = await mailed({
      accepts: (receiver) => isAccepting || receiver !== 'x@example.net',
    })
    await add(eventOf('a', { receiver: to('x@example.net', 'y@example.net') }))
    const digest = digests()
    await expect(digest.send(EMAIL)).rejects.toThrow('try again later')
    expect(server.messages.map(receiverOf)).toEqual(['y@example.net'])
    now.ms += 30_000
    isAccepting = true
    expect(await digest.send(EMAIL)).toBe(1)
    now.ms += HOUR_MS
    expect(await digest.send(EMAIL)).toBe(0)
    expect(server.messages.map(receiverOf)).toEqual(['y@example.net', 'x@example.net'])
  })

  it('waits for a server that is down', async () => {
    const port = await choosePort()
    const { add, digests, server, catalog } = await mailed({ port })
    await add(eventOf('a', { receiver: to('x@example.net', 'y@example.net') }))
    await server.close()
    const digest = digests()
    await expect(digest.send(EMAIL)).rejects.toThrow('ECONNREFUSED')
    expect(await catalog.events.countDocuments({ email_time: { $exists: true } })).toBe(0)
    const again = await startMailServer({ port })
    servers.splice(0, 1, again)
    expect(await digest.send(EMAIL)).toBe(2)
  })

  it('leaves out addresses that the server refuses for good', async () => {
    const { add, digests, server, metricOf, warned, now } = await mailed({
      refuses: (receiver) => receiver === 'gone@example.net',
    })
    await add(eventOf('a', { receiver: to('gone@example.net', 'y@example.net') }))
    const digest = digests()
    await digest.send(EMAIL)
    now.ms += 2 * HOUR_MS
    expect(await digest.send(EMAIL)).toBe(0)
    expect(server.messages.map(receiverOf)).toEqual(['y@example.net'])
    expect(await metricOf('tollgate_event_digests_total', { outcome: 'refused' })).toBe(1)
    expect(warned).toEqual([{ domain: 'example.net' }])
  })

  it('leaves out a stored address that a header reads as several', async () => {
    const global_addresses = ['a,b@example.net', 'ops@example.net']
    const stored = { settings: { http: { url: 'http://[::1/x' }, email: { global_addresses } } }
    const { email, problem } = notificationSettingsOf(stored, { open: () => null })
    expect([problem, email.globalAddresses]).toEqual([null, global_addresses])
    const { add, digests, server, metricOf, warned } = await mailed()
    await add(eventOf('a', { receiver: GLOBAL }))
    await digests().send(email)
    expect(server.messages.map(receiverOf)).toEqual(['ops@example.net'])
    expect(await metricOf('tollgate_event_digests_total', { outcome: 'refused' })).toBe(1)
    expect(warned).toEqual([{ domain: 'example.net' }])
  })

  it('lists 500 events, and counts the others', async () => {
    const { add, digests, server } = await mailed()
    const stamps = Array.from({ length: 1_200 }, (_, index) => `e${index}`)
    await add(...stamps.map((stamp) => eventOf(stamp, { receiver: GLOBAL })))
    await digests().send(EMAIL)
    const [message = ''] = server.messages
    expect(message).toContain('Subject: Tollgate: 1200 events')
    expect(message).toContain('and 700 more')
    expect(message).toContain('HALF: 1200')
  })

  it('has no events that are older than a week', async () => {
    const { add, digests, server, now, catalog } = await mailed()
    await add(eventOf('a', { receiver: GLOBAL }))
    now.ms += 7 * 24 * HOUR_MS
    expect(await digests().send(EMAIL)).toBe(0)
    expect(server.messages).toEqual([])
    expect(await catalog.events.countDocuments({ email_time: { $exists: true } })).toBe(1)
  })
})
