/**
 * Sequential request times of the entity API, compared with the cheapest answer of the same server
 * in the same run, with many subscribers in the store.
 */
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { aidOf, FIRST_SID, populate } from '../test/support/product/population.ts'
import { startProduct } from '../test/support/product/product.ts'

const { values } = parseArgs({
  options: {
    subscribers: { type: 'string', default: '200000' },
    requests: { type: 'string', default: '1000' },
  },
})

const SUBSCRIBERS = Number(values.subscribers)
const REQUESTS = Number(values.requests)
const PER_ACCOUNT = 10
/** Discarded: V8 is still compiling. */
const WARMUP_REQUESTS = 3_000
const say = (text: string) => process.stdout.write(`${text}\n`)

interface Call {
  name: string
  path: string
  /** Parameters of the n-th request; null for a plain GET. */
  parameters: ((index: number) => Record<string, unknown>) | null
}

const sidOf = (index: number) => FIRST_SID + ((index * 7919) % SUBSCRIBERS)

const CALLS: readonly Call[] = [
  { name: 'ceiling: /health/live', path: '/health/live', parameters: null },
  {
    name: 'uniqueget by sid',
    path: '/billapi/subscribers/uniqueget',
    parameters: (index) => ({ query: { sid: sidOf(index) } }),
  },
  {
    name: 'get of all revisions by sid',
    path: '/billapi/subscribers/get',
    parameters: (index) => ({ query: { sid: sidOf(index) }, sort: { from: -1 } }),
  },
  {
    name: 'uniqueget by account',
    path: '/billapi/subscribers/uniqueget',
    parameters: (index) => ({
      query: { aid: aidOf((index * 7919) % SUBSCRIBERS, PER_ACCOUNT) },
    }),
  },
  {
    name: 'list of 50, by sid',
    path: '/billapi/subscribers/get',
    parameters: () => ({ sort: { sid: 1 }, size: 50, project: { sid: 1, lastname: 1 } }),
  },
  {
    name: 'unique list of 50, by sid',
    path: '/billapi/subscribers/uniqueget',
    parameters: () => ({ sort: { sid: -1 }, size: 50, project: { sid: 1, lastname: 1 } }),
  },
  {
    name: 'update of a field',
    path: '/billapi/subscribers/update',
    parameters: (index) => ({
      query: { sid: sidOf(index), effective_date: 'now' },
      update: { lastname: `Changed ${index}` },
    }),
  },
  {
    name: 'create of an account',
    path: '/billapi/accounts/create',
    parameters: (index) => ({
      update: {
        firstname: 'Ada',
        lastname: `Byron ${index}`,
        email: 'ada@example.org',
        country: 'UK',
        address: '1 Mill Rd',
        zip_code: 'AB1',
      },
    }),
  },
]

async function measure(
  url: string,
  { path, parameters }: Call,
  requests = REQUESTS,
): Promise<number[]> {
  const times: number[] = []
  for (let index = 0; index < requests; index += 1) {
    const body = parameters === null ? null : JSON.stringify(parameters(index))
    const startedMs = performance.now()
    const response = await fetch(`${url}${path}`, {
      ...(body === null
        ? {}
        : { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
    })
    const answer = await response.text()
    times.push(performance.now() - startedMs)
    if (body !== null && !answer.startsWith('{"status":1')) throw new Error(answer)
  }
  // The first requests warm the server up.
  return times.slice(Math.floor(requests / 10)).sort((a, b) => a - b)
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

const product = await startProduct()
try {
  const { redisUrl, mongoUrl, database } = product
  say(`${SUBSCRIBERS} subscribers, ${REQUESTS} requests of each kind, one after the other`)
  const people = { subscribers: SUBSCRIBERS, subscribersPerAccount: PER_ACCOUNT, credits: [] }
  await populate({ redisUrl, mongoUrl, database, ...people })
  await product.start('admin')
  let ceiling = 0
  for (const call of CALLS.slice(0, 2)) await measure(product.adminUrl, call, WARMUP_REQUESTS)
  for (const call of CALLS) {
    const sorted = await measure(product.adminUrl, call)
    const median = quantile(sorted, 0.5)
    if (call.parameters === null) ceiling = median
    const times = `p50 ${median.toFixed(2)} ms  p99 ${quantile(sorted, 0.99).toFixed(2)} ms`
    say(`${call.name.padEnd(30)} ${times}  ${(median / ceiling).toFixed(1)} x ceiling`)
  }
} finally {
  await product.stop()
}
