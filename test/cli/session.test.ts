import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sessionKeyOf } from '../../src/ledger/keys.ts'
import {
  type PublishedSessionEvent,
  subscribeToSessionEvents,
} from '../../src/store/session-events.ts'
import { insertEntity } from '../support/catalog/store.ts'
import { runOn } from '../support/cli/tollgate.ts'
import { emptyLedger } from '../support/ledger.ts'
import {
  openSession,
  silent,
  startTestStores,
  type TestStores,
  topUp,
} from '../support/recorder/accounts.ts'
import { waitUntil } from '../support/wait.ts'

const GY = 'diameter:net/gy'
const EXPIRES_MS = Date.UTC(2100, 0, 1)
const hints: PublishedSessionEvent[] = []
let stores: TestStores
let close: () => void

beforeAll(async () => {
  stores = await startTestStores()
  const following = subscribeToSessionEvents(
    stores.ledger.redis,
    (hint) => hints.push(hint),
    silent,
  )
  await waitUntil('session events arrive', () => following.isListening())
  close = () => following.close()
  await insertEntity(stores.catalog, 'subscribers', { aid: 7, sid: 70 })
  await insertEntity(stores.catalog, 'prepaidincludes')
})
afterAll(async () => {
  close?.()
  await stores?.close()
})
beforeEach(async () => {
  await emptyLedger(stores.ledger)
  await topUp(stores.ledger, 7, 70, 1_000, 'a')
  await topUp(stores.ledger, 7, 71, 1_000, 'b')
  await waitUntil('session events of the top-ups', () => hints.length === 2)
  hints.length = 0
})

const run = (...args: string[]) => runOn(stores, args)

/** A session that has reserved 100 units. */
function open(sid: number, sessionId: string, origin: string) {
  return openSession(stores.ledger, { aid: 7, sid, sessionId, origin }, 100, EXPIRES_MS)
}

async function stateOf(sid: number, sessionId: string, origin: string) {
  const sessionKeys = [sessionKeyOf(origin, sessionId)]
  const [owner] = await stores.ledger.load([{ aid: 7, sid, sessionKeys }])
  if (owner === undefined || owner instanceof Error) throw owner
  return [owner.sessions[0]?.state, owner.state.buckets[0]?.reserved]
}

const refused = (code: number, text: string) => ({
  code,
  stdout: '',
  stderr: `tollgate: ${text}\n`,
})

it('tollgate balance add publishes a session event for its change before it exits', async () => {
  const add = ['balance', 'add', '--sid', '70', '--include', '1', '--amount', '5']
  for (let times = 1; times <= 2; times += 1) {
    expect(await run(...add, '--operation-id', 'x')).toMatchObject({ code: 0, stderr: '' })
  }
  await run(...add, '--operation-id', 'y')
  await waitUntil('both', () => hints.length >= 2)
  const hint = { cause: 'credit', aid: 7, sid: 70 }
  expect(hints.splice(0)).toEqual([hint, hint])
})

describe('tollgate session list', () => {
  it('shows the open sessions of a subscriber or an account', async () => {
    await open(70, 'one', GY)
    await open(71, 'two', 'http')
    const { code, stdout } = await run('session', 'list', '--sid', '70', '--json')
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      [
        {
          origin: GY,
          session_id: 'one',
          aid: 7,
          sid: 70,
          request_num: 0,
          opened: '2026-11-21T00:00:00.000Z',
          expires: '2100-01-01T00:00:00.000Z',
          services: [
            {
              rating_group: 10,
              service_identifier: null,
              usaget: 'data',
              reserved: 100,
              reserved_money: 0,
              used: 0,
            },
          ],
        },
      ],
    ])
    const table = await run('session', 'list', '--aid', '7')
    expect(table.stdout).toMatch(/70 +one +diameter:net\/gy +2026-11-21T\S+ +2100-\S+ +0 +10: 100/)
    expect(table.stdout).toMatch(/71 +two +http/)
  })

  it('of a closed subscriber requires the account as well', async () => {
    await open(71, 'two', 'http')
    expect(await run('session', 'list', '--sid', '71')).toEqual(
      refused(1, 'there is no subscriber 71 now'),
    )
    const { stdout } = await run('session', 'list', '--sid', '71', '--aid', '7')
    expect(stdout).toContain('two')
    expect((await run('session', 'list', '--aid', '8')).stdout).toBe('no open sessions\n')
    const text = 'give --sid for a subscriber, or --aid for an account'
    expect(await run('session', 'list')).toEqual(refused(2, text))
  })
})

describe('tollgate session release', () => {
  it('notifies the nodes, and leaves the release to the network element', async () => {
    await open(70, 'one', GY)
    const { code, stdout } = await run('session', 'release', 'one')
    const name = `session one of ${GY} (subscriber 70, account 7)`
    expect([code, stdout]).toEqual([
      0,
      `notified all nodes: the network element of ${name} is asked to end it\n`,
    ])
    await waitUntil('the session event', () => hints.length > 0)
    expect(hints).toEqual([{ cause: 'release', origin: GY, sessionId: 'one' }])
    expect(await stateOf(70, 'one', GY)).toEqual(['open', 100])
    hints.length = 0
  })

  it('releases immediately with --force, and notifies the nodes too', async () => {
    await open(70, 'one', GY)
    const { code, stdout } = await run('session', 'release', 'one', '--origin', GY, '--now')
    expect([code, stdout]).toEqual([
      0,
      `ended session one of ${GY} (subscriber 70, account 7); released: 10: 100 data\n` +
        'notified all nodes to end it there\n',
    ])
    expect(await stateOf(70, 'one', GY)).toEqual(['expired', 0])
    await waitUntil('the session event', () => hints.length > 0)
    hints.length = 0
    const closed = refused(1, 'session one is closed already')
    expect(await run('session', 'release', 'one', '--now')).toEqual(closed)
    expect(await run('session', 'release', 'one', '--origin', GY)).toEqual(closed)
  })

  it('asks which session is meant where two network elements use the same id', async () => {
    await open(70, 'one', GY)
    await open(71, 'one', 'http')
    const text = `session one is open under ${GY} and http: say which with --origin`
    expect(await run('session', 'release', 'one', '--now')).toEqual(refused(1, text))
    expect((await run('session', 'release', 'one', '--now', '--origin', 'http')).code).toBe(0)
    expect(await stateOf(70, 'one', GY)).toEqual(['open', 100])
    expect(await stateOf(71, 'one', 'http')).toEqual(['expired', 0])
  })

  it('refuses impossible requests by name', async () => {
    await open(70, 'web', 'http')
    expect(await run('session', 'release', 'none')).toEqual(refused(1, 'there is no session none'))
    const elsewhere = `there is no session web of ${GY}`
    expect(await run('session', 'release', 'web', '--origin', GY)).toEqual(refused(1, elsewhere))
    const why =
      'did not come over Diameter, so its network element cannot be asked to end it: use --now'
    expect(await run('session', 'release', 'web')).toEqual(refused(1, `session web of http ${why}`))
    expect(hints).toEqual([])
  })
})
