/**
 * The longest prefix of a called number among 100,000 rates, compared with a lookup in a plain map
 * of the same size; and the time to build the index, in pages like a worker.
 */
import { parseArgs } from 'node:util'
import type { RateRevision } from '../src/domain/catalogue.ts'
import { compileCalculators } from '../src/rating/match/calculators.ts'
import {
  type ChangedRateRevisions,
  RateFinder,
  type UsageFields,
} from '../src/rating/match/finder.ts'

const { values } = parseArgs({
  options: {
    rates: { type: 'string', default: '100000' },
    prefixes: { type: 'string', default: '1' },
    page: { type: 'string', default: '500' },
    rounds: { type: 'string', default: '10' },
  },
})
const RATES = Number(values.rates)
const PREFIXES = Number(values.prefixes)
const LOOKUPS = 100_000
/** Calls measured together: a few ms, so that some measurements are not interrupted. */
const CALLS = 2_000

const now = () => performance.now()
const say = (name: string, value: string) => process.stdout.write(`${name}=${value}\n`)
/** A repeatable sequence of integers below a bound (linear congruence). */
function randomIntegers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 4_294_967_296) * below)
  }
}

const roll = randomIntegers(7)

function digits(length: number): string {
  let text = String(1 + roll(9))
  while (text.length < length) text += roll(10)
  // A flat string, as a decoder creates it; concatenated strings are slower to read.
  return JSON.parse(`"${text}"`)
}

function rateWith(key: string): ChangedRateRevisions {
  const prefix = Array.from({ length: PREFIXES }, () => digits(3 + roll(7)))
  const usage = { base: null, plans: new Map() }
  const revision: RateRevision = {
    id: key,
    key,
    fromMs: 0,
    toMs: Number.MAX_SAFE_INTEGER,
    usages: new Map([['call', usage]]),
    category: 'retail',
    addToRetail: false,
    play: '',
    params: { prefix },
    taxHints: [],
    method: 'tiered' as const,
    rounding: null,
  }
  return { key, revisions: [revision] }
}

/** The time of each page, ms. */
function build(finder: RateFinder, rates: readonly ChangedRateRevisions[]): readonly number[] {
  const page = Number(values.page)
  const took: number[] = []
  for (let at = 0; at < rates.length; at += page) {
    const slice = rates.slice(at, at + page)
    const start = now()
    finder.update(slice)
    took.push(now() - start)
  }
  return took
}

/** Nanoseconds per call. */
function timed(from: number, call: (index: number) => void): number {
  const start = now()
  for (let index = from; index < from + CALLS; index += 1) call(index)
  return ((now() - start) * 1e6) / CALLS
}

/** Loads the called numbers into the caches, where a decoder would have left them. */
function touch(from: number): number {
  let sum = 0
  for (const { calledNumber } of usages.slice(from, from + CALLS)) {
    for (let at = 0; at < calledNumber.length; at += 1) sum += calledNumber.charCodeAt(at)
  }
  return sum
}

const rates = Array.from({ length: RATES }, (_, index) =>
  rateWith(`RATE_${String(index).padStart(6, '0')}`),
)
const numbers = Array.from({ length: LOOKUPS }, () => digits(12))
const usages = numbers.map((calledNumber): UsageFields => {
  const own = { usaget: 'call', ratingGroup: -1, plan: 'PLAN', play: '', timeZone: 'UTC' }
  const none = () => undefined
  return { ...own, serviceIdentifier: '', calledNumber, field: none, subscriberField: none }
})
const known = rates.map(({ key }) => key)
const plain = new Map(rates.map(({ key, revisions }) => [key, revisions]))

const finder = new RateFinder(compileCalculators({}), ['{called_number}'])
const slices = [...build(finder, rates)].sort((a, b) => a - b)
const p99 = slices[Math.floor((slices.length - 1) * 0.99)] ?? 0
let found = 0
let touched = 0
let lookup = Number.POSITIVE_INFINITY
let ceiling = Number.POSITIVE_INFINITY
for (let round = 0; round < Number(values.rounds); round += 1) {
  for (let from = 0; from < LOOKUPS; from += CALLS) {
    touched += touch(from)
    const lookupNs = timed(from, (index) => {
      if (finder.find('retail', usages[index] as UsageFields, 1) !== null) found += 1
    })
    const ceilingNs = timed(from, (index) => {
      // Spread over the map like the numbers, so that neither benefits from the caches.
      if (plain.get(known[(index * 40_503) % RATES] as string) === undefined) found = 0
    })
    lookup = Math.min(lookup, lookupNs)
    ceiling = Math.min(ceiling, ceilingNs)
  }
}
say('rates', String(RATES))
say('prefixes', String(RATES * PREFIXES))
if (touched === 0) throw new Error('no request was read')
say('found_share', (found / LOOKUPS / Number(values.rounds)).toFixed(2))
say('longest_prefix_ns', lookup.toFixed(0))
say('map_get_ns', ceiling.toFixed(0))
say('ratio', (lookup / ceiling).toFixed(1))
say('build_ms', slices.reduce((sum, ms) => sum + ms, 0).toFixed(0))
say('build_p99_slice_ms', p99.toFixed(2))
say('build_longest_slice_ms', (slices.at(-1) ?? 0).toFixed(2))
