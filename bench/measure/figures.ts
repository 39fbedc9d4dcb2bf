/** What the product and Redis say of themselves. */
import { Redis } from 'ioredis'
import type { Product } from '../product.ts'

/** The sum of a figure of the product over all of its processes. */
export async function productFigure(product: Product, name: string): Promise<number> {
  const text = await (await fetch(`${product.adminUrl}/metrics`)).text()
  return sumOf(text, name)
}

/** The sum of all series of this name in a text of Prometheus. */
export function sumOf(text: string, name: string): number {
  let sum = 0
  for (const line of text.split('\n')) {
    if (!line.startsWith(`${name}{`) && !line.startsWith(`${name} `)) continue
    sum += Number(line.slice(line.lastIndexOf(' ') + 1))
  }
  return sum
}

/** One connection for a look at Redis. */
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

/** What Redis counted of each command since `resetCommands`, the dearest first. */
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

/** Bytes that Redis has in use, as it counts them. */
export async function redisMemory(url: string): Promise<number> {
  const text = await askRedis(url, (redis) => redis.info('memory'))
  return Number(/^used_memory:(\d+)/m.exec(text)?.[1] ?? 0)
}
