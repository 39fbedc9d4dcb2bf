/** Ten thousand sessions that end at the same time: no report is refused, all are settled. */
import { expect, it } from 'vitest'
import {
  grantedBy,
  openSessions,
  type ReleaseProtocol,
  releaseAll,
  startUpdates,
  USED,
} from '../../bench/mass-release.ts'
import { loadConfig } from '../../src/config/load.ts'
import { useOpened } from '../support/opened.ts'
import { aidOf, FIRST_SID, populate } from '../support/product/population.ts'
import { startProduct } from '../support/product/product.ts'
import { openLedgerReader } from '../support/system/exchange.ts'

const SESSIONS = 10_000
const SUBSCRIBERS = 500
const PER_ACCOUNT = 4
const BESIDE = 8
const GIB = 1024 ** 3

const product = useOpened(
  () =>
    startProduct({
      // The default, which limits terminations to a part of what is answered in 20 ms.
      queueMsMax: loadConfig({ env: {} }).realtime.queueMsMax,
      // The machine may be slow, and this test is not about time.
      environment: {
        TOLLGATE_REALTIME_REQUEST_TIMEOUT_MS: '60000',
        TOLLGATE_SHUTDOWN_TIMEOUT_MS: '180000',
      },
    }),
  (opened) => opened.stop(),
)
const reader = useOpened(async () => {
  const credits = [
    { prepaidIncludeId: 1, amount: 1_000_000_000_000 },
    { prepaidIncludeId: 2, amount: 1000 * GIB },
  ]
  const sizes = { subscribers: SUBSCRIBERS, subscribersPerAccount: PER_ACCOUNT }
  await populate({ ...product(), ...sizes, credits })
  await product().start('realtime')
  return openLedgerReader(product().redisUrl)
})

/** Spent and reserved data of all subscribers, bytes. */
async function dataBalances() {
  let [spent, reserved] = [0, 0]
  for (let index = 0; index < SUBSCRIBERS; index += 1) {
    const { buckets } = await reader().ownerOf(aidOf(index, PER_ACCOUNT), FIRST_SID + index)
    for (const bucket of buckets) {
      if (bucket.prepaidIncludeId !== 2) continue
      spent += bucket.spent
      reserved += bucket.reserved
    }
  }
  return { spent, reserved }
}

it.each<[ReleaseProtocol, number, number]>([
  ['diameter', 2, 2],
  ['json', 1_000, 1],
  ['keyValue', 1_000, 1],
])('a mass release over %s settles every report', async (protocol, connections, services) => {
  const before = await dataBalances()
  const mass = { protocol, run: `mass-${protocol}`, sessions: SESSIONS, connections }
  const releases = { ...mass, subscribers: SUBSCRIBERS }
  await openSessions(product(), { ...releases, connections: Math.min(connections, 64) })
  expect((await dataBalances()).reserved).toBeGreaterThan(before.reserved)
  const updates = await startUpdates(product(), `beside-${protocol}`, BESIDE)
  const { answers } = await releaseAll(product(), releases)
  await updates.stop()
  expect(answers).toEqual({ [grantedBy(protocol)]: SESSIONS })
  const beside = updates.figures().answers
  expect(Object.keys(beside)).toEqual([grantedBy('json')])
  const after = await dataBalances()
  const used = SESSIONS * services * USED + (beside['200 1'] ?? 0) * USED
  expect(after.spent - before.spent).toBe(used)
})
