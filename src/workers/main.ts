/** Entry of a worker thread: builds what it needs once, then takes batches (piscina). */

import { randomInt } from 'node:crypto'
import { isMainThread, workerData } from 'node:worker_threads'
import { openCatalog } from '../catalog/connection.ts'
import { createCatalogFeed } from '../catalog/feed.ts'
import type { SubscriberChange } from '../catalog/subscriber-watch.ts'
import { findSubscriber } from '../catalog/subscribers.ts'
import type { Config } from '../config/schema.ts'
import { assert } from '../domain/assert.ts'
import { createCycleFinder } from '../domain/cycle.ts'
import type { WorkerResult, WorkerTask } from '../domain/worker-task.ts'
import { createLedger } from '../ledger/ledger.ts'
import { compileRateKey } from '../rating/match.ts'
import { systemClock } from '../runtime/clock.ts'
import { createLogger } from '../runtime/log.ts'
import { openRedis, waitForRedis } from '../store/redis.ts'
import { startBacklogWatch } from './backlog-watch.ts'
import { createProcessor, type Processor } from './process.ts'
import { Profiles } from './profiles.ts'

assert(!isMainThread, 'workers/main.ts runs in a worker thread')

/** What the pool hands to its threads. */
interface WorkerSettings {
  config: Config
  /** Index of the thread, from 0; that of one that was replaced stays the same. */
  worker: number
}

async function build({ config, worker }: WorkerSettings): Promise<Processor> {
  const log = createLogger({ name: `worker-${worker}`, level: config.log.level })
  const clock = systemClock
  const redis = openRedis(config.redis, log)
  // Without Redis or MongoDB the worker starts all the same, and answers that they are down.
  await waitForRedis(redis, config.redis.connectTimeoutMs).catch(() => undefined)
  const ledger = createLedger(redis, config.ledger, randomInt(1, 2 ** 47))
  const { url, database, timeoutMs } = config.mongo
  const catalog = await openCatalog({ url, database, timeoutMs, appName: 'tollgate-worker' })
  const feed = createCatalogFeed({ catalog, pollMs: config.catalog.pollMs, log, clock })
  const profiles = new Profiles((query) => findSubscriber(catalog, query), {
    entriesMax: config.catalog.profilesCachedMax,
    unknownTtlMs: config.catalog.unknownTtlMs,
  })
  feed.onSubscriberChange((change) => dropProfiles(profiles, change))
  await feed.start()
  const backlog = startBacklogWatch({ ledger, ...config.ledger, log: worker === 0 ? log : null })
  await backlog.look().catch(() => undefined)
  const rateKeys = config.rating.rateKeys.map(compileRateKey)
  const cycleAt = createCycleFinder(config.rating.timeZone, config.rating.cycleDay)
  const settings = { ...config.session, replayMs: config.ledger.replayMs }
  return createProcessor({
    ledger,
    profiles,
    clock,
    context: (nowMs) => ({ catalogue: feed.current(), rateKeys, cycleAt, settings, nowMs }),
    isCatalogueLoaded: () => feed.loaded(),
    refusal: backlog.refusal,
    ...config.ledger,
    onDefect: (error) => log.error({ err: error }, 'defect'),
  })
}

function dropProfiles(profiles: Profiles, change: SubscriberChange): void {
  if (change.scope === 'all') {
    profiles.clear()
    return
  }
  const imsis = change.imsi.map((imsi) => `imsi:${imsi}`)
  profiles.drop(change.sid, [`msisdn:${change.msisdn}`, ...imsis])
}

const ready = build(workerData as WorkerSettings)

/** Takes one batch. Never rejects because of a request: each has its own outcome. */
export default async function run(task: WorkerTask): Promise<WorkerResult> {
  return (await ready).process(task)
}
