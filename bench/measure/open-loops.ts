/** Open loops with the recorder on: the latency that a gateway sees, beside pauses and refusals. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Product } from '../../test/support/product/product.ts'
import type { Table } from '../scenario.ts'
import { productFigure } from './figures.ts'
import { millis, round, type Window } from './load.ts'
import { type Collections, collectionsIn } from './loop-delays.ts'

/** Causes of `tollgate_overload_refused_total`. */
const CAUSES = ['new', 'queue', 'in_flight', 'memory', 'waited'] as const
/** Longer than the processes take to publish their metrics. */
const PUBLISHED_MS = 1_300

export interface OpenLoop {
  name: string
  window: Window
  refused: Record<string, number>
  collections: readonly Collections[]
}

/** A load with what was refused by reason, and the pauses of each thread meanwhile. */
export async function openLoop(
  product: Product,
  folder: string,
  name: string,
  load: () => Promise<Window>,
): Promise<OpenLoop> {
  const before = await refusedBy(product)
  const fromMs = Date.now()
  const window = await load()
  const range = [fromMs, Date.now()] as const
  await pause(PUBLISHED_MS)
  const after = await refusedBy(product)
  const refused = CAUSES.map((cause) => [cause, (after[cause] ?? 0) - (before[cause] ?? 0)])
  const of = (thread: 'main' | 'workers', kind: 'scavenge' | 'compact') =>
    collectionsIn(folder, thread, kind, range)
  const main = [of('main', 'scavenge'), of('main', 'compact')]
  const collections = [...main, of('workers', 'scavenge'), of('workers', 'compact')]
  return { name, window, refused: Object.fromEntries(refused), collections }
}

async function refusedBy(product: Product): Promise<Record<string, number>> {
  const counts = CAUSES.map(async (cause) => {
    const label = `cause="${cause}"`
    return [cause, await productFigure(product, 'tollgate_overload_refused_total', label)]
  })
  return Object.fromEntries(await Promise.all(counts))
}

/** Pauses are `number × mean (maximum)`, ms. */
export function openLoopTable(loops: readonly OpenLoop[]): Table {
  const pauses = ({ count, meanMs, longestMs }: Collections) =>
    count === 0 ? '0' : `${count} × ${round(meanMs, 1)} (${round(longestMs, 1)})`
  return {
    title: 'Open loops with the recorder on (latency from the due time)',
    columns: [
      '',
      'per second',
      'p50 ms',
      'p95 ms',
      'p99 ms',
      'p99.9 ms',
      'refused',
      'failed or not answered',
      'main: scavenges, ms',
      'main: mark-compacts, ms',
      'workers: scavenges, ms',
      'workers: mark-compacts, ms',
    ],
    rows: loops.map(({ name, window, refused, collections }) => [
      name,
      Math.round(window.perSecond),
      ...[0.5, 0.95, 0.99, 0.999].map((share) => millis(window.latency, share)),
      refusals(refused),
      window.failed + window.unanswered,
      ...collections.map(pauses),
    ]),
  }
}

function refusals(refused: Readonly<Record<string, number>>): string {
  const some = Object.entries(refused).filter(([, count]) => count > 0)
  return some.length === 0 ? '0' : some.map(([cause, count]) => `${cause} ${count}`).join(', ')
}
