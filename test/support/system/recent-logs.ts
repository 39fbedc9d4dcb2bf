/** Recent log output of the parts of a product: it may show why a test has failed. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Product } from '../product/product.ts'

const LINES = 12

/** Waits, and adds the ends of all logs to the error if it rejects. */
export async function withRecentLogs<T>(product: Product, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new Error(`${message}\n${recentLogs(product)}`, { cause: error })
  }
}

function recentLogs({ folder }: Product): string {
  const logs = readdirSync(folder).filter((name) => name.endsWith('.log'))
  return logs.map((name) => `${name}:\n${tailOf(join(folder, name))}`).join('\n')
}

function tailOf(path: string): string {
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-LINES).join('\n')
}
