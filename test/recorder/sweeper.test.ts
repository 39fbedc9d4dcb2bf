import { expect, it } from 'vitest'
import { openSessions } from '../../src/ledger/streams.ts'
import { startSweeper } from '../../src/recorder/sweeper.ts'
import {
  bucketOf,
  keyOf,
  openLedger,
  ownerOf,
  REPLAY_MS,
  seed,
  sessionOf,
  writing,
} from '../support/ledger/fixture.ts'
import { useOpened } from '../support/opened.ts'
import { startTestRedis } from '../support/redis.ts'
import { waitUntil } from '../support/wait.ts'
import { log, NOW_MS } from '../support/workers/processor-fixture.ts'

const HOUR_MS = 3_600_000
/** In the partition where a sweeper begins. */
const AID = 4

const redis = useOpened(() => startTestRedis({ appendfsync: 'everysec' }))
const ledger = useOpened(() => openLedger(redis().url))

async function openMany(aid: number, sid: number, count: number): Promise<void> {
  await seed(ledger(), sid, 100, aid)
  const sessions = Array.from({ length: count }, (_, index) => {
    const sessionId = `${sid}-${index}`
    const session = sessionOf(sid, sessionId, { aid })
    return { sessionKey: keyOf(sessionId), session, before: null }
  })
  await ledger().commit([writing(ownerOf(sid, 2, [bucketOf(100)], aid), {}, sessions)], NOW_MS)
}

function sweeperOf(intervalMs: number, expired: number[]) {
  return startSweeper({
    ledger: ledger(),
    log,
    clock: { nowMs: () => NOW_MS + 2000 },
    token: 'one',
    metrics: { sessionsExpired: (count) => expired.push(count) },
    intervalMs,
    batchMax: 20,
    replayMs: REPLAY_MS,
  })
}

it('the sweeper continues a partition while batches are full, and stops immediately', async () => {
  await openMany(AID, 1, 130)
  const expired: number[] = []
  // The next interval never begins.
  const sweeper = sweeperOf(HOUR_MS, expired)
  await waitUntil('all have expired', async () => (await openSessions(ledger())) === 0)
  await sweeper.stop()
  expect(expired).toEqual([20, 20, 20, 20, 20, 20, 10])
})

it('the sweeper leaves a partition after a number of batches to serve the others', async () => {
  await openMany(AID, 2, 20 * 17)
  await openMany(AID + 1, 3, 7)
  const expired: number[] = []
  const sweeper = sweeperOf(20, expired)
  await waitUntil('all have expired', async () => (await openSessions(ledger())) === 0)
  await sweeper.stop()
  expect(expired).toEqual([...Array.from({ length: 16 }, () => 20), 7, 20])
})
