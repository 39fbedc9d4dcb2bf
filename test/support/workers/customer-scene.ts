/** A processor whose subscribers are those of a customer system, on a real Redis and real HTTP. */

import { announceCustomerChange } from '../../../src/admin/customer-changes.ts'
import type { ProfileParts } from '../../../src/catalog/feed/profiles.ts'
import { loadConfig } from '../../../src/config/load.ts'
import type { ChargeOutcome } from '../../../src/domain/charge-outcome.ts'
import type { ChargeRequest } from '../../../src/domain/charge-request.ts'
import type { CustomerSystemEvent } from '../../../src/domain/worker-task.ts'
import type { Subscription } from '../../../src/store/bus.ts'
import { followCustomerChanges } from '../../../src/workers/customers/customer-changes.ts'
import { CustomerSystem } from '../../../src/workers/customers/customer-system.ts'
import { createProfileReader } from '../../../src/workers/profile-reader.ts'
import { type Crm, type CrmFields, subscriberRevision } from '../external/crm.ts'
import { waitUntil } from '../wait.ts'
import {
  aidOf,
  log,
  openProcessorFixture,
  type ProcessorFixture,
  type ProcessorFixtureOptions,
} from './processor-fixture.ts'

export interface CustomerScene extends ProcessorFixture {
  readonly customers: CustomerSystem
  readonly events: CustomerSystemEvent[]
  /** Elapsed time of circuits. */
  pass(ms: number): void
  /** Outcomes from the caches only; null for a request that needs more. */
  fast(...requests: ChargeRequest[]): Promise<(ChargeOutcome | null)[]>
  /** Outcomes as the pool gets them: from the caches, then by a lookup, then from the system. */
  send(...requests: ChargeRequest[]): Promise<ChargeOutcome[]>
  /** Announces a change, as `clearcache` does. */
  announce(aid: number, sid: number): Promise<void>
  /** Resolves when announced changes are received. */
  listening(): Promise<void>
}

export interface CustomerSceneOptions extends ProcessorFixtureOptions {
  /** Further settings of `subscribers.subscriber`. */
  subscriber?: CrmFields
  /** Settings of `subscribers.account`; accounts are local without it. */
  account?: CrmFields
  waitMsMax?: number
  needsPool?: boolean
}

const NOTHING_STORED: ProfileParts = {
  revisions: () => Promise.reject(new Error('a subscriber was read from MongoDB')),
  nextStarts: () => Promise.reject(new Error('a subscriber was read from MongoDB')),
  planStarts: () => Promise.reject(new Error('a subscriber was read from MongoDB')),
  accounts: async (instants) =>
    instants.map(() => ({ part: null, untilMs: Number.POSITIVE_INFINITY })),
  pools: () => Promise.reject(new Error('a pool was read from MongoDB')),
}

const NO_DEADLINE = { deadlineMs: Number.POSITIVE_INFINITY }

export async function openCustomerScene(
  url: string,
  crm: Crm,
  options: CustomerSceneOptions = {},
): Promise<CustomerScene> {
  const { subscriber, account, waitMsMax = 20_000, needsPool = false, ...more } = options
  const events: CustomerSystemEvent[] = []
  const env = { TOLLGATE_EXTERNAL_PRIVATE_RANGES: '127.0.0.0/8' }
  let elapsedMs = 0
  let subscription: Subscription | null = null
  let scene: ProcessorFixture | null = null
  const fixture = () => {
    if (scene === null) throw new Error('the scene is not open yet')
    return scene
  }
  const customers: CustomerSystem = new CustomerSystem({
    config: loadConfig({ env }),
    worker: 0,
    log,
    elapsedMs: () => elapsedMs,
    emit: (event) => events.push(event),
    findKept: async (_, questions) => questions.map(() => null),
    onChanged: () => fixture().profiles.clear(),
    subscribe: () => {
      subscription = followCustomerChanges(fixture().redis, fixture().profiles, log)
      return subscription
    },
  })
  const reads = { isAsked: true, waitMsMax, waitingMax: 1024 }
  const read = createProfileReader(NOTHING_STORED, () => needsPool, customers)
  scene = await openProcessorFixture(url, { ...more, read, customers: reads })
  const { processor, redis, ledger, clock } = scene
  customers.follow(settingsOf(crm, subscriber, account))
  const process = async (
    requests: readonly ChargeRequest[],
    how: { mayLookUp: boolean; mayAsk?: boolean },
  ) => (await processor.process({ requests: [...requests], ...how, ...NO_DEADLINE })).outcomes
  return {
    ...scene,
    customers,
    events,
    pass(ms) {
      elapsedMs += ms
    },
    fast: (...requests) => process(requests, { mayLookUp: false }),
    async send(...requests) {
      const outcomes = await process(requests, { mayLookUp: false })
      for (const how of [{ mayLookUp: true }, { mayLookUp: true, mayAsk: true }]) {
        const left = outcomes.flatMap((outcome, index) => (outcome === null ? [index] : []))
        const found = await process(
          left.map((index) => requests[index] as ChargeRequest),
          how,
        )
        for (const [at, index] of left.entries()) outcomes[index] = found[at] ?? null
      }
      return outcomes.map((outcome) => {
        if (outcome === null) throw new Error('a request was left unanswered')
        return outcome
      })
    },
    announce: (aid, sid) => announceCustomerChange({ redis, ledger, clock }, { aid, sid }),
    listening: () => waitUntil('it listens', () => subscription?.isListening() === true),
    async close() {
      await customers.close()
      await fixture().close()
    },
  }
}

function settingsOf({ url }: Crm, subscriber?: CrmFields, account?: CrmFields) {
  return {
    subscriber: { type: 'external', external_url: `${url}/subscribers`, ...subscriber },
    ...(account !== undefined && {
      account: { type: 'external', external_url: `${url}/accounts`, ...account },
    }),
  }
}

/** Makes the customer system know a subscriber, by its number and by `4900<sid>`. */
export function know(crm: Crm, sid: number, more: CrmFields = {}): void {
  const revision = subscriberRevision(sid, aidOf(sid), { msisdn: `4900${sid}`, ...more })
  crm.subscribers.set(`sid:${sid}`, [revision])
  crm.subscribers.set(`msisdn:4900${sid}`, [revision])
}
