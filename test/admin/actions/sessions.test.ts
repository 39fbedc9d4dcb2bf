import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { releasesessions } from '../../../src/admin/actions/release-sessions.ts'
import { sessions } from '../../../src/admin/actions/sessions.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { emptyLedger } from '../../support/ledger.ts'
import { openSession, topUp } from '../../support/recorder/accounts.ts'

const GY = 'diameter:net/gy'
const EXPIRES_MS = Date.UTC(2100, 0, 1)
const api = useActionServer([sessions, releasesessions], {}, { hasLedger: true })

beforeAll(() => insertEntity(api.catalog(), 'subscribers', { aid: 7, sid: 70 }))
beforeEach(async () => {
  await emptyLedger(api.ledger())
  for (const [aid, sid] of [
    [7, 70],
    [7, 71],
    [8, 80],
  ] as const) {
    await topUp(api.ledger(), aid, sid, 1_000, `${sid}`)
  }
  await open(7, 70, 'one', GY)
  await open(7, 71, 'two', 'http')
  await open(8, 80, 'three', 'http', EXPIRES_MS + 1)
})

function open(aid: number, sid: number, sessionId: string, origin: string, atMs = EXPIRES_MS) {
  return openSession(api.ledger(), { aid, sid, sessionId, origin }, 100, atMs)
}

async function ids(params: Record<string, unknown>): Promise<[string[], unknown]> {
  const answer = await api.ask('sessions', params, { method: 'GET', as: 'query' })
  const details = answer['details'] as { session_id: string }[]
  return [details.map(({ session_id }) => session_id).sort(), answer['next']]
}

describe('sessions', () => {
  it.each([
    [{}, ['one', 'three', 'two']],
    [{ aid: 7 }, ['one', 'two']],
    [{ sid: 70 }, ['one']],
    [{ aid: 7, sid: 71 }, ['two']],
    [{ origin: 'diameter:net' }, ['one']],
    [{ origin: 'http' }, ['three', 'two']],
    [{ origin: 'htt' }, []],
    [{ usaget: 'data' }, ['one', 'three', 'two']],
    [{ usaget: 'call' }, []],
    [{ opened_before: '2020-01-01' }, []],
    [{ open_for: 1 }, []],
    [{ opened_before: '2100-01-01' }, ['one', 'three', 'two']],
  ])('%j', async (params, wanted) => {
    expect(await ids(params)).toEqual([wanted, null])
  })

  it('lists sessions that have been open for some time', async () => {
    const [{ opened } = { opened: '' }] = (await api.ask('sessions', { sid: 70 }))['details'] as {
      opened: string
    }[]
    const nowMs = api.now()
    try {
      api.at(Date.parse(opened) + 10 * 60_000)
      expect((await ids({ open_for: 10 }))[0]).toEqual([])
      api.at(api.now() + 1)
      expect((await ids({ open_for: 10 }))[0]).toContain('one')
    } finally {
      api.at(nowMs)
    }
  })

  it('has the reservations', async () => {
    const { details } = await api.ask('sessions', { sid: 70 })
    expect(details).toMatchObject([
      { aid: 7, sid: 70, origin: GY, services: [{ reserved: 100, reserved_money: 0, used: 0 }] },
    ])
  })

  it.each([[{}], [{ aid: 7 }]])('has pages that do not overlap: %j', async (filter) => {
    const total = (await ids(filter))[0].length
    const seen: string[] = []
    let after: unknown = null
    do {
      const more = after === null ? {} : { after }
      const [found, next] = await ids({ ...filter, ...more, size: 1 })
      seen.push(...found)
      after = next
    } while (after !== null)
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen).toHaveLength(total)
  })

  it('has all sessions of one expiry, beyond a step', async () => {
    await topUp(api.ledger(), 9, 90, 1_000_000, 'many')
    for (let index = 0; index < 520; index += 1) await open(9, 90, `s${index}`, 'http')
    const [first, next] = await ids({ size: 505 })
    const [rest, end] = await ids({ size: 505, after: next })
    expect(end).toBe(null)
    expect(new Set([...first, ...rest]).size).toBe(523)
    expect(first.length + rest.length).toBe(523)
  })

  it.each([
    [{ size: 0 }, 'at least 1'],
    [{ size: 1_001 }, 'at most 1000'],
    [{ after: 'x' }, 'Field after must be next of a page'],
    [{ after: '99999.1.' }, 'Field after must be next of a page'],
    [{ sid: 99 }, 'there is no subscriber 99 now: give its aid'],
    [{ open_for: 0 }, 'Field open_for must be at least 1'],
    [{ opened_before: 'once' }, 'should be of type Date'],
  ])('refuses %j', async (params, text) => {
    const message = expect.stringContaining(text)
    expect(await api.ask('sessions', params)).toMatchObject({ status: 0, message })
  })
})

describe('releasesessions', () => {
  const one = { session_id: 'one', origin: GY }
  const two = { session_id: 'two', origin: 'http' }
  const audited = () => api.catalog().audit.find({ collection: 'sessions' }).toArray()
  const release = (params: Record<string, unknown>) => api.ask('api/sessions/release', params)

  it('ends sessions immediately, with the reason in the audit', async () => {
    await api.catalog().audit.deleteMany({})
    const answer = await release({ sessions: [two, one], reason: 'stolen', now: true })
    expect(answer['details']).toMatchObject([
      { ...two, outcome: 'ended', nodes_notified: null, released: [{ reserved: 100 }] },
      { ...one, outcome: 'ended', nodes_notified: true },
    ])
    expect(await ids({ aid: 7 })).toEqual([[], null])
    const records = await audited()
    expect(records).toHaveLength(2)
    expect(records[0]).toMatchObject({ type: 'release', key: 'two', new: { reason: 'stolen' } })
  })

  it('asks network elements, and refuses the others one by one', async () => {
    await api.catalog().audit.deleteMany({})
    const none = { session_id: 'none', origin: GY }
    const { details } = await release({ sessions: [two, none, one], reason: 'stuck' })
    expect(details).toMatchObject([
      { outcome: 'refused', why: expect.stringContaining('did not come over Diameter') },
      { outcome: 'refused', why: `there is no session none of ${GY}` },
      { ...one, outcome: 'asked' },
    ])
    expect(await audited()).toMatchObject([{ type: 'ask_to_end', new: { reason: 'stuck' } }])
    expect(await ids({ aid: 7 })).toEqual([['one', 'two'], null])
  })

  it('says that a session is closed already', async () => {
    await release({ sessions: [one], reason: 'x', now: true })
    const { details } = await release({ sessions: [one], reason: 'x', now: true })
    expect(details).toMatchObject([{ outcome: 'refused', why: 'session one is closed already' }])
  })

  it.each([
    [{ sessions: [one] }, 'Following field/s are missing: reason'],
    [{ sessions: [one], reason: ' ' }, 'Field reason must not be empty'],
    [{ sessions: '', reason: 'x' }, 'Following field/s are missing: sessions'],
    [{ sessions: [], reason: 'x' }, 'Field sessions must not be empty'],
    [{ sessions: Array(101).fill(one), reason: 'x' }, 'more than 100 members'],
    [{ sessions: ['one'], reason: 'x' }, 'sessions.0 must be an object'],
    [{ sessions: [one, { session_id: 'x' }], reason: 'x' }, 'sessions.1.origin must be a text'],
    [{ sessions: [{ ...one, sid: 1 }], reason: 'x' }, 'sessions.0.sid is not one of'],
  ])('refuses %j whole', async (params, text) => {
    const message = expect.stringContaining(text)
    expect(await release({ ...params, now: true })).toMatchObject({ status: 0, message })
    expect(await ids({ aid: 7 })).toEqual([['one', 'two'], null])
  })
})
