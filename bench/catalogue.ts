/** Blocking of the thread that loads a large catalogue, and its memory use. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openCatalog } from '../src/catalog/connection.ts'
import { type CatalogFeed, createCatalogFeed } from '../src/catalog/feed/feed.ts'
import { compileCalculators } from '../src/rating/match/calculators.ts'
import { type ChangedRateRevisions, RateFinder } from '../src/rating/match/finder.ts'
import { monotonicMs, systemClock } from '../src/runtime/clock.ts'
import { createLogger } from '../src/runtime/log.ts'
import { change, fill, planDocument, rateDocument } from './large-catalogue.ts'

const { values } = parseArgs({
  options: {
    rates: { type: 'string', default: '100000' },
    plans: { type: 'string', default: '1000' },
    changes: { type: 'string', default: '5000' },
    mongo: { type: 'string' },
  },
})

const say = (text: string) => process.stdout.write(`${text}\n`)

interface Server {
  url: string
  stop(): Promise<void>
}

/**
 * The embedded MongoDB in its own process, as in production, because it must not share the thread.
 */
async function startMongo(): Promise<Server> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-catalogue-'))
  const here = dirname(fileURLToPath(import.meta.url))
  const program = join(here, '../src/embedded/mongo.js')
  const args = ['--data', join(folder, 'data'), '--socket', join(folder, 's.sock')]
  const child = fork(program, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const [ready] = (await once(child, 'message')) as [{ url: string }]
  return {
    url: ready.url,
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * The most processor time of this thread between two iterations of the event loop, ms, by the
 * kernel's accounts: the pause that an idle machine would have.
 */
function watchTurns(): { stop(): number } {
  const nanosNow = () =>
    Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0])
  let last = nanosNow()
  let most = 0
  const look = () => {
    const now = nanosNow()
    most = Math.max(most, now - last)
    last = now
  }
  const timer = setInterval(look, 1)
  return {
    stop() {
      clearInterval(timer)
      look()
      return most / 1e6
    },
  }
}

/** Measures an operation and prints its duration and the longest pause of this thread. */
async function measured(what: string, work: () => Promise<void>): Promise<void> {
  const pauses: IntervalHistogram = monitorEventLoopDelay({ resolution: 1 })
  await new Promise((resolve) => setTimeout(resolve, 100))
  pauses.enable()
  const watch = watchTurns()
  const beganMs = monotonicMs()
  await work()
  const tookMs = monotonicMs() - beganMs
  // The histogram records a pause only after its end.
  await new Promise((resolve) => setTimeout(resolve, 50))
  pauses.disable()
  const busiest = watch.stop()
  const ms = (nanos: number) => (nanos / 1e6).toFixed(1)
  const rss = Math.round(process.memoryUsage().rss / 2 ** 20)
  const longest = `${ms(pauses.max)} ms (p99.9 ${ms(pauses.percentile(99.9))})`
  const onProcessor = `${busiest.toFixed(1)} ms`
  say(
    `${what}: ${(tookMs / 1000).toFixed(2)} s, longest pause ${longest}, ` +
      `of one turn on the processor ${onProcessor}, RSS ${rss} MiB`,
  )
}

async function load(feed: CatalogFeed, rates: number): Promise<void> {
  if (!(await feed.pollNow())) throw new Error('MongoDB cannot be read')
  const { size } = feed.current().rates
  if (size !== rates) throw new Error(`${size} of ${rates} rates: ${feed.skipped()[0]?.reason}`)
}

async function main(): Promise<void> {
  const [rates, plans, changes] = [values.rates, values.plans, values.changes].map(Number) as [
    number,
    number,
    number,
  ]
  const server = values.mongo === undefined ? await startMongo() : null
  const url = values.mongo ?? server?.url ?? ''
  const database = `catalogue_${process.pid}`
  const catalog = await openCatalog({ url, database, timeoutMs: 10_000, appName: 'bench' })
  const log = createLogger({ name: 'bench', level: 'error' })
  let reported = 0
  const finder = new RateFinder(compileCalculators({}), ['{called_number}', '{USAGET}'])
  const onRates = (changed: readonly ChangedRateRevisions[]) => {
    finder.update(changed)
    reported += changed.length
  }
  const options = { catalog, log, clock: systemClock, pollMs: 3_600_000, onRates }
  try {
    await catalog.ensureIndexes()
    say(`writing ${rates} rates and ${plans} plans`)
    await fill(catalog, 'rates', rates, rateDocument)
    await fill(catalog, 'plans', plans, planDocument)
    await measured('doing nothing', () => new Promise((resolve) => setTimeout(resolve, 1000)))
    const feed = createCatalogFeed(options)
    await measured('first load', () => load(feed, rates))
    say(`told of ${reported} rates`)
    await change(catalog, changes)
    await measured(`${changes} changes`, () => load(feed, rates))
    await change(catalog, 1)
    await measured('one change', () => load(feed, rates))
  } finally {
    await catalog.unguarded.rates.drop().catch(() => undefined)
    await catalog.unguarded.plans.drop().catch(() => undefined)
    await catalog.close()
    await server?.stop()
  }
}

await main()
