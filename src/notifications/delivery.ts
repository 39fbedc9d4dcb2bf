/** Delivers pending events: finds the receivers that have some, and wakes their queues. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Catalog } from '../catalog/connection.ts'
import { createPoller } from '../catalog/poller.ts'
import { sealerOf } from '../catalog/sealing/secret-keys.ts'
import { createCurrentSettings } from '../catalog/settings/current-settings.ts'
import {
  type NotificationSettings,
  notificationSettingsOf,
} from '../catalog/settings/events/notification-settings.ts'
import type { Config } from '../config/schema.ts'
import { createOutgoing } from '../external/outgoing.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { NotificationMetrics } from '../runtime/notification-metrics.ts'
import { OutcomeWriter } from './outcomes.ts'
import { nextReceiver } from './pending-events.ts'
import { ReceiverQueue } from './receiver-queue.ts'

const REFRESH_MS = 10_000
/** More are not counted: counting has to stay cheap. */
const COUNTED_MAX = 10_000

interface GaugeParts {
  readonly catalog: Catalog
  readonly metrics: Pick<NotificationMetrics, 'pendingNotifications'>
  readonly clock: Clock
}

function startNotificationGauges(parts: GaugeParts): { stop(): void } {
  // If MongoDB is unavailable the last values stay; the outage is reported elsewhere.
  const attempt = () => refreshNotificationGauges(parts).catch(() => undefined)
  void attempt()
  const timer = setInterval(attempt, REFRESH_MS)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

export async function refreshNotificationGauges(parts: GaugeParts): Promise<void> {
  const { catalog, metrics, clock } = parts
  const pending = { 'delivery.state': 'pending' } as const
  const [count, [oldest]] = await Promise.all([
    catalog.events.countDocuments(pending, { limit: COUNTED_MAX }),
    catalog.events
      .find(pending, { projection: { creation_time: 1 } })
      .sort({ creation_time: 1 })
      .limit(1)
      .toArray(),
  ])
  const ageMs = oldest === undefined ? 0 : clock.nowMs() - oldest.creation_time.getTime()
  metrics.pendingNotifications(count, Math.max(0, ageMs) / 1000)
}

export interface DeliveryOptions {
  readonly catalog: Catalog
  readonly config: Pick<Config, 'external' | 'secrets' | 'data' | 'catalog'>
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: NotificationMetrics
}

export interface Delivery {
  /** Waits `drainMs` for attempts under way, ends the others, and gives their events back. */
  stop(drainMs: number): Promise<void>
}

/** Receivers looked at by one poll; the next one continues. */
const RECEIVERS_MAX = 100
/** Connections to one receiver: the limit of the settings. */
const CONNECTIONS_MAX = 100

const TEXTS = {
  failing: 'pending notifications cannot be read; retrying',
  recovered: 'pending notifications are read again',
}

export function startDelivery(options: DeliveryOptions): Delivery {
  const delivery = new Deliverer(options)
  const { catalog, metrics, clock, config, log } = options
  const poller = createPoller(config.catalog.pollMs, () => delivery.poll(), TEXTS, log)
  void poller.start()
  const gauges = startNotificationGauges({ catalog, metrics, clock })
  return {
    async stop(drainMs) {
      await poller.stop()
      await delivery.end(drainMs)
      gauges.stop()
    },
  }
}

class Deliverer {
  readonly #options: DeliveryOptions
  readonly #read: () => Promise<NotificationSettings>
  readonly #outgoing
  readonly #ending = new AbortController()
  readonly #outcomes: OutcomeWriter
  readonly #queues = new Map<string, ReceiverQueue>()
  #settings: NotificationSettings | null = null
  /** Where the next poll continues; null: with the first receiver. */
  #after: string | null = null
  /** Receivers found since the first one was. */
  #seen = new Set<string>()

  constructor(options: DeliveryOptions) {
    const { catalog, config, clock } = options
    this.#options = options
    const { privateRanges } = config.external
    this.#outgoing = createOutgoing({ privateRanges, connectionsMax: CONNECTIONS_MAX })
    this.#outcomes = new OutcomeWriter({ ...options, signal: this.#ending.signal })
    const sealer = sealerOf(config)
    const current = createCurrentSettings(catalog, clock, config.catalog.pollMs)
    const read = (value: unknown) => notificationSettingsOf(value, sealer)
    const setting = { category: 'events', read }
    this.#read = () => current.get(setting)
  }

  async poll(): Promise<void> {
    const settings = await this.#read()
    const { problem } = settings
    if (problem !== null && problem !== this.#settings?.problem) {
      this.#options.log.error({ problem }, 'notifications are not sent: the settings are invalid')
    }
    this.#settings = settings
    if (problem !== null) return
    const nowMs = this.#options.clock.nowMs()
    for (let count = 0; count < RECEIVERS_MAX; count += 1) {
      const found = await nextReceiver(this.#options.catalog, this.#after)
      if (found === null) return this.#forget()
      this.#after = found.key
      this.#seen.add(found.key)
      if (found.dueMs <= nowMs) this.#queueOf(found.key, settings).wake()
    }
  }

  async end(drainMs: number): Promise<void> {
    const queues = [...this.#queues.values()]
    const ended = Promise.all(queues.map((queue) => queue.end())).then(() =>
      this.#outcomes.settled(),
    )
    const timeUp = new AbortController()
    const drained = delay(drainMs, undefined, { signal: timeUp.signal }).catch(() => undefined)
    await Promise.race([ended, drained])
    timeUp.abort()
    this.#ending.abort()
    await ended
    await this.#outgoing.close()
  }

  #queueOf(key: string, initial: NotificationSettings): ReceiverQueue {
    let queue = this.#queues.get(key)
    if (queue === undefined) {
      const settings = () => this.#settings ?? initial
      const parts = { ...this.#options, settings, signal: this.#ending.signal }
      const shared = { outgoing: this.#outgoing, outcomes: this.#outcomes }
      queue = new ReceiverQueue(key, { ...parts, ...shared })
      this.#queues.set(key, queue)
    }
    return queue
  }

  /** Begins with the first receiver again, without the queues of those that have no events. */
  #forget(): void {
    for (const [key, queue] of this.#queues) {
      if (!queue.isIdle || this.#seen.has(key)) continue
      queue.forget()
      this.#queues.delete(key)
    }
    this.#seen = new Set()
    this.#after = null
  }
}
