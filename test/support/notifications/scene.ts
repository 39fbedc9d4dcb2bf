/** Pending events in MongoDB, and processes that deliver them. */
import { afterEach } from 'vitest'
import type { Catalog } from '../../../src/catalog/connection.ts'
import type { NotificationDocument } from '../../../src/catalog/records/events/event-document.ts'
import { changeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { loadConfig } from '../../../src/config/load.ts'
import {
  type Delivery,
  type DeliveryOptions,
  startDelivery,
} from '../../../src/notifications/delivery.ts'
import { createMetrics, type Metrics } from '../../../src/runtime/metrics.ts'
import { recordingLog, useStore } from '../catalog/store.ts'
import { NOW_MS } from './event.ts'
import { type Receiver, startReceiver } from './receiver.ts'

/** The key of stored secrets. */
export const KEY = 'a key for tests that is long enough'

export interface Scene {
  readonly catalog: Catalog
  /** A further connection to the same database. */
  connect(): Promise<Catalog>
  readonly metrics: Metrics
  readonly records: ReturnType<typeof recordingLog>['records']
  /** Stores category `events`: a receiver, and quick retries. */
  settings(http: object, others?: object): Promise<void>
  add(...events: NotificationDocument[]): Promise<void>
  /** The stored events by stamp. */
  event(stamp: string): Promise<NotificationDocument>
  states(): Promise<Record<string, string>>
  receiver(): Promise<Receiver>
  /** `nowMs`: the time of the clock. */
  deliver(options?: Partial<DeliveryOptions>): Delivery
  metricOf(name: string, labels?: Record<string, string>): Promise<number | undefined>
}

export function useScene(): () => Promise<Scene> {
  const store = useStore()
  const ends: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
  })
  return async () => {
    const catalog = await store.open()
    await catalog.ensureIndexes()
    const { log, records } = recordingLog()
    const metrics = createMetrics({ node: 'n', role: 'recorder' })
    const config = loadConfig({
      env: {
        TOLLGATE_CATALOG_POLL_MS: '20',
        TOLLGATE_EXTERNAL_PRIVATE_RANGES: '127.0.0.0/8',
        TOLLGATE_SECRETS_KEY: KEY,
      },
    })
    const events = catalog.events
    return {
      catalog,
      connect: () => store.open(store.url(), catalog.unguarded.events.dbName),
      metrics,
      records,
      async settings(http, others = {}) {
        const value = { settings: { http: { retry_seconds: 1, ...http }, ...others } }
        const by = { nowMs: NOW_MS, by: 'test' }
        await changeStoredConfig(catalog, 'events', () => value, by)
      },
      async add(...documents) {
        await events.insertMany(documents)
      },
      async event(stamp) {
        const found = await events.findOne({ stamp })
        if (found === null) throw new Error(`there is no event ${stamp}`)
        return found
      },
      async states() {
        const found = await events.find({}).sort({ stamp: 1 }).toArray()
        return Object.fromEntries(found.map(({ stamp, delivery }) => [stamp, delivery.state]))
      },
      async receiver() {
        const receiver = await startReceiver()
        ends.push(() => receiver.close())
        return receiver
      },
      deliver(options = {}) {
        const delivery = startDelivery({
          catalog,
          config,
          clock: { nowMs: () => NOW_MS + 5_000 + performance.now() },
          log,
          metrics,
          ...options,
        })
        ends.push(() => delivery.stop(0))
        return delivery
      },
      async metricOf(name, labels = {}) {
        const { metrics: all } = await metrics.snapshot()
        const found = all.find((metric) => metric.name === name)
        return found?.values.find(({ labels: has }) =>
          Object.entries(labels).every(([key, value]) => has[key] === value),
        )?.value
      },
    }
  }
}
