/** `/api/live` and its history: answers, streams and their ends, on a real admin. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { refusalOf } from '../../../packages/console/src/api/errors.ts'
import { createMetrics } from '../../../src/runtime/metrics.ts'
import { publishSnapshot } from '../../../src/store/metrics-exchange.ts'
import { openViewer, type Viewer } from '../../support/admin/live/viewer.ts'
import {
  createAnswerCheck,
  DOCUMENT,
  documentedBody,
} from '../../support/admin/openapi/answer-check.ts'
import { startClosedAdmin } from '../../support/identity/closed-admin.ts'
import { useOpened } from '../../support/opened.ts'

const PASSWORD = 'a good password'
const BOSS = 'boss@example.org'
const READER = 'reader@example.org'
const MINUTE_MS = 60_000
const viewers: Viewer[] = []
const documented = createAnswerCheck(DOCUMENT)

const closed = useOpened(() => startClosedAdmin({ TOLLGATE_ADMIN_LIVE_HISTORY: 'false' }))
beforeAll(async () => {
  await closed().addUser(BOSS, PASSWORD, ['admin'])
  await closed().addUser(READER, PASSWORD, ['read'])
})
afterEach(() => {
  for (const viewer of viewers.splice(0)) viewer.close()
})

const get = async (path: string, cookie: string) => {
  const response = await fetch(closed().url + path, { headers: { cookie } })
  const body = await documentedBody('GET', response)
  return { status: response.status, body, details: body['details'] as Record<string, unknown> }
}

const watch = async (cookie: string): Promise<Viewer> => {
  const viewer = await openViewer(`${closed().url}/api/live`, { cookie })
  viewers.push(viewer)
  return viewer
}

describe('GET /api/live', () => {
  it('answers one sample as JSON, without figures of processes that do not report', async () => {
    const cookie = await closed().cookieOf(READER, PASSWORD)
    expect((await get('/api/live', cookie)).body).toMatchObject({ status: 1, desc: 'success' })
    // A store that is slow at the start is shown as unavailable.
    await expect
      .poll(async () => (await get('/api/live', cookie)).details)
      .toMatchObject({
        health: { redis: 'ok', mongo: 'ok', ledger: 'ok', catalogue: 'unknown' },
        processes: { realtime: 0, recorder: 0 },
        requests: { granted: null, denied: null, failed: null, refused: null },
        sessions: { open: null },
        recorder: { backlog: null, age_s: null },
        alarms: [{ name: 'charging' }, { name: 'recorder' }],
      })
  })

  it('streams a sample a second with the rates of all processes', async () => {
    const viewer = await watch(await closed().cookieOf(READER, PASSWORD))
    expect(viewer.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(viewer.response.headers.get('cache-control')).toBe('no-store')
    expect(viewer.response.headers.get('x-frame-options')).toBe('DENY')
    const { redis } = closed().stores.ledger
    const realtime = createMetrics({ node: 'n1', role: 'realtime' })
    const recorder = createMetrics({ node: 'n1', role: 'recorder' })
    recorder.openSessions(7)
    recorder.streamBacklog(12)
    recorder.streamLag(3.5, 4)
    const publish = async () => {
      realtime.request('granted', 1, 2, 'ggsn', 'json')
      realtime.request('denied', -13, 2, 'ggsn', 'xml')
      await publishSnapshot(redis, 'a', await realtime.snapshot())
      await publishSnapshot(redis, 'b', await recorder.snapshot())
    }
    const sampled = async () => {
      await publish()
      return viewer.sample()
    }
    const figure = expect.any(Number)
    await expect.poll(sampled).toMatchObject({
      requests: { granted: figure, denied: figure, failed: 0, refused: 0 },
      processes: { realtime: 1, recorder: 1 },
      latency: { p50_ms: 2, p99_ms: 2, beyond: 0 },
      sessions: { open: 7 },
      recorder: { backlog: 12, age_s: 3.5, drain_s: 4 },
      file_types: [
        { name: 'json', granted: figure, denied: 0, failed: 0 },
        { name: 'xml', granted: 0, denied: figure, failed: 0 },
      ],
      peers: [
        {
          peer: 'ggsn',
          granted: expect.any(Number),
          denied: expect.any(Number),
          failed: 0,
          refused: 0,
          reasons: [{ outcome: 'denied', reason: '-13', rate: expect.any(Number) }],
        },
      ],
      alarms: [],
    })
    const last = viewer.events.at(-1)
    const sample = { $ref: '#/components/schemas/liveSample' }
    expect(documented.mismatches(sample, last?.data)).toEqual([])
    expect(last?.id).toBe(String(last?.data['time']))
  })

  it('allows two streams per login session; a third one is refused, and may poll', async () => {
    const cookie = await closed().cookieOf(READER, PASSWORD)
    const [first] = [await watch(cookie), await watch(cookie)]
    const third = await watch(cookie)
    expect(third.response.status).toBe(429)
    const answer = await third.response.json()
    expect(answer).toMatchObject({
      status: 0,
      code: 429,
      data: { message: expect.stringContaining('2 streams already') },
    })
    // The code by which the console turns to polling.
    expect(refusalOf(third.response.status, answer)).toMatchObject({ code: 429, kind: 'refused' })
    expect((await get('/api/live', cookie)).status).toBe(200)
    const other = await watch(await closed().cookieOf(READER, PASSWORD))
    expect(other.response.status).toBe(200)
    first.close()
    const again = async () => {
      const viewer = await watch(cookie)
      return viewer.response.status
    }
    await expect.poll(again).toBe(200)
  })

  it('refuses unknown parameters by name', async () => {
    const cookie = await closed().cookieOf(READER, PASSWORD)
    const { body } = await get('/api/live?speed=2', cookie)
    expect(body).toMatchObject({ status: 0, message: 'speed is not a parameter of live data' })
  })
})

describe('a stream', () => {
  it('ends when the user logs out', async () => {
    const cookie = await closed().cookieOf(READER, PASSWORD)
    const viewer = await watch(cookie)
    await viewer.sample()
    await closed().post('/auth/logout', {}, cookie)
    expect(await viewer.end()).toBe('session')
  })

  it('ends when the role is withdrawn', async () => {
    const name = 'demoted@example.org'
    await closed().addUser(name, PASSWORD, ['read'])
    const viewer = await watch(await closed().cookieOf(name, PASSWORD))
    await viewer.sample()
    const { catalog } = closed().stores
    await catalog.users.updateOne({ username: name }, { $set: { roles: ['write'] } })
    closed().pass(500)
    expect(await viewer.end()).toBe('role')
  })

  it('ends when the password is changed', async () => {
    const name = 'changed@example.org'
    await closed().addUser(name, PASSWORD, ['read'])
    const viewer = await watch(await closed().cookieOf(name, PASSWORD))
    await viewer.sample()
    const change = { username: name, password: PASSWORD, new_password: 'a better password' }
    expect(await closed().post('/auth/password', change)).toMatchObject({ status: 1 })
    closed().pass(500)
    expect(await viewer.end()).toBe('session')
  })

  it('does not prolong the session: it ends with the idle time', async () => {
    const cookie = await closed().cookieOf(READER, PASSWORD)
    const viewer = await watch(cookie)
    await viewer.sample()
    const idleMinutes = 30
    await closed().setting('security', { session: { idle_minutes: idleMinutes } })
    closed().pass((idleMinutes - 1) * MINUTE_MS)
    expect((await get('/api/live', cookie)).status).toBe(200)
    await viewer.sample()
    expect(viewer.isEnded()).toBe(false)
    closed().pass(2 * MINUTE_MS)
    expect(await viewer.end()).toBe('session')
    expect((await get('/api/live', cookie)).body).toMatchObject({ status: 0, code: 17_574 })
  })

  it('is not needed for that: also polls of cycles and runs do not prolong it', async () => {
    const cookie = await closed().cookieOf(READER, PASSWORD)
    const idleMinutes = 30
    await closed().setting('security', { session: { idle_minutes: idleMinutes } })
    for (let minute = 1; minute < idleMinutes; minute += 1) {
      closed().pass(MINUTE_MS)
      expect((await get('/api/live', cookie)).status).toBe(200)
      expect((await get('/api/live/history', cookie)).status).toBe(200)
      expect((await get('/billrun/cycle?stamp=202601', cookie)).status).toBe(200)
      expect((await get('/api/rerates', cookie)).status).toBe(200)
    }
    closed().pass(2 * MINUTE_MS)
    for (const path of ['/api/live', '/api/live/history']) {
      expect((await get(path, cookie)).body).toMatchObject({ status: 0, code: 17_574 })
    }
  })

  it('continues when the cookie of the session is renewed', async () => {
    const cookie = await closed().cookieOf(READER, PASSWORD)
    const viewer = await watch(cookie)
    closed().pass(20 * MINUTE_MS)
    const response = await fetch(`${closed().url}/billapi/plans/get`, { headers: { cookie } })
    expect(response.headers.getSetCookie()).toHaveLength(1)
    closed().pass(MINUTE_MS)
    await viewer.sample()
    await viewer.sample()
    expect(viewer.isEnded()).toBe(false)
  })
})

describe('GET /api/live/history', () => {
  it('has the series of the samples, from a given time on', async () => {
    const cookie = await closed().cookieOf(READER, PASSWORD)
    const viewer = await watch(cookie)
    closed().pass(10_000)
    const { time } = (await viewer.sample()) as { time: number }
    closed().pass(3_000)
    const last = (await viewer.sample()) as { time: number }
    const { details } = await get(`/api/live/history?from=${time}`, cookie)
    expect(details).toMatchObject({ from: time, to: last.time, step_ms: 1000 })
    const { series } = details as { series: Record<string, (number | null)[]> }
    const seconds = (last.time - time) / 1000 + 1
    expect(series['health.ready']).toHaveLength(seconds)
    expect(series['health.redis']?.at(-1)).toBe(1)
    expect(series['health.redis']).toContain(null)
    const wrong = await get('/api/live/history?from=yesterday', cookie)
    expect(wrong.body).toMatchObject({
      status: 0,
      message: 'from must be a time in milliseconds since 1970',
    })
  })
})

it('a stream shows that Redis is away, goes on, and recovers by itself', async () => {
  const other = await startClosedAdmin()
  await other.addUser(READER, PASSWORD, ['read'])
  const cookie = await other.cookieOf(READER, PASSWORD)
  const viewer = await openViewer(`${other.url}/api/live`, { cookie })
  viewers.push(viewer)
  const health = async () => (await viewer.sample())['health'] as Record<string, string>
  expect(await health()).toMatchObject({ redis: 'ok' })
  await other.stores.server.kill9()
  await expect.poll(async () => (await health())['redis']).toBe('unavailable')
  expect(viewer.events.at(-1)?.data).toMatchObject({
    processes: null,
    alarms: expect.arrayContaining([expect.objectContaining({ name: 'redis' })]),
  })
  await other.stores.server.restart()
  await expect.poll(async () => (await health())['redis']).toBe('ok')
  expect(viewer.isEnded()).toBe(false)
  await other.close()
})

it('streams end when the node stops', async () => {
  const stopping = await startClosedAdmin()
  await stopping.addUser(READER, PASSWORD, ['read'])
  const viewer = await openViewer(`${stopping.url}/api/live`, {
    cookie: await stopping.cookieOf(READER, PASSWORD),
  })
  await viewer.sample()
  await stopping.close()
  expect(await viewer.end()).toBe('stopping')
})
