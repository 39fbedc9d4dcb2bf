import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AccountCommit } from '../../src/ledger/commit-layout.ts'
import { layOut } from '../../src/ledger/commit-layout.ts'
import {
  bucketOf,
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

/** Spends of the seeded amount and writes an open session. */
function updating(version: number, more: Partial<AccountCommit> = {}, credited = 1000) {
  const bucket = bucketOf(credited, { spent: version, free: credited - version })
  const session = sessionOf(1, 'a', { processed: version })
  return writing(ownerOf(1, version, [bucket]), more, [{ sessionKey, session, before: 'open' }])
}

/** Bytes of a call before the kind of its first account. */
const KIND_AT = 8 + 8 + 2 + 4

/**
 * The script decides an account with one owner and one session in one pass, and all others, such
 * as those with lines, step by step: with the same result.
 */
describe.each([
  { name: 'an account with one session', kind: 0, more: {} },
  {
    name: 'an account with one session and a line',
    kind: 2,
    more: { lines: [{ ...lineOf(1, 1, 'line'), state: 'closed' as const }] },
  },
])('$name', ({ kind, more }) => {
  const reply = async (commit: AccountCommit, by = ledger, nowMs = NOW_MS) =>
    (await by.commit([commit], nowMs))[0]

  it('is encoded as such', () => {
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

  it('must not change credit', async () => {
    expect(await reply(updating(2, more, 1001))).toMatchObject({
      kind: 'corrupt',
      detail: expect.stringContaining('credit changed'),
    })
    expect((await loadOne(ledger, 1)).state.version).toBe(1)
  })

  it('waits while another worker has a back-off hint', async () => {
    await reply(updating(3, { ...more, backoffHintMs: 50 }))
    expect(await reply(updating(2, more), other)).toEqual({ kind: 'busy', claim: null })
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
