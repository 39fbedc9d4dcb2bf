/** Statistics of the product and Redis. */
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { Product } from '../../test/support/product/product.ts'

/** The sum of a metric over all processes of the product; see `sumOf`. */
export async function productFigure(product: Product, name: string, label = ''): Promise<number> {
  const text = await (await fetch(`${product.adminUrl}/metrics`)).text()
  return sumOf(text, name, label)
}

/** The sum of all series of this name, with this label (`name="value"`), in a Prometheus text. */
export function sumOf(text: string, name: string, label = ''): number {
  let sum = 0
  for (const line of text.split('\n')) {
    if (!line.startsWith(`${name}{`) && !line.startsWith(`${name} `)) continue
    if (!line.includes(label)) continue
    sum += Number(line.slice(line.lastIndexOf(' ') + 1))
  }
  return sum
}

const LOOK_MS = 1_300

/**
 * Counters, once they no longer change: the processes publish them every second. No request may be
 * under way.
 */
export async function settledFigures<Name extends string>(
  product: Product,
  names: readonly Name[],
): Promise<Record<Name, number>> {
  const look = async () => {
    const text = await (await fetch(`${product.adminUrl}/metrics`)).text()
    return names.map((name) => sumOf(text, name))
  }
  let before = await look()
  for (;;) {
    await pause(LOOK_MS)
    const now = await look()
    if (now.every((value, at) => value === before[at])) {
      return Object.fromEntries(names.map((name, at) => [name, now[at] ?? 0])) as Record<
        Name,
        number
      >
    }
    before = now
  }
}

/** Statistics of the workers and the pool, per request of some loads. */
export interface LedgerFigures {
  /** Average number of requests per batch. */
  batch: number
  /** Repeated commits per request. */
  conflicts: number
}

const COUNTED = [
  ...(['tollgate_batch_size_sum', 'tollgate_batch_size_count'] as const),
  'tollgate_commit_conflicts_total' as const,
]

/** Runs loads and returns the change of the counters from start to end. */
export async function countLedger<T>(
  product: Product,
  work: () => Promise<T>,
): Promise<{ result: T; ledger: LedgerFigures }> {
  const before = await settledFigures(product, COUNTED)
  const result = await work()
  const after = await settledFigures(product, COUNTED)
  const grown = (name: (typeof COUNTED)[number]) => after[name] - before[name]
  const requests = grown('tollgate_batch_size_sum')
  return {
    result,
    ledger: {
      batch: requests / Math.max(1, grown('tollgate_batch_size_count')),
      conflicts: grown('tollgate_commit_conflicts_total') / Math.max(1, requests),
    },
  }
}

export function ledgerNote({ batch, conflicts }: LedgerFigures): string {
  return `${batch.toFixed(1)} requests in a batch, ${conflicts.toFixed(4)} conflicts per request`
}

/** A connection for a single query to Redis. */
export async function askRedis<T>(url: string, ask: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url.replace(/^unix:\/\//, ''))
  try {
    return await ask(redis)
  } finally {
    redis.disconnect()
  }
}

export interface CommandCost {
  name: string
  calls: number
  micros: number
}

/** Entries appended to streams so far, counted as XADD calls within the scripts. */
export async function entriesAppended(url: string): Promise<number> {
  return (await commandCosts(url)).find(({ name }) => name === 'xadd')?.calls ?? 0
}

/** Redis' statistics of each command since `resetCommands`, in descending order of cost. */
export async function commandCosts(url: string): Promise<CommandCost[]> {
  const text = await askRedis(url, (redis) => redis.info('commandstats'))
  return parseCommandStats(text)
}

export async function resetCommands(url: string): Promise<void> {
  await askRedis(url, (redis) => redis.config('RESETSTAT'))
}

export function parseCommandStats(text: string): CommandCost[] {
  const found = text.matchAll(/^cmdstat_([^:]+):calls=(\d+),usec=(\d+)/gm)
  const costs = [...found].map(([, name = '', calls, micros]) => {
    return { name, calls: Number(calls), micros: Number(micros) }
  })
  return costs.sort((a, b) => b.micros - a.micros)
}

/** Bytes used by Redis according to its own accounting. */
export async function redisMemory(url: string): Promise<number> {
  const text = await askRedis(url, (redis) => redis.info('memory'))
  return Number(/^used_memory:(\d+)/m.exec(text)?.[1] ?? 0)
}
