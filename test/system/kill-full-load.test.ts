/**
 * `kill -9` of each part in turn while a client charges as fast as it is answered. The client keeps
 * its own record of what was acknowledged, and compares it with lines and balances.
 */
// covers: src/ledger/lua/ src/ledger/commit.ts src/recorder/drain.ts src/realtime/pool.ts
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIRST_SID, populate } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { seedOf } from '../support/system/audited.ts'
import { ClientLedger } from '../support/system/client-ledger.ts'
import { linesOf, POPULATION, SUBSCRIBERS, spentOf } from '../support/system/client-stores.ts'
import { tollgate } from '../support/system/command.ts'
import { killAmid, ROLES, VICTIMS, type Victim } from '../support/system/kills.ts'
import { Random } from '../support/system/random.ts'
import { withRecentLogs } from '../support/system/recent-logs.ts'
import { waitUntil } from '../support/wait.ts'

const seed = seedOf()
const ROUNDS = Number(process.env['KILL_LOAD_ROUNDS'] ?? 2)
const CLIENTS = 64
/** Requests that have to be acknowledged after a part is restarted, and before the first kill. */
const RECOVERED = 500
/** Requests of the load while a part is dead. */
const AFTER = 1_000
const STARTS_MAX = 5

let product: Product
const statistics = { acknowledged: 0, refused: 0, sessions: 0, kills: 0, busiest: 0 }

beforeAll(async () => {
  // On a small machine the recorder falls behind while everything is killed.
  const environment = { TOLLGATE_LEDGER_BACKLOG_REFUSE_PERCENT: '99' }
  product = await startProduct({ appendfsync: 'always', environment })
  await populate({ ...product, ...POPULATION, subscribers: SUBSCRIBERS * ROUNDS })
  for (const role of ROLES) await product.start(role)
})
afterAll(() => product?.stop())

/** Prints sums over all rounds so far: all requests, and those of the busiest second. */
function printStatistics(rounds: number): void {
  process.stdout.write(`${JSON.stringify({ rounds, ...statistics })}\n`)
}

describe(`kill -9 at full load, seed ${seed}`, () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    it(`round ${round + 1}: lines and balances are as acknowledged to the client`, async () => {
      const random = new Random(seed + round)
      const firstSid = FIRST_SID + round * SUBSCRIBERS
      const given = { clients: CLIENTS, subscribers: SUBSCRIBERS, firstSid }
      const clientLedger = new ClientLedger({ name: `load-${round}`, ...given })
      const load = clientLedger.run(product.realtimePort)
      const counting = countEachSecond(clientLedger)
      await withRecentLogs(product, Promise.all([load, killEach(clientLedger, random)]))
      clearInterval(counting)
      await clientLedger.finish(product.realtimePort)
      await untilRecorded(clientLedger, round)
      expect(
        clientLedger.differences(await linesOf(product, round), await spentOf(product, round)),
      ).toEqual([])
      statistics.acknowledged += clientLedger.acknowledged
      statistics.refused += clientLedger.refused
      statistics.sessions += clientLedger.sessions.length
      printStatistics(round + 1)
    })
  }

  it('leaves the sums of all rounds on the lines', async () => {
    expect(await tollgate(product, ['audit'])).toMatchObject({ code: 0, stderr: '' })
  })
})

/** Retries like a process supervisor: a store may be too busy for the first attempt. */
async function startAgain(part: Victim): Promise<void> {
  for (let left = STARTS_MAX; ; left -= 1) {
    try {
      return await product.start(part)
    } catch (error) {
      if (left === 1) throw error
      await product.kill9(part).catch(() => undefined)
    }
  }
}

function countEachSecond(clientLedger: ClientLedger): NodeJS.Timeout {
  let before = 0
  return setInterval(() => {
    statistics.busiest = Math.max(statistics.busiest, clientLedger.acknowledged - before)
    before = clientLedger.acknowledged
  }, 1_000)
}

/** In random order, each once the load has recovered from the previous one. */
async function killEach(clientLedger: ClientLedger, random: Random): Promise<void> {
  const { bound } = clientLedger
  const amid = { product, bound, random, after: AFTER, inFlight: CLIENTS / 4 }
  try {
    await waitUntil('the load runs', () => clientLedger.acknowledged >= RECOVERED)
    for (const victim of random.shuffled(VICTIMS)) {
      await killAmid(victim, { ...amid, before: random.between(2 * CLIENTS, 1_000) })
      await startAgain(victim)
      statistics.kills += 1
      const enough = clientLedger.acknowledged + RECOVERED
      bound.allow(Number.POSITIVE_INFINITY)
      await waitUntil(`charging after ${victim} is back`, () => clientLedger.acknowledged >= enough)
    }
  } finally {
    clientLedger.stop()
  }
}

/** Waits until the recorder has written the last lines. */
async function untilRecorded(clientLedger: ClientLedger, round: number): Promise<void> {
  await waitUntil('all lines are on record', async () => {
    const lines = await linesOf(product, round)
    return (
      clientLedger.differences(lines, clientLedger.usedBySubscriber()).length ===
      clientLedger.complaints.length
    )
  }).catch(() => undefined)
}
