/** Samples the resources of the parts of a running product: memory, descriptors, queues. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../../../src/config/load.ts'
import { createLedger, type Ledger } from '../../../src/ledger/ledger.ts'
import { openSessions, streamBacklog } from '../../../src/ledger/streams.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { openRedis, type RedisConnection, waitForRedis } from '../../../src/store/redis.ts'
import type { Product } from '../product/product.ts'
import { waitUntil } from '../wait.ts'

export type Part = 'realtime' | 'admin' | 'redis' | 'mongo'

/** One sample; sizes in MiB. */
export type Sample = Readonly<Record<string, number>>

const MIB = 1024 * 1024

/** Anonymous memory of a process, MiB: without mapped files, through which LMDB reads. */
export function anonymousMib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}

const LIVE_MEMORY = fileURLToPath(new URL('./live-memory.cjs', import.meta.url))
/** NODE_OPTIONS of roles whose live memory is measured. */
export const MEASURES_LIVE = `--require ${LIVE_MEMORY}`

/**
 * Memory of a role in MiB after all garbage was collected: what V8 has not collected yet is up to
 * several times as much.
 */
export async function liveMib(product: Product, role: 'realtime' | 'admin'): Promise<number> {
  const pid = product.pid(role)
  const file = join(product.folder, `live-memory-${pid}.json`)
  rmSync(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  await waitUntil(`the live memory of ${role}`, () => existsSync(file))
  return (JSON.parse(readFileSync(file, 'utf8')) as { bytes: number }).bytes / MIB
}

export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

export class Sampler {
  readonly samples: Sample[] = []
  readonly #product: Product
  readonly #parts: readonly Part[]
  readonly #redis: RedisConnection
  readonly #ledger: Ledger

  private constructor(product: Product, parts: readonly Part[], redis: RedisConnection) {
    this.#product = product
    this.#parts = parts
    this.#redis = redis
    this.#ledger = createLedger(redis, loadConfig({ env: {} }).ledger, 1)
  }

  /** `parts` must run from now to the end. */
  static async open(product: Product, parts: readonly Part[]): Promise<Sampler> {
    const limits = { commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 }
    const log = createLogger({ name: 'sampler', level: 'silent' })
    const redis = openRedis({ url: product.redisUrl, ...limits }, log)
    await waitForRedis(redis, 20_000)
    return new Sampler(product, parts, redis)
  }

  async sample(): Promise<void> {
    const sample: Record<string, number> = {}
    for (const part of this.#parts) {
      sample[`${part} anon MiB`] = anonymousMib(this.#product.pid(part))
    }
    for (const [role, bytes] of await this.#heaps()) sample[`${role} heap MiB`] = bytes / MIB
    for (const part of this.#parts) sample[`${part} files`] = openFiles(this.#product.pid(part))
    const memory = await this.#redis.client.info('memory')
    sample['redis used MiB'] = Number(/^used_memory:(\d+)/m.exec(memory)?.[1]) / MIB
    sample['redis keys'] = await this.#redis.client.dbsize()
    sample['stream entries'] = await streamBacklog(this.#ledger)
    sample['open sessions'] = await openSessions(this.#ledger)
    this.samples.push(sample)
  }

  /** Current number of descriptors, by part. */
  files(): Record<string, number> {
    return Object.fromEntries(
      this.#parts.map((part) => [part, openFiles(this.#product.pid(part))] as const),
    )
  }

  close(): Promise<void> {
    return this.#redis.close()
  }

  /** Used JavaScript heap of the main thread of each role in bytes, as the product reports it. */
  async #heaps(): Promise<[string, number][]> {
    const text = await (await fetch(`${this.#product.adminUrl}/metrics`)).text()
    const found = text.matchAll(/^nodejs_heap_size_used_bytes\{([^}]*)\} (\S+)$/gm)
    return [...found].map(([, labels = '', value]) => [
      /role="([^"]*)"/.exec(labels)?.[1] ?? labels,
      Number(value),
    ])
  }
}

export interface Trend {
  name: string
  /** Medians of the quarters of the run. */
  quarters: readonly number[]
  max: number
}

/** The trend of each value over the run, in the order in which they were sampled. */
export function trendsOf(samples: readonly Sample[]): Trend[] {
  const names = new Set(samples.flatMap((sample) => Object.keys(sample)))
  return [...names].map((name) => {
    const quarters = [0, 1, 2, 3].map((quarter) => {
      const from = Math.floor((quarter * samples.length) / 4)
      const to = Math.floor(((quarter + 1) * samples.length) / 4)
      return medianOf(valuesOf(samples.slice(from, to), name))
    })
    return { name, quarters, max: Math.max(...valuesOf(samples, name)) }
  })
}

function valuesOf(samples: readonly Sample[], name: string): number[] {
  return samples.flatMap((sample) => sample[name] ?? [])
}

function medianOf(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}

/** A table for people. */
export function tableOf(trends: readonly Trend[]): string {
  const row = (cells: readonly string[]) =>
    cells.map((cell, index) => (index === 0 ? cell.padEnd(20) : cell.padStart(10))).join('')
  const rows = trends.map(({ name, quarters, max }) =>
    row([name, ...[...quarters, max].map((value) => value.toFixed(1))]),
  )
  return [row(['median of quarter', '1', '2', '3', '4', 'max']), ...rows].join('\n')
}
