import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { SessionState } from '../../src/domain/session.ts'
import type { AccountCommit } from '../../src/ledger/commit-layout.ts'
import { layOut } from '../../src/ledger/commit-layout.ts'
import {
  bucketOf,
  contents,
  keyOf,
  loadOne,
  type OpenLedger,
  openTwoLedgers,
  ownerOf,
  SETTINGS,
  seed,
  sessionOf,
  writing,
} from '../support/ledger/fixture.ts'
import { emptyLedger } from '../support/ledger.ts'
import { lineOf } from '../support/recorder/accounts.ts'
import { NOW_MS } from '../support/workers/processor-fixture.ts'

let ledger: OpenLedger
let other: OpenLedger
let close: () => Promise<void>

beforeAll(async () => {
  ;({ ledger, other, close } = await openTwoLedgers())
})
afterAll(() => close())
beforeEach(async () => {
  await emptyLedger(ledger)
  await seed(ledger, 1, 1000)
})

const sessionKey = keyOf('a')

type Step = Partial<AccountCommit> & {
  before?: SessionState | null
  state?: SessionState
  expiresMs?: number
  aid?: number
}

/** Spends of the seeded amount and writes a session, open before and after by default. */
function updating(version: number, step: Step = {}, credited = 1000) {
  const { before = 'open', state = 'open', expiresMs = NOW_MS, aid = 1, ...more } = step
  const bucket = bucketOf(credited, { spent: version, free: credited - version })
  const session = sessionOf(1, 'a', { aid, processed: version, state, expiresMs })
  return writing(ownerOf(1, version, [bucket], aid), more, [{ sessionKey, session, before }])
}

const line = (aid = 1) => ({ ...lineOf(aid, 1, `line-${aid}`), state: 'closed' as const })
const registration = { sessionKey, location: '1:1', expected: '1:1', ttlMs: 5000 }
const start: Step = { before: null, registrations: [registration] }
const fenced: Step = { shared: { expectedVersion: -1, state: null, fence: 0 } }
const release: Step = { state: 'closed', lines: [line()] }

/** Bytes of a call before the kind of its first account. */
const KIND_AT = 8 + 8 + 2 + 4 + 2

/**
 * The script decides an account with one owner and one session in one pass, and all others step by
 * step: with the same result.
 */
describe.each<{ name: string; kind: number; more: Step }>([
  { name: 'an update', kind: 0, more: {} },
  { name: 'an update with a line', kind: 8, more: { lines: [line()] } },
  { name: 'a start', kind: 5, more: start },
  { name: 'a release', kind: 10, more: release },
  {
    name: 'an account of another kind',
    kind: 255,
    more: { registrations: [registration, registration] },
  },
])('$name', ({ kind, more }) => {
  const reply = async (commit: AccountCommit, by = ledger, nowMs = NOW_MS) =>
    (await by.commit([commit], nowMs))[0]

  it('is encoded with its kind', () => {
    const settings = { ...SETTINGS, keys: ledger.keys, token: 1 }
    const call = layOut([updating(2, more)], settings, { key: 'e', text: '1' }, NOW_MS)
    expect((call.args[1] as Buffer)[KIND_AT]).toBe(kind)
  })

  it('is committed with its state and session', async () => {
    expect(await reply(updating(2, more))).toEqual({ kind: 'committed' })
    const loaded = await loadOne(ledger, 1, [sessionKey])
    expect(loaded.state.buckets).toMatchObject([{ spent: 2 }])
    expect(loaded.sessions).toMatchObject([{ processed: 2 }])
  })

  it('conflicts if it was written since, and carries its current state', async () => {
    await reply(updating(2, more))
    expect(await reply(updating(2, more))).toMatchObject({
      kind: 'conflict',
      owners: [{ state: { version: 2 }, sessions: [{ processed: 2 }] }],
    })
  })

  it('conflicts if shared buckets were created since', async () => {
    await ledger.commit([writing(ownerOf(0, 1, [bucketOf(0)]))], NOW_MS)
    const expecting = { ...more, shared: { expectedVersion: 0, state: null } }
    expect(await reply(updating(2, expecting))).toMatchObject({ kind: 'conflict' })
    expect((await loadOne(ledger, 1)).state.version).toBe(1)
  })

  it('is refused if it changes credit', async () => {
    expect(await reply(updating(2, more, 1001))).toMatchObject({
      kind: 'corrupt',
      detail: expect.stringContaining('credit changed'),
    })
    expect((await loadOne(ledger, 1)).state.version).toBe(1)
  })

  it('waits while another worker has a back-off hint', async () => {
    await reply(updating(3, { ...more, backoffHintMs: 50 }))
    expect(await reply(updating(2, more), other)).toEqual({ kind: 'busy', registered: null })
    expect(await reply(updating(2, more))).toEqual({ kind: 'committed' })
    expect(await reply(updating(3, more), other)).toEqual({ kind: 'committed' })
  })

  it('twice in a call is committed in order', async () => {
    const replies = await ledger.commit([updating(2, more), updating(3, more)], NOW_MS)
    expect(replies).toEqual([{ kind: 'committed' }, { kind: 'committed' }])
    expect((await loadOne(ledger, 1)).state.version).toBe(3)
  })
  it('twice in a call with the same version is committed once', async () => {
    const replies = await ledger.commit([updating(2, more), updating(2, more)], NOW_MS)
    expect(replies.map(({ kind: code }) => code)).toEqual(['committed', 'conflict'])
  })
})

describe.each<{ name: string; step: Step }>([
  {
    name: 'start',
    step: { ...start, registrations: [{ ...registration, location: '5:1', expected: '' }] },
  },
  { name: 'release', step: release },
])('a refused $name', ({ name, step }) => {
  const odd = { ...step, aid: 5, ...(step.lines === undefined ? {} : { lines: [line(5)] }) }
  const account = () => ledger.keys.account(5)
  const closing = (aid: number) => updating(2, { ...release, aid, lines: [line(aid)] })

  it.each<[string, () => Promise<unknown>, string, Step]>([
    ['a newer version', () => ledger.commit([updating(2, { aid: 5 })], NOW_MS), 'conflict', {}],
    ['a newer fence', () => ledger.raiseFence(5, 0, false, NOW_MS), 'conflict', fenced],
    ['a damaged owner', () => ledger.redis.client.hset(account(), 's:1', 'x'), 'corrupt', {}],
    ['an account of another type', () => replaced(account()), 'corrupt', {}],
    ['an index of another type', () => replaced(ledger.keys.expiry(1)), 'corrupt', {}],
    ['an expiry that is not a number', async () => 0, 'corrupt', { expiresMs: Number.NaN }],
    ['a hint of another worker', hint, 'busy', {}],
  ])('because of %s is not written at all, and its neighbours are whole', async (...row) => {
    const [, prepare, kind, more] = row
    for (const aid of [2, 3, 5]) await seed(ledger, 1, 1000, aid)
    await prepare()
    const before = await contents(ledger)
    const batch = [closing(2), updating(2, { ...odd, ...more }), closing(3)]
    const replies = await ledger.commit(batch, NOW_MS)
    expect(replies.map((reply) => reply.kind)).toEqual(['committed', kind, 'committed'])
    const after = await contents(ledger)
    expect(after.get(account())).toBe(before.get(account()))
    expect(after.has(ledger.keys.directory(sessionKey))).toBe(false)
    const tombstones = [1, 2, 3].map((partition) => ledger.keys.tombstones(partition))
    const count = async (key: string) => await ledger.redis.client.zcard(key)
    expect(await Promise.all(tombstones.map(count))).toEqual([0, 1, 1])
    for (const aid of [2, 3]) expect((await loadOne(ledger, 1, [], aid)).state.version).toBe(2)
  })

  if (name === 'start') {
    it('because its session is registered in another account is not written', async () => {
      await seed(ledger, 1, 1000, 5)
      await ledger.redis.client.set(ledger.keys.directory(sessionKey), '9:9')
      const before = await contents(ledger)
      const [reply] = await ledger.commit([updating(2, odd)], NOW_MS)
      expect(reply).toMatchObject({ kind: 'registered', location: { aid: 9, sid: 9 } })
      expect(await contents(ledger)).toEqual(before)
    })
  }
})

async function hint(): Promise<void> {
  await other.commit([updating(9, { aid: 5, backoffHintMs: 50 })], NOW_MS)
}

async function replaced(key: string): Promise<void> {
  await ledger.redis.client.set(key, 'another type')
}
