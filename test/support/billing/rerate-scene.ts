/** Usage that is charged and recorded on real stores, and runs of rerating over it. */
import { randomInt } from 'node:crypto'
import { liveContext, readLiveRules } from '../../../src/billing/quote/live.ts'
import { createLiveCatalogue } from '../../../src/billing/quote/live-catalogue.ts'
import { settingsOf } from '../../../src/billing/quote/settings.ts'
import type { RerateSelection } from '../../../src/billing/rerate/preview.ts'
import { storedAccounts } from '../../../src/billing/run/accounts.ts'
import { ObjectId } from '../../../src/catalog/collections.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { findProfile } from '../../../src/catalog/feed/profiles.ts'
import type { RealtimeLineDocument } from '../../../src/catalog/records/usage/line-document.ts'
import type { RerateDocument } from '../../../src/catalog/records/usage/rerate-documents.ts'
import { type AccountFindings, checkAccount } from '../../../src/cli/audit/account.ts'
import { loadConfig } from '../../../src/config/load.ts'
import type { OwnerState } from '../../../src/domain/bucket.ts'
import { serviceRequest } from '../../../src/domain/charge-request.ts'
import { digestOf } from '../../../src/domain/digest.ts'
import { addJob, claimJob } from '../../../src/jobs/jobs.ts'
import { beginRerate, rerateHandler, rerateJob } from '../../../src/jobs/rerate-job.ts'
import { sessionKeyOf } from '../../../src/ledger/keys.ts'
import { createLedger, type Ledger } from '../../../src/ledger/ledger.ts'
import { loadOwners } from '../../../src/ledger/loading.ts'
import { watchRecorderProgress } from '../../../src/ledger/recorder-progress.ts'
import { chargeSession } from '../../../src/rating/charge-session.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { openRedis, waitForRedis } from '../../../src/store/redis.ts'
import { insertEntity } from '../catalog/store.ts'
import { requestOf } from '../domain/requests.ts'
import { LEDGER_SETTINGS, startTestStores, type TestStores } from '../recorder/accounts.ts'
import { startTestDrain } from '../recorder/test-drain.ts'
import { startStoreProxy } from '../store-proxy.ts'
import { ACTOR } from './books.ts'

/** Within the cycle 202608, which began on 1 July. */
export const NOW_MS = Date.UTC(2026, 6, 20)
export const CYCLE = '202608'
const FROM_MS = Date.UTC(2026, 6, 1)
const FROM = new Date(Date.UTC(2026, 0, 1))

export interface ScenePrice {
  /** Micros for an interval that has begun. */
  readonly price: number
  readonly interval: number
  /** Micros for the first unit that is charged. */
  readonly access: number
}

export interface SceneOffer {
  readonly data: ScenePrice
  readonly call: ScenePrice
  /** Units of data that the plan includes. */
  readonly included: number
  readonly isShared: boolean
}

export interface SceneUse {
  readonly aid: number
  readonly sid: number
  readonly usaget: 'data' | 'call'
  readonly used: number
  /** Minutes after the begin of the cycle. */
  readonly minute: number
  /** An event can be refunded, a record cannot. */
  readonly isEvent?: boolean
}

export interface RunParts {
  readonly catalog?: Catalog
  readonly ledger?: Ledger
  readonly linesMax?: number
}

export interface RerateScene {
  readonly stores: TestStores
  /** Whether cycles of usage are over for the recorder, and lines are exported. */
  readonly recorder: { isOver: boolean }
  setOffer(offer: SceneOffer): Promise<void>
  addSubscriber(aid: number, sid: number): Promise<void>
  charge(use: SceneUse): Promise<void>
  recorded(aid: number): Promise<void>
  /** The last run of this selection continues if it is not done. */
  run(selection?: Partial<RerateSelection>, parts?: RunParts): Promise<void>
  /** A request of `resetlines`; returns its state and reason. */
  queue(aid: number, conditions: object, cycle?: string): Promise<() => Promise<unknown>>
  /** Works off the queue. */
  runQueue(): Promise<void>
  /** Lines of usage, by time. */
  lines(aid: number): Promise<RealtimeLineDocument[]>
  operations(aid: number): Promise<number>
  owners(aid: number, sids: readonly number[]): Promise<OwnerState[]>
  /** The findings of `tollgate audit`. */
  audit(aid: number, sids: readonly number[]): Promise<AccountFindings['differences']>
  /** Newest run last. */
  rows(aid: number): Promise<RerateDocument[]>
  /** A ledger whose process dies before its n-th commit of rerating, from 0. */
  dyingLedger(commits: number): Promise<{ ledger: Ledger; close(): Promise<void> }>
  close(): Promise<void>
}

const silent = createLogger({ name: 'test', level: 'silent' })
const config = loadConfig({ env: {} })
const settings = settingsOf(config.rating)
const clock = { nowMs: () => NOW_MS }

export async function openRerateScene(): Promise<RerateScene> {
  const stores = await startTestStores()
  const { catalog, ledger } = stores
  const recorder = { isOver: false }
  const cycles = {
    refresh: async () => undefined,
    isOver: () => recorder.isOver,
    nowMs: () => NOW_MS,
  }
  const drain = await startTestDrain(stores, { cycles, isExporting: true, blockMs: 5 })
  const catalogue = createLiveCatalogue({ catalog, log: silent, settings })
  const recording = () => watchRecorderProgress(ledger)
  await insertCatalogue(catalog)
  return {
    ...{ stores, recorder },
    async setOffer({ data, call, included, isShared }) {
      const groups = { G: groupOf(included, isShared) }
      await catalog.plans.updateOne({ name: 'POST' }, { $set: { include: { groups } } as never })
      await catalog.rates.updateOne({ key: 'DATA' }, { $set: { rates: ratesOf('data', data) } })
      await catalog.rates.updateOne({ key: 'CALL' }, { $set: { rates: ratesOf('call', call) } })
      await catalogue.stop()
    },
    async addSubscriber(aid, sid) {
      await insertEntity(catalog, 'subscribers', { aid, sid, plan: 'POST', from: FROM })
    },
    async charge(use) {
      const rules = await readLiveRules({ catalog, catalogue }, config)
      await chargeUse(stores, rules, use)
    },
    async recorded(aid) {
      if (!(await recording().waitUntilRecorded(aid))) throw new Error('not recorded')
    },
    async run(selection = {}, parts = {}) {
      await runJob({ ...stores, ...parts }, selection)
    },
    queue: (aid, conditions, cycle = CYCLE) => queueRequest(catalog, aid, conditions, cycle),
    async runQueue() {
      await catalog.transaction('queue', (session) =>
        addJob({ catalog, clock }, session, rerateJob(null, ACTOR)),
      )
      await runClaimed(stores)
    },
    async lines(aid) {
      const found = await catalog.lines.find({ aid, type: 'realtime' }).sort({ urt: 1 }).toArray()
      return found as unknown as RealtimeLineDocument[]
    },
    operations: (aid) => catalog.lines.countDocuments({ aid, type: 'balance' }),
    owners: (aid, sids) => loadOwners(ledger, aid, sids),
    async audit(aid, sids) {
      const own = { ledger, catalog, recording: recording() }
      const { differences, damaged, isRecorded } = await checkAccount(own, { aid, sids: [...sids] })
      if (damaged.length > 0 || !isRecorded) throw new Error('the account cannot be audited')
      return differences
    },
    rows: (aid) => catalog.rerates.find({ aid }).sort({ _id: 1 }).toArray(),
    dyingLedger: (commits) => openDyingLedger(stores, commits),
    async close() {
      await drain.stop(1_000)
      await catalogue.stop()
      await stores.close()
    },
  }
}

async function insertCatalogue(catalog: Catalog): Promise<void> {
  await insertEntity(catalog, 'plans', {
    ...{ name: 'POST', connection_type: 'postpaid', from: FROM },
    include: { groups: { G: groupOf(1, false) } },
  })
  for (const usaget of ['data', 'call']) {
    const rates = ratesOf(usaget, { price: 0, interval: 1, access: 0 })
    await insertEntity(catalog, 'rates', { key: usaget.toUpperCase(), from: FROM, rates })
  }
}

async function queueRequest(catalog: Catalog, aid: number, conditions: object, cycle: string) {
  const _id = new ObjectId()
  const texts = { conditions: JSON.stringify(conditions), conditions_hash: '' }
  const request = { _id, aid, billrun_key: cycle, ...texts, stamp: _id.toHexString() }
  const times = { state: 'waiting', creation_date: new Date(NOW_MS) } as const
  await catalog.rebalance.insertOne({ ...request, ...times })
  return async () => {
    const { state, reason } = (await catalog.rebalance.findOne({ _id })) ?? {}
    return { state, reason }
  }
}

function groupOf(included: number, isShared: boolean) {
  const units = { value: included, usage_types: { data: { unit: 'bytes' } } }
  return { ...units, rates: 'ALL_RATES', account_shared: isShared }
}

function ratesOf(usaget: string, { price, interval, access }: ScenePrice) {
  const tier = { from: 0, to: 'UNLIMITED', interval, price: price / 1_000_000 }
  return { [usaget]: { BASE: { rate: [tier], access: access / 1_000_000 } } } as never
}

let records = 0

/** As a worker does it. */
async function chargeUse(
  { catalog, ledger }: TestStores,
  rules: Awaited<ReturnType<typeof readLiveRules>>,
  { aid, sid, usaget, used, minute, isEvent = false }: SceneUse,
): Promise<void> {
  records += 1
  const atMs = FROM_MS + minute * 60_000
  const sessionId = `r${records}`
  const found = await findProfile(catalog, { key: 'sid', value: String(sid), atMs }, () => true)
  const context = liveContext(
    { ...rules, profile: found?.profile ?? null, actionRules: null },
    settings,
    atMs,
  )
  const request = requestOf({
    ...{ kind: 'event', origin: 'http', sessionId, requestNumber: -1, eventTimeMs: atMs },
    ...(!isEvent && { isRecord: true as const }),
    subscriberValue: String(sid),
    services: [serviceRequest(isEvent ? { usaget, requested: used } : { usaget, used })],
  })
  const [subscriber, account] = (await loadOwners(ledger, aid, [sid, 0])) as [
    OwnerState,
    OwnerState,
  ]
  const sessionKey = sessionKeyOf('http', sessionId)
  const identified = { request, sessionKey, digest: digestOf(request) }
  const { outcome, commit } = chargeSession({ subscriber, account, session: null }, identified, {
    ...context,
    settings: { ...context.settings, replayMs: 600_000 },
  })
  if (commit === null || outcome.reason !== 'granted') throw new Error(outcome.reason)
  const isShared = commit.account !== null && commit.account !== account
  const [reply] = await ledger.commit(
    [
      {
        aid,
        owners: [
          {
            state: { ...commit.subscriber, version: subscriber.version + 1 },
            fence: -1,
            sessions: [{ sessionKey, session: commit.session, before: null }],
          },
        ],
        shared: {
          expectedVersion: account.version,
          state: isShared ? { ...commit.account!, version: account.version + 1 } : null,
        },
        ...{ registrations: [], operation: null, lines: commit.lines, backoffHintMs: 0 },
      },
    ],
    atMs,
  )
  if (reply?.kind !== 'committed') throw new Error(`not committed: ${JSON.stringify(reply)}`)
}

const ANY = { fromMs: FROM_MS, toMs: NOW_MS, rateKey: '', plan: '', sid: 0, origin: '' }

interface JobStores {
  readonly catalog: Catalog
  readonly ledger: Ledger
  readonly linesMax?: number
}

async function runJob(stores: JobStores, selection: Partial<RerateSelection>): Promise<void> {
  await beginRerate({ catalog: stores.catalog, clock }, { ...ANY, ...selection }, ACTOR)
  await runClaimed(stores)
}

/** The job that is not done. */
async function runClaimed({ catalog, ledger, linesMax }: JobStores): Promise<void> {
  const stores = { catalog, clock }
  const job = await catalog.jobs.findOne({ active: 'rerate/usage' })
  const claimed = job === null ? null : await claimJob(stores, job)
  if (claimed === null) throw new Error('the job is not to be had')
  const handler = rerateHandler({
    ...{ catalog, ledger, clock, config },
    ...(linesMax !== undefined && { linesMax }),
    openAccounts: async () => storedAccounts(catalog),
    filterOf: (conditions) => conditions,
  })
  await handler(claimed, new AbortController().signal)
  await claimed.end(null)
}

async function openDyingLedger({ server }: TestStores, commits: number) {
  const proxy = await startStoreProxy(server.url)
  const url = proxy.url
  const redis = openRedis({ url, commandTimeoutMs: 500, connectTimeoutMs: 5_000 }, silent)
  await waitForRedis(redis, 5_000)
  let done = 0
  proxy.cutBefore((request) => {
    if (request.includes('rerate-')) done += 1
    return done > commits
  })
  return {
    ledger: createLedger(redis, LEDGER_SETTINGS, randomInt(1, 2 ** 47)),
    async close() {
      await redis.close()
      await proxy.close()
    },
  }
}
