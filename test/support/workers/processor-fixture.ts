/** A processor on a real Redis with a small catalogue, shared by the tests of the workers. */
import { randomInt } from 'node:crypto'
import type {
  Catalogue,
  PlanRevision,
  PrepaidInclude,
  RateRevision,
  SubscriberProfile,
} from '../../../src/domain/catalogue.ts'
import type { ChargeOutcome } from '../../../src/domain/charge-outcome.ts'
import {
  type ChargeRequest,
  type ServiceRequest,
  serviceRequest,
} from '../../../src/domain/charge-request.ts'
import { createCycleFinder } from '../../../src/domain/cycle.ts'
import type { Tariff } from '../../../src/domain/tariff.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { creditBucket } from '../../../src/ledger/operations.ts'
import type { ChargeContext } from '../../../src/rating/decision.ts'
import { RateFinder } from '../../../src/rating/match/finder.ts'
import { createPoolCheck } from '../../../src/rating/pool-check.ts'
import { compileRules, type RatingRuleSettings } from '../../../src/rating/rules.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { openRedis, type RedisConnection, waitForRedis } from '../../../src/store/redis.ts'
import {
  createProcessor,
  type Processor,
  type ProcessorOptions,
} from '../../../src/workers/process.ts'
import { ProfileCache, type ProfileReader } from '../../../src/workers/profiles.ts'
import type { CustomerReads } from '../../../src/workers/request-profiles.ts'
import { RuleBook, type RuleSet } from '../../../src/workers/rule-book.ts'
import { requestOf } from '../domain/requests.ts'
import { tariffFrom } from '../domain/tariffs.ts'
import { openTestLedger } from '../ledger.ts'
import { profileOf as anyProfile } from '../rating/catalogue.ts'

export const NOW_MS = Date.UTC(2026, 2, 10, 12)
export const log = createLogger({ name: 'test', level: 'silent' })
export const LEDGER = { partitions: 64, directoryTtlMs: 172_800_000, operationKeepMs: 86_400_000 }
export const REPLAY_MS = 600_000
export const VALIDITY_MS = 3_600_000
export const GRACE_MS = 60_000

export const MONEY = 1
export const DATA_UNITS = 2
export const SHARED_DATA = 3

const forever = { fromMs: 0, toMs: FOREVER_MS }

const include = (
  externalId: number,
  kind: PrepaidInclude['kind'],
  priority: number,
): PrepaidInclude => ({
  ...forever,
  id: String(externalId),
  externalId,
  name: `INCLUDE_${externalId}`,
  kind,
  usaget: kind === 'units' ? 'data' : '',
  priority,
  shared: externalId === SHARED_DATA,
  unlimited: false,
  allowedIn: null,
  moreUsagets: [],
})

export const includes = new Map([
  [MONEY, include(MONEY, 'totalCost', 10)],
  [DATA_UNITS, include(DATA_UNITS, 'units', 50)],
  [SHARED_DATA, include(SHARED_DATA, 'units', 30)],
])

/** A price in micros per interval. */
export function flat(interval: number, priceMicros: number, accessMicros = 0): Tariff {
  return tariffFrom(`${priceMicros}/${interval}+${accessMicros}`)
}

const plainRate: Omit<RateRevision, 'id' | 'key' | 'usages'> = {
  ...forever,
  category: 'retail',
  addToRetail: false,
  play: '',
  method: 'tiered',
  params: {},
  taxHints: [],
  rounding: null,
}

export const plan: PlanRevision = {
  ...forever,
  id: 'PLAN',
  name: 'PLAN',
  connectionType: 'prepaid',
  disallowedRates: new Set(),
  services: [],
  prices: new Map(),
  groups: [],
  facts: {},
}

export function catalogueOf(tariffs: Record<string, Record<string, Tariff>>): Catalogue {
  const rates = Object.entries(tariffs).map(([key, usages]): [string, RateRevision[]] => {
    const priced = Object.entries(usages).map(
      ([usaget, tariff]) => [usaget, { base: { tariff, bands: [] }, plans: new Map() }] as const,
    )
    return [key, [{ ...plainRate, id: key, key, usages: new Map(priced) }]]
  })
  return {
    revision: 1,
    rates: new Map(rates),
    plans: new Map([['PLAN', [plan]]]),
    services: new Map(),
    taxes: new Map(),
    prepaidIncludes: new Map([...includes].map(([id, one]) => [id, [one]])),
  }
}

/** Subscribers 1 to 9,999 exist; a hundred of them share an account. */
export function profileOf(sid: number): SubscriberProfile | null {
  if (!(sid >= 1 && sid < 10_000)) return null
  return anyProfile({ ...forever, id: `s${sid}`, aid: aidOf(sid), sid, plan: 'PLAN' })
}

export function aidOf(sid: number): number {
  return Math.floor(sid / 100) + 1
}

export interface ProcessorFixture {
  ledger: Ledger
  redis: RedisConnection
  processor: Processor
  profiles: ProfileCache
  clock: { nowMs: () => number; set(nowMs: number): void }
  defects: unknown[]
  /** The context of its decisions, without a profile. */
  context(nowMs: number): ChargeContext
  /** The outcomes of requests sent in one batch. */
  charge(...requests: ChargeRequest[]): Promise<ChargeOutcome[]>
  credit(sid: number, includeId: number, amount: number, operationId?: string): Promise<void>
  owner(sid: number): Promise<ReturnType<typeof stateOf>>
  close(): Promise<void>
}

function stateOf(loaded: Awaited<ReturnType<Ledger['load']>>[number] | undefined) {
  if (loaded === undefined || loaded instanceof Error) throw loaded ?? new Error('nothing loaded')
  return loaded
}

export const DEFAULT_TARIFFS = {
  DATA: { data: flat(1_000_000, 10_000) },
  DATA_10: { data: flat(1_000_000, 2_000) },
  CALL: { call: flat(60, 100_000, 50_000) },
  FREE: { free: flat(1, 0) },
}

export const RATE_KEYS = ['{USAGET}_{rating_group}', '{USAGET}']

export interface ProcessorFixtureOptions {
  tariffs?: Record<string, Record<string, Tariff>>
  /** Instead of one of tariffs. */
  catalogue?: Catalogue
  rules?: Partial<RatingRuleSettings>
  ownersCachedMax?: number
  profilesCachedMax?: number
  unknownTtlMs?: number
  commandTimeoutMs?: number
  replicaAcks?: number
  /** Why new sessions are refused; none are by default. */
  refusal?: () => string | null
  /** Rules of file types, by the digest in requests, and a function that finds further ones. */
  book?: (own: RuleSet) => RuleBook
  findRules?: () => Promise<void>
  /** Replaces the subscribers of `profileOf`. */
  read?: ProfileReader
  /** Rules for events; there are none by default. */
  eventRules?: ProcessorOptions['eventRules']
  /** Receives the sessions to re-authorize. */
  reauthorize?: ProcessorOptions['reauthorize']
  isCatalogueLoaded?: ProcessorOptions['isCatalogueLoaded']
  /** Reads are those of no customer system by default. */
  customers?: CustomerReads
}

const readProfile: ProfileReader = async ({ value }) => {
  const found = profileOf(Number(value))
  return found === null ? null : { profile: found, validUntilMs: found.toMs }
}

const CHARGE_SETTINGS = {
  validityMs: VALIDITY_MS,
  graceMs: GRACE_MS,
  replayMs: REPLAY_MS,
  refundMicrosMax: 1_000_000,
  refundUnitsMax: 10_000_000,
  clockDifferenceMs: 300_000,
}

/** On the lookup queue, without a deadline. */
const WITHOUT_DEADLINE = { mayLookUp: true, deadlineMs: FOREVER_MS }

function rulesOf(options: ProcessorFixtureOptions) {
  const { tariffs = DEFAULT_TARIFFS } = options
  const catalogue = options.catalogue ?? catalogueOf(tariffs)
  const { rules = {} } = options
  const none = {
    rateCalculators: {},
    customerIdentification: {},
    countryPrefix: '',
    taxMapping: {},
  }
  const { calculators, identification } = compileRules({ ...none, ...rules })
  const finder = new RateFinder(calculators, RATE_KEYS)
  finder.update([...catalogue.rates].map(([key, revisions]) => ({ key, revisions })))
  const own = { identification, finder }
  const book = options.book?.(own) ?? new RuleBook({ own, rateKeys: RATE_KEYS, countryPrefix: '' })
  return { catalogue, finder, book }
}

function createSettableClock() {
  let now = NOW_MS
  return {
    nowMs: () => now,
    set(nowMs: number) {
      now = nowMs
    },
  }
}

async function openLedger(url: string, options: ProcessorFixtureOptions) {
  const { commandTimeoutMs = 20_000, replicaAcks = 0 } = options
  const redis = openRedis({ url, commandTimeoutMs, connectTimeoutMs: 20_000, replicaAcks }, log)
  await waitForRedis(redis, 20_000)
  return { redis, ledger: await openTestLedger(redis, LEDGER, randomInt(1, 2 ** 47)) }
}

function contextsOf(
  { eventRules }: ProcessorFixtureOptions,
  catalogue: Catalogue,
  finder: RateFinder,
): (nowMs: number) => ChargeContext {
  return (nowMs) => ({
    catalogue,
    cycleAt: createCycleFinder('UTC', 1),
    calendar: { zone: 'UTC', cycleDay: 1 },
    defaultTax: null,
    mapTax: () => null,
    isFreeNumber: () => false,
    actionRules: eventRules?.()?.withActions ?? null,
    finder,
    profile: null,
    settings: CHARGE_SETTINGS,
    nowMs,
  })
}

export async function openProcessorFixture(
  url: string,
  options: ProcessorFixtureOptions = {},
): Promise<ProcessorFixture> {
  const { redis, ledger } = await openLedger(url, options)
  const clock = createSettableClock()
  const defects: unknown[] = []
  const { catalogue, finder, book } = rulesOf(options)
  const profiles = new ProfileCache(options.read ?? readProfile, {
    entriesMax: options.profilesCachedMax ?? 100_000,
    unknownTtlMs: options.unknownTtlMs ?? 1000,
  })
  const context = contextsOf(options, catalogue, finder)
  const processor = createProcessor({
    ledger,
    profiles,
    rules: book,
    findRules: options.findRules ?? (async () => undefined),
    needsPool: createPoolCheck(() => catalogue),
    clock,
    elapsedMs: clock.nowMs,
    context,
    isCatalogueLoaded: options.isCatalogueLoaded ?? (() => true),
    eventRules: options.eventRules ?? (() => null),
    reauthorize: options.reauthorize ?? (() => undefined),
    customers: options.customers ?? { isAsked: false, waitMsMax: 1000, waitingMax: 1000 },
    refusal: options.refusal ?? (() => null),
    ownersCachedMax: options.ownersCachedMax ?? 10_000,
    commitAttemptsMax: 8,
    directoryTtlMs: LEDGER.directoryTtlMs,
    replayMs: REPLAY_MS,
    onDefect: (error) => defects.push(error),
  })
  const parts = { ledger, redis, processor, profiles, clock, defects, context }
  return {
    ...parts,
    async charge(...requests) {
      const { outcomes } = await processor.process({ requests, ...WITHOUT_DEADLINE })
      return outcomes.map((outcome) => {
        if (outcome === null) throw new Error('the slow lane left a request unanswered')
        return outcome
      })
    },
    credit: (sid, includeId, amount, operationId) =>
      credit(
        ledger,
        sid,
        includeId,
        amount,
        operationId ?? `op-${randomInt(2 ** 47)}`,
        clock.nowMs(),
      ),
    async owner(sid) {
      const [loaded] = await ledger.load([{ aid: aidOf(sid), sid, sessionKeys: [] }])
      return stateOf(loaded)
    },
    close: () => redis.close(),
  }
}

async function credit(
  ledger: Ledger,
  sid: number,
  includeId: number,
  amount: number,
  operationId: string,
  nowMs: number,
): Promise<void> {
  const found = includes.get(includeId)
  if (found === undefined) throw new Error(`no include ${includeId}`)
  const operation = {
    operationId,
    aid: aidOf(sid),
    sid: found.shared ? 0 : sid,
    include: found,
    amount,
    fromMs: 0,
    toMs: FOREVER_MS,
    mode: 'inc' as const,
  }
  await creditBucket(ledger, operation, { attemptsMax: 8 }, nowMs)
}

export function service(
  requested: number,
  used = 0,
  more: Partial<ServiceRequest> = {},
): ServiceRequest {
  return serviceRequest({ usaget: 'data', requested, used, ...more })
}

export function request(
  kind: ChargeRequest['kind'],
  sid: number,
  requestNumber: number,
  services: ServiceRequest[],
  more: Partial<ChargeRequest> = {},
): ChargeRequest {
  const named = { sessionId: `session-${sid}`, subscriberValue: String(sid) }
  const at = { requestNumber, eventTimeMs: NOW_MS, eventTimeGiven: false }
  return requestOf({ kind, ...named, ...at, services, ...more })
}
