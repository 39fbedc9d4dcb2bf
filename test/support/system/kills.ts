/** `kill -9` of parts in turn, in the midst of a workload that is bounded by its requests. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { LoadBound } from '../product/charge-client.ts'
import type { Product } from '../product/product.ts'
import { waitUntil } from '../wait.ts'
import type { AUDITED } from './audited.ts'
import type { DialectAdapter } from './dialects/adapter.ts'
import type { SessionTruth } from './expected-sessions.ts'
import { Random } from './random.ts'
import { withRecentLogs } from './recent-logs.ts'
import { runWorkload } from './workload.ts'

export type Victim = Parameters<Product['kill9']>[0]

interface Kills {
  product: Product
  population: typeof AUDITED
  seed: number
  /** Sessions at least. */
  sessions: number
  /** In random order. */
  victims: readonly Victim[]
  dialect?: (index: number) => DialectAdapter
  /** Runs under load after the last kill. */
  atLast?: () => Promise<void>
}

export const ROLES = ['realtime', 'admin', 'recorder'] as const
/** An external MongoDB cannot be killed. */
const STORES = process.env['TEST_MONGO_URL'] === undefined ? ['redis', 'mongo'] : ['redis']
export const VICTIMS = [...ROLES, ...STORES] as readonly Victim[]

/** Few, so that the balances of some run out. */
export const SUBSCRIBERS = 48

const CLIENTS = 24
const IN_FLIGHT = CLIENTS / 4
const BEFORE = { least: 2 * CLIENTS, most: 6 * CLIENTS }
const AFTER = 4 * CLIENTS
/** Sessions that have to finish after a part is restarted, before the next one is killed. */
const RECOVERED = 12

/** Requests before a kill, and those that meet the dead part, or the others without it. */
interface Amid {
  product: Product
  bound: LoadBound
  random: Random
  before: number
  after: number
  /** At least, of the clients at the kill: the others may wait to repeat a request. */
  inFlight: number
}

/** Kills a part in the midst of requests, and leaves it dead for a moment. */
export async function killAmid(victim: Victim, amid: Amid): Promise<void> {
  const { product, bound, random, before, after, inFlight } = amid
  await bound.untilSent(before)
  // At any moment of a batch: its requests are read, charged, or answered.
  await pause(random.below(40))
  expect(bound.inFlight).toBeGreaterThanOrEqual(inFlight)
  const killed = product.kill9(victim)
  bound.allow(after)
  await killed
  await pause(random.below(300))
}

/** Kills each victim, leaves it dead for a moment, and waits until the load recovers. */
export async function killUnderLoad(kills: Kills): Promise<SessionTruth[]> {
  const { product, population, seed, sessions, victims, dialect, atLast } = kills
  const random = new Random(seed)
  const bound = new LoadBound()
  let isKilling = true
  let finished = 0
  // A rejected workload must be reported meanwhile.
  const workload = runWorkload({
    ...{ seed, sessions, bound, clients: CLIENTS, ...population, patienceMs: 60_000 },
    ...(dialect !== undefined && { dialect }),
    port: product.realtimePort,
    goesOn: () => isKilling,
    onSession: (count) => {
      finished = count
    },
  })
  const kill = async (victim: Victim) => {
    const before = random.between(BEFORE.least, BEFORE.most)
    const amid = { product, bound, random, before, after: AFTER, inFlight: IN_FLIGHT }
    await killAmid(victim, amid)
    await product.start(victim)
    const enough = finished + RECOVERED
    bound.allow(Number.POSITIVE_INFINITY)
    await waitUntil(`sessions finish after ${victim} is back`, () => finished >= enough)
  }
  const killing = (async () => {
    for (const victim of random.shuffled(victims)) await kill(victim)
    bound.allow(AFTER)
    await atLast?.()
  })().finally(() => {
    isKilling = false
    bound.allow(Number.POSITIVE_INFINITY)
  })
  const [truths] = await withRecentLogs(product, Promise.all([workload, killing]))
  return truths
}
