/**
 * Products of the benchmark: one at a time, seeded and warm, reused while the same kind is
 * requested.
 */
import { loadConfig } from '../src/config/load.ts'
import { isInline } from '../src/realtime/thread-context.ts'
import { DEFAULT_LIMITS } from '../test/support/product/patience.ts'
import { populate } from '../test/support/product/population.ts'
import { type Product, startProduct } from '../test/support/product/product.ts'
import type { Flow, Protocol } from './generator/job.ts'
import { warmSubscribers } from './load.ts'
import type { Bench, ProductKind, Settings } from './scenario.ts'

const GIB = 1024 ** 3
/** Enough for any run: micros of money, bytes of data. */
const CREDITS = [
  { prepaidIncludeId: 1, amount: 1_000_000_000_000 },
  { prepaidIncludeId: 2, amount: 1000 * GIB },
]
/** Sessions per request under way, so that a session is not used again immediately. */
const SESSIONS_PER_REQUEST = 16
const DIAMETER_CONNECTIONS = 4
/** Each protocol has its own quarter of the subscribers: first index and count. */
const QUARTERS: Readonly<Record<Protocol, { from: number; count: number }>> = {
  json: { from: 0, count: 2 },
  keyValue: { from: 2, count: 1 },
  diameter: { from: 3, count: 1 },
}

function workerSettings({ workers, workerKind }: Settings): Record<string, string> {
  return {
    ...(workers > 0 && { TOLLGATE_REALTIME_WORKERS: String(workers) }),
    ...(workerKind !== undefined && { TOLLGATE_REALTIME_WORKER_KIND: workerKind }),
  }
}

export function createBench(settings: Settings, say: (text: string) => void): Bench {
  let current: { key: string; product: Product; workers: string } | null = null
  const places = new Set<string>()

  const endProduct = async (): Promise<void> => {
    const ending = current
    current = null
    await ending?.product.stop()
  }

  const product = async (kind: ProductKind): Promise<Product> => {
    const key = JSON.stringify(kind)
    if (current?.key === key) {
      places.add(current.workers)
      return current.product
    }
    await endProduct()
    const { admin = true, environment = {}, ...options } = kind
    const all = { ...DEFAULT_LIMITS, ...workerSettings(settings), ...environment }
    const { realtime } = loadConfig({ env: all })
    const { queueMsMax } = realtime
    const product = await startProduct({ ...options, queueMsMax, environment: all })
    try {
      say(`  seeding ${settings.subscribers} subscribers`)
      const sizes = { subscribers: settings.subscribers, subscribersPerAccount: 1 }
      await populate({ ...product, ...sizes, credits: CREDITS })
      await product.start('realtime')
      if (admin) await product.start('admin')
      await warmSubscribers(product.realtimePort, settings.subscribers)
    } catch (error) {
      await product.stop()
      throw error
    }
    const place = isInline(realtime) ? 'one on the event loop' : 'threads'
    current = { key, product, workers: `workers of the product: ${place}` }
    places.add(current.workers)
    return product
  }

  const flow = (from: Product, protocol: Protocol, more: Partial<Flow> = {}): Flow => {
    const quarter = Math.floor(settings.subscribers / 4)
    const { from: firstQuarter, count } = QUARTERS[protocol]
    const { connections } = settings
    const { subscribers = quarter * count, outstanding = connections } = more
    return {
      name: protocol,
      protocol,
      gaps: 'even',
      port: protocol === 'diameter' ? from.diameterPort : from.realtimePort,
      connections: protocol === 'diameter' ? DIAMETER_CONNECTIONS : connections,
      outstanding,
      firstSubscriber: quarter * firstQuarter,
      subscribers,
      sessions: Math.min(subscribers, outstanding * SESSIONS_PER_REQUEST),
      phases: [{ perSecond: 0, seconds: settings.seconds }],
      ...more,
    }
  }

  const takePlaces = () => {
    const taken = [...places]
    places.clear()
    return taken
  }

  return { settings, say, product, endProduct, flow, takePlaces }
}
