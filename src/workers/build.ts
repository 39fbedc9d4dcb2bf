/** Composes a worker: its connections, compiled catalogue and caches, and the processor on them. */
import { randomInt } from 'node:crypto'
import { LENIENT } from '../catalog/compile/document.ts'
import { type Catalog, openCatalog } from '../catalog/connection.ts'
import { CHARGING_COLLECTIONS } from '../catalog/entities/entity-table.ts'
import { type CatalogFeed, createCatalogFeed } from '../catalog/feed/feed.ts'
import { keptCustomers } from '../catalog/feed/kept-customers.ts'
import { storedParts } from '../catalog/feed/profiles.ts'
import type { SubscriberChange } from '../catalog/feed/subscriber-watch.ts'
import { findSubscriber, identifiersOf } from '../catalog/feed/subscribers.ts'
import type { Config } from '../config/schema.ts'
import { createCycleFinder } from '../domain/cycle.ts'
import type { WorkerEvent } from '../domain/worker-task.ts'
import { createLedger } from '../ledger/ledger.ts'
import type { ChargeContext } from '../rating/decision.ts'
import { RateFinder } from '../rating/match/finder.ts'
import { createFreeNumbers } from '../rating/match/free-numbers.ts'
import { createPoolCheck, type PoolCheck } from '../rating/pool-check.ts'
import { compileRules } from '../rating/rules.ts'
import {
  type Clock,
  type ClockOffset,
  clockWith,
  monotonicMs,
  processMs,
  systemClock,
} from '../runtime/clock.ts'
import { createLogger, type Logger } from '../runtime/log.ts'
import { openRedis, type RedisConnection, waitForRedis } from '../store/redis.ts'
import { publishSessionEvent } from '../store/session-events.ts'
import { startBacklogWatch } from './backlog-watch.ts'
import { followCustomerChanges } from './customers/customer-changes.ts'
import { CustomerSystem } from './customers/customer-system.ts'
import { createEventRules, type EventRules } from './event-rules.ts'
import { watchFileTypeRules } from './file-type-rules.ts'
import { createProcessor, type Processor } from './process.ts'
import { createProfileReader } from './profile-reader.ts'
import { ProfileCache } from './profiles.ts'
import type { CustomerReads } from './request-profiles.ts'
import { RuleBook } from './rule-book.ts'
import { type SessionEventsWatch, watchSessionEvents } from './session-events.ts'
import { createTaxRules, type TaxRules } from './tax-rules.ts'

/** Settings that the pool passes to its workers. */
export interface WorkerSettings {
  readonly config: Config
  /** Offset of the clock, if it differs from the system clock. */
  readonly ahead?: ClockOffset | undefined
  /** Index of the worker, from 0. A replaced thread has the same index. */
  readonly worker: number
}

export interface ChargingWorker extends Pick<Processor, 'process'> {
  /** Ends the connections and timers; called when no batch is in flight. */
  close(): Promise<void>
}

/** `emit` receives the events of the first worker. */
export async function buildWorker(
  { config, worker, ahead }: WorkerSettings,
  emit: (event: WorkerEvent) => void,
): Promise<ChargingWorker> {
  const log = createLogger({ name: `worker-${worker}`, level: config.log.level })
  const clock = clockWith(ahead)
  const { redis, ledger, catalog } = await openStores(config, log)
  const { rules, finder } = compiledRules(config)
  const feed = createCatalogFeed({
    catalog,
    pollMs: config.catalog.pollMs,
    log,
    identifiers: () => rules.targetKeys(),
    onRates: (changed) => rules.update(changed),
  })
  const needsPool = createPoolCheck(() => feed.current())
  const sources = { config, worker, feed, catalog, redis, clock, log, emit }
  const { profiles, customers } = openProfiles({ ...sources, needsPool })
  feed.onSubscriberChange((change) => dropProfiles(profiles, change))
  const taxes = createTaxRules(config.rating, log)
  const events = createEventRules(log)
  const fileTypes = watchFileTypeRules({
    catalog,
    config,
    log,
    rules,
    taxes,
    customers,
    events,
    onRules: () => (worker === 0 ? void indexIdentifiers(catalog, rules, log) : undefined),
  })
  const sessionEvents = worker === 0 ? emitSessionEvents(sources) : null
  await Promise.all([feed.start(), fileTypes.start()])
  const backlog = startBacklogWatch({ ledger, ...config.ledger, log: worker === 0 ? log : null })
  await backlog.look().catch(() => undefined)
  const isCatalogueLoaded = () => feed.loaded() && fileTypes.loaded()
  const reports = startReports({ feed, isCatalogueLoaded, worker, config, emit })
  const processor = createProcessor({
    ledger,
    profiles,
    rules,
    findRules: () => fileTypes.look(),
    needsPool,
    clock,
    elapsedMs: processMs,
    context: ratingContexts(config, { feed, taxes, finder, events }),
    isCatalogueLoaded,
    eventRules: () => (fileTypes.loaded() ? events.now() : undefined),
    // Not awaited: it only notifies open sessions sooner.
    reauthorize: (event) => void publishSessionEvent(redis, event),
    customers: customerReads(customers, config),
    refusal: backlog.refusal,
    ...config.ledger,
    onDefect: (error) => log.error({ err: error }, 'defect'),
  })
  // Not awaited: until the caches are warm, each request reads its data.
  const warming = warmCaches(processor, { config, catalog, customers, rules, log })
  return {
    process: (task) => processor.process(task),
    async close() {
      sessionEvents?.close()
      for (const timer of reports) clearInterval(timer)
      backlog.stop()
      await Promise.all([feed.stop(), fileTypes.stop()])
      await customers.close()
      await Promise.all([redis.close(), catalog.close()])
      await warming
    },
  }
}

async function openStores(config: Config, log: Logger) {
  const redis = openRedis(config.redis, log)
  // Without Redis or MongoDB the worker starts anyway, and answers that the store is down.
  await waitForRedis(redis, config.redis.connectTimeoutMs).catch(() => undefined)
  const ledger = createLedger(redis, config.ledger, randomInt(1, 2 ** 47))
  const { url, database, timeoutMs } = config.mongo
  const catalog = await openCatalog({ url, database, timeoutMs, appName: 'tollgate-worker' })
  return { redis, ledger, catalog }
}

function compiledRules({ rating }: Pick<Config, 'rating'>) {
  const { calculators, identification } = compileRules(rating)
  const { rateKeys, countryPrefix } = rating
  const finder = new RateFinder(calculators, rateKeys)
  const rules = new RuleBook({ own: { identification, finder }, rateKeys, countryPrefix })
  return { rules, finder }
}

interface ProfileSources {
  config: Config
  worker: number
  catalog: Catalog
  redis: RedisConnection
  needsPool: PoolCheck
  log: Logger
  emit: (event: WorkerEvent) => void
}

/** The cache of profiles, and the customer system from which they may be read. */
function openProfiles(sources: ProfileSources) {
  const { config, worker, catalog, redis, needsPool, log, emit } = sources
  const { profilesCachedMax: entriesMax, unknownTtlMs } = config.catalog
  const customers = new CustomerSystem({
    config,
    worker,
    log,
    elapsedMs: monotonicMs,
    emit,
    findKept: (kind, questions) =>
      keptCustomers(catalog, kind, questions, new Date(systemClock.nowMs())),
    onChanged: () => profiles.clear(),
    subscribe: () => followCustomerChanges(redis, profiles, log),
  })
  const onStale = () => customers.countStale()
  const stored = storedParts(catalog, LENIENT, config.rating.eventFutureMsMax)
  const read = createProfileReader(stored, needsPool, customers)
  const profiles = new ProfileCache(read, { entriesMax, unknownTtlMs, onStale })
  return { profiles, customers }
}

/** Part of the time of a request that it may wait for a customer system. */
const CUSTOMER_WAIT_SHARE = 0.6
/** Part of all requests in flight that may do so in one worker. */
const CUSTOMER_REQUESTS_SHARE = 0.25

function customerReads(customers: CustomerSystem, { realtime }: Config): CustomerReads {
  const { requestTimeoutMs, inFlightMax } = realtime
  return {
    get isAsked() {
      return customers.isAsked
    },
    waitMsMax: Math.ceil(requestTimeoutMs * CUSTOMER_WAIT_SHARE),
    waitingMax: Math.ceil(inFlightMax * CUSTOMER_REQUESTS_SHARE),
  }
}

interface WarmUpContext {
  config: Config
  catalog: Catalog
  customers: CustomerSystem
  rules: RuleBook
  log: Logger
}

async function warmCaches(
  processor: Processor,
  { config, catalog, customers, rules, log }: WarmUpContext,
): Promise<void> {
  const identifiers = () => [...new Set([...NAMES, ...rules.targetKeys()])]
  // A customer system is asked only about subscribers of requests.
  const queriesOf = async (sids: readonly number[], atMs: number) =>
    customers.isAsked ? [] : identifiersOf(catalog, sids, identifiers(), atMs)
  try {
    await processor.warmUp({ ...WARM_UP, ownersMax: ownersWarmedOf(config), queriesOf })
  } catch (err) {
    log.warn({ err }, 'the caches were not warmed up')
  }
}

/** Time limit for loading recently used owners into the caches. */
const WARM_UP = { timeMs: 10_000 }

/** Identifiers of subscribers in requests, in addition to `sid` and those that rules look up. */
const NAMES = ['msisdn', 'imsi']

/** A quarter of the caches, so that owners loaded later do not displace them. */
function ownersWarmedOf({ ledger, catalog }: Config): number {
  const { ownersWarmedMax, ownersCachedMax } = ledger
  return Math.floor(Math.min(ownersWarmedMax, ownersCachedMax / 4, catalog.profilesCachedMax / 4))
}

/** Called before the feed starts, whose first notification is the initial state. */
function emitSessionEvents(sources: SessionEventSources): SessionEventsWatch {
  const { feed, catalog, redis, clock, log, emit } = sources
  const isThere = async (sid: number, atMs: number) =>
    (await findSubscriber(catalog, { key: 'sid', value: String(sid), atMs })) !== null
  return watchSessionEvents({
    feed,
    redis,
    subscriberExists: isThere,
    clock,
    emit,
    log,
  })
}

interface SessionEventSources {
  feed: CatalogFeed
  catalog: Catalog
  redis: RedisConnection
  clock: Clock
  log: Logger
  emit: (event: WorkerEvent) => void
}

/** Without MongoDB, or with too many fields, lookups by further fields are slow at first. */
async function indexIdentifiers(catalog: Catalog, rules: RuleBook, log: Logger): Promise<void> {
  const further = rules.targetKeys().filter((key) => !INDEXED.includes(key))
  if (further.length === 0) return
  await catalog
    .ensureIndexes(further)
    .catch((err: unknown) => log.warn({ err }, 'identifying fields have no index yet'))
}

const INDEXED = ['sid', 'msisdn', 'imsi']

interface ReportSources {
  feed: CatalogFeed
  isCatalogueLoaded: () => boolean
  worker: number
  config: Config
  emit: (event: WorkerEvent) => void
}

/** Returns the timers of the reports. */
function startReports({
  feed,
  isCatalogueLoaded,
  worker,
  config: {
    catalog: { pollMs },
  },
  emit,
}: ReportSources): (NodeJS.Timeout | undefined)[] {
  return [
    worker === 0 ? reportSkipped(feed, pollMs, emit) : undefined,
    reportLoading(worker, isCatalogueLoaded, pollMs, emit),
  ]
}

/** Reports whether the catalogue has been read, and if not, when it has been. */
function reportLoading(
  worker: number,
  isLoaded: () => boolean,
  everyMs: number,
  emit: (event: WorkerEvent) => void,
): NodeJS.Timeout | undefined {
  emit({ kind: 'catalogue', worker, isLoaded: isLoaded() })
  if (isLoaded()) return undefined
  const timer = setInterval(() => {
    if (!isLoaded()) return
    clearInterval(timer)
    emit({ kind: 'catalogue', worker, isLoaded: true })
  }, everyMs)
  return timer.unref()
}

/** Maximum number of documents in the event; the others are in the log. */
const SKIPPED_NAMED_MAX = 100

/** Reports how many documents of the catalogue are left out, at the start and after each change. */
function reportSkipped(
  feed: CatalogFeed,
  everyMs: number,
  emit: (event: WorkerEvent) => void,
): NodeJS.Timeout {
  let last = ''
  const report = () => {
    const catalogueSkipped: Record<string, number> = {}
    for (const collection of CHARGING_COLLECTIONS) catalogueSkipped[collection] = 0
    const skipped = feed.skipped()
    for (const { collection } of skipped) {
      catalogueSkipped[collection] = (catalogueSkipped[collection] ?? 0) + 1
    }
    const entities = skipped
      .slice(0, SKIPPED_NAMED_MAX)
      .map(({ collection, name, path, reason }) => ({ collection, name, path, reason }))
    const text = JSON.stringify([catalogueSkipped, entities])
    if (text === last) return
    last = text
    emit({ kind: 'skipped', catalogueSkipped, entities })
  }
  report()
  return setInterval(report, everyMs).unref()
}

interface ContextSources {
  feed: Pick<CatalogFeed, 'current'>
  taxes: Pick<TaxRules, 'now'>
  finder: RateFinder
  events: Pick<EventRules, 'now'>
}

/** Creates the context of an attempt, see `ProcessorOptions`. */
function ratingContexts(
  { rating, session, ledger }: Config,
  { feed, taxes, finder, events }: ContextSources,
): (nowMs: number) => ChargeContext {
  const cycleAt = createCycleFinder(rating.timeZone, rating.cycleDay)
  const calendar = { zone: rating.timeZone, cycleDay: rating.cycleDay }
  const isFreeNumber = createFreeNumbers(rating.freeNumbers)
  const settings = {
    ...session,
    replayMs: ledger.replayMs,
    refundMicrosMax: rating.refundMicrosMax,
    refundUnitsMax: rating.refundUnitsMax,
    clockDifferenceMs: rating.eventFutureMsMax,
  }
  return (nowMs) => {
    const catalogue = feed.current()
    const { defaultTax, mapTax } = taxes.now(catalogue.taxes)
    // No spread: V8 would create new hidden classes for each batch.
    return {
      cycleAt,
      calendar,
      isFreeNumber,
      settings,
      defaultTax,
      mapTax,
      catalogue,
      finder,
      actionRules: events.now()?.withActions ?? null,
      profile: null,
      nowMs,
    }
  }
}

function dropProfiles(profiles: ProfileCache, change: SubscriberChange): void {
  if (change.scope === 'all') {
    profiles.clear()
    return
  }
  const { aid, sid, msisdn, imsi, others } = change
  if (sid === 0) {
    profiles.dropAccount(aid)
    return
  }
  const further = others.map(({ field, value }) => `${field}:${value}`)
  profiles.drop(sid, [`msisdn:${msisdn}`, ...imsi.map((value) => `imsi:${value}`), ...further])
  profiles.dropPool(aid)
}
