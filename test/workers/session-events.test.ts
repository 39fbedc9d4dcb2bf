import { afterEach, describe, expect, it } from 'vitest'
import type { Catalog } from '../../src/catalog/connection.ts'
import { CatalogUnavailableError } from '../../src/catalog/errors.ts'
import { createCatalogFeed } from '../../src/catalog/feed/feed.ts'
import { findSubscriber } from '../../src/catalog/feed/subscribers.ts'
import type { SessionEvent } from '../../src/domain/worker-task.ts'
import { publishSessionEvent } from '../../src/store/session-events.ts'
import { type SessionEventsOptions, watchSessionEvents } from '../../src/workers/session-events.ts'
import { insertEntity } from '../support/catalog/store.ts'
import { writeEntity } from '../support/catalog/write.ts'
import { useOpened } from '../support/opened.ts'
import { silent, startTestStores, topUp } from '../support/recorder/accounts.ts'
import { waitUntil } from '../support/wait.ts'

const NOW_MS = Date.UTC(2026, 5, 1)
const clock = { nowMs: () => NOW_MS }
const POLL_MS = 10
const replace = { mode: 'replace', timeZone: 'UTC' } as const
const open: (() => unknown)[] = []

const stores = useOpened(startTestStores)
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
  await stores().catalog.subscribers.deleteMany({})
})

/** Session events from now on; `start` starts the feed. */
async function listen(more: Partial<SessionEventsOptions> = {}) {
  const { catalog, ledger } = stores()
  const feed = createCatalogFeed({ catalog, pollMs: POLL_MS, log: silent })
  const events: SessionEvent[] = []
  const watch = watchSessionEvents({
    feed,
    redis: ledger.redis,
    clock,
    log: silent,
    subscriberExists: (sid, atMs) => isThere(catalog, sid, atMs),
    emit: (event) => events.push(event),
    ...more,
  })
  open.push(() => watch.close())
  await waitUntil('session events arrive', () => watch.isListening())
  return {
    events,
    /** One poll of the feed. */
    poll: () => feed.pollNow(),
    /** Polls for as long as a change may be held back, and once more. */
    async settle() {
      for (let polls = 0; polls < 4; polls += 1) await feed.pollNow()
    },
    async start(isPolling = true) {
      if (!isPolling) {
        await feed.pollNow()
        return
      }
      await feed.start()
      open.push(() => feed.stop())
    },
  }
}

async function isThere(catalog: Catalog, sid: number, atMs: number): Promise<boolean> {
  return (await findSubscriber(catalog, { key: 'sid', value: String(sid), atMs })) !== null
}

/** The session events for a subscriber or account after a write. */
async function eventsAfter(events: SessionEvent[], write: () => Promise<unknown>) {
  events.length = 0
  await write()
  await waitUntil('a session event', () => events.length > 0)
  return [...events]
}

it('a top-up is sent as one session event, however often it is repeated', async () => {
  const { events } = await listen()
  await topUp(stores().ledger, 7, 70, 100, 'a')
  await topUp(stores().ledger, 7, 70, 100, 'a')
  await topUp(stores().ledger, 7, 71, 100, 'b')
  await waitUntil('both session events', () => events.length >= 2)
  expect(events).toEqual([
    { kind: 'reauthorize', aid: 7, sid: 70 },
    { kind: 'reauthorize', aid: 7, sid: 71 },
  ])
})

it('a session released by an operator is sent as a session event', async () => {
  const { events } = await listen()
  await publishSessionEvent(stores().ledger.redis, {
    cause: 'release',
    origin: 'o',
    sessionId: 's',
  })
  await waitUntil('the session event', () => events.length > 0)
  expect(events).toEqual([{ kind: 'release', origin: 'o', sessionId: 's' }])
})

it('changes from before the start are not sent', async () => {
  await insertEntity(stores().catalog, 'subscribers', { aid: 7, sid: 70 })
  await insertEntity(stores().catalog, 'plans', { name: 'FIRST' })
  const { events, start } = await listen()
  await start()
  const next = () => insertEntity(stores().catalog, 'subscribers', { aid: 7, sid: 71 })
  expect(await eventsAfter(events, next)).toEqual([{ kind: 'reauthorize', aid: 7, sid: 71 }])
})

it('the session event says whether a changed subscriber still exists', async () => {
  const { catalog } = stores()
  let stored: object = await insertEntity(catalog, 'subscribers', { aid: 7, sid: 70 })
  const { events, start } = await listen()
  await start()
  const write = (fields: object) => async () => {
    stored = await writeEntity(catalog, 'subscribers', { ...stored, ...fields }, replace)
  }
  const still = { kind: 'reauthorize', aid: 7, sid: 70 }
  expect(await eventsAfter(events, write({ barred: true }))).toEqual([still])
  const closed = write({ to: new Date(NOW_MS) })
  expect(await eventsAfter(events, closed)).toEqual([{ ...still, kind: 'abort' }])
  const opened = () =>
    insertEntity(catalog, 'subscribers', { aid: 7, sid: 70, from: new Date(NOW_MS) })
  expect(await eventsAfter(events, opened)).toEqual([still])
  // Its other revision is in force.
  expect(await eventsAfter(events, write({ to: '2026-04-01' }))).toEqual([still])
})

describe('the session event of an action that writes several documents', () => {
  const from = new Date(NOW_MS)

  it('of a subscriber is sent once, although each document is seen by another poll', async () => {
    const { catalog } = stores()
    const before = await insertEntity(catalog, 'subscribers', { aid: 7, sid: 70 })
    const { events, start, poll, settle } = await listen()
    await start(false)
    // Like closeandnew: the new revision, then the end of the one before.
    await insertEntity(catalog, 'subscribers', { aid: 7, sid: 70, from })
    await poll()
    await writeEntity(catalog, 'subscribers', { ...before, to: from }, replace)
    await poll()
    await settle()
    expect(events).toEqual([{ kind: 'reauthorize', aid: 7, sid: 70 }])
    await settle()
    expect(events).toHaveLength(1)
  })

  it('of the catalogue is sent once', async () => {
    const { catalog } = stores()
    const before = await insertEntity(catalog, 'plans', { name: 'CUT' })
    const { events, start, poll, settle } = await listen()
    await start(false)
    await insertEntity(catalog, 'plans', { name: 'CUT', from })
    await poll()
    await poll()
    await writeEntity(catalog, 'plans', { ...before, to: from }, replace)
    await settle()
    await settle()
    expect(events).toEqual([{ kind: 'reauthorizeAll' }])
  })

  it('is sent eventually, even if changes follow each other without a pause', async () => {
    const { catalog } = stores()
    let stored: object = await insertEntity(catalog, 'subscribers', { aid: 7, sid: 70 })
    const { events, start, poll } = await listen()
    await start(false)
    for (let count = 0; count < 25; count += 1) {
      const next = { ...stored, barred: count % 2 === 0 }
      stored = await writeEntity(catalog, 'subscribers', next, replace)
      await poll()
    }
    expect(events).toEqual([{ kind: 'reauthorize', aid: 7, sid: 70 }])
  })

  it('of an account includes its subscribers and top-ups made meanwhile', async () => {
    const { catalog, ledger } = stores()
    const { events, start, poll, settle } = await listen()
    await start(false)
    await insertEntity(catalog, 'subscribers', ACCOUNT)
    await insertEntity(catalog, 'subscribers', { aid: 7, sid: 70 })
    await poll()
    await topUp(ledger, 7, 70, 100, 'pending')
    // Session events are sent in order.
    await topUp(ledger, 8, 80, 100, 'other')
    await waitUntil('the other session event', () => events.length > 0)
    await settle()
    expect(events).toEqual([
      { kind: 'reauthorize', aid: 8, sid: 80 },
      { kind: 'reauthorize', aid: 7, sid: 0 },
    ])
  })
})

it('a change of an account is sent for all its subscribers', async () => {
  const { events, start } = await listen()
  await start()
  const write = () => insertEntity(stores().catalog, 'subscribers', ACCOUNT)
  expect(await eventsAfter(events, write)).toEqual([{ kind: 'reauthorize', aid: 7, sid: 0 }])
})

const ACCOUNT = { type: 'account', aid: 7, sid: undefined }

it('no session ends because MongoDB is down or too many subscribers change', async () => {
  const { catalog } = stores()
  const stored = await insertEntity(catalog, 'subscribers', { aid: 7, sid: 70 })
  const away = () => Promise.reject(new CatalogUnavailableError('away'))
  const outage = await listen({ subscriberExists: away })
  const full = await listen({ lookUpsMax: 0 })
  await Promise.all([outage.start(), full.start()])
  const gone = { ...stored, to: new Date(NOW_MS) }
  await writeEntity(catalog, 'subscribers', gone, replace)
  await waitUntil('both session events', () => outage.events.length + full.events.length === 2)
  for (const { events } of [outage, full]) {
    expect(events).toEqual([{ kind: 'reauthorize', aid: 7, sid: 70 }])
  }
})

it('several changes of a catalogue seen by others are sent as one session event', async () => {
  const { events, start } = await listen()
  await start()
  await insertEntity(stores().catalog, 'plans', { name: 'SECOND' })
  await waitUntil('the session event', () => events.length > 0)
  expect(events).toEqual([{ kind: 'reauthorizeAll' }])
  const older = { $set: { 'numbers.plans': 0 } }
  await stores().catalog.transactions.updateOne({ _id: 'head' }, older)
  await waitUntil('an older database', () => events.length > 1)
  expect(events).toEqual([{ kind: 'reauthorizeAll' }, { kind: 'reauthorizeAll' }])
})
