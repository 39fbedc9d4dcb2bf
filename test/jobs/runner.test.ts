/** When the runner starts jobs: those begun in its process at once, failed ones after a time. */
import { afterEach, expect, it } from 'vitest'
import { NODE_ACTOR } from '../../src/catalog/actor.ts'
import { type Catalog, withGuards } from '../../src/catalog/connection.ts'
import { CatalogUnavailableError } from '../../src/catalog/errors.ts'
import { patienceOf } from '../../src/catalog/patience.ts'
import { runPart } from '../../src/catalog/transactions/state.ts'
import { addJob, beginJob, type NewJob } from '../../src/jobs/jobs.ts'
import { type JobHandler, type JobRunner, startJobRunner } from '../../src/jobs/runner.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { useStore } from '../support/catalog/store.ts'
import { silent } from '../support/recorder/accounts.ts'

const store = useStore()
const clock = systemClock
/** Longer than a test waits for a condition. */
const NEVER_MS = 10 * 60_000
const runners: JobRunner[] = []
afterEach(async () => {
  for (const runner of runners.splice(0)) await runner.stop()
})

/** Resolves after the first poll. */
async function runOn(
  catalog: Catalog,
  charge: JobHandler,
  jobs: { pollMs: number; retryMs: number },
): Promise<void> {
  let hasPolled = false
  const run: Catalog['run'] = async (what, operation) => {
    const found = await catalog.run(what, operation)
    hasPolled = true
    return found
  }
  const own = withGuards(catalog, { run })
  runners.push(
    startJobRunner({ catalog: own, clock, config: { jobs }, log: silent, handlers: { charge } }),
  )
  await expect.poll(() => hasPolled).toBe(true)
}

const job = (subject: string): NewJob => {
  return { kind: 'charge', subject, options: {}, actor: NODE_ACTOR }
}

it('a job that this process begins starts at once, also in a part of a transaction', async () => {
  const catalog = await store.open()
  await catalog.ensureIndexes()
  const ran: string[] = []
  const handler: JobHandler = async ({ job: { subject } }) => {
    ran.push(subject)
    return null
  }
  await runOn(catalog, handler, { pollMs: NEVER_MS, retryMs: NEVER_MS })
  await beginJob({ catalog, clock }, job('first'))
  await expect.poll(() => ran).toEqual(['first'])
  await catalog.transaction('two parts', (session) =>
    runPart(session, () => addJob({ catalog, clock }, session, job('second'))),
  )
  await expect.poll(() => ran).toEqual(['first', 'second'])
})

it('a job that has failed is tried again after jobs.retryMs', async () => {
  const catalog = await store.open()
  await catalog.ensureIndexes()
  let tries = 0
  const handler: JobHandler = async () => {
    tries += 1
    if (tries === 1) throw new Error('away')
    return null
  }
  await runOn(catalog, handler, { pollMs: 10, retryMs: 20 })
  const { _id } = await beginJob({ catalog, clock }, job('failing'))
  await expect.poll(async () => (await catalog.jobs.findOne({ _id }))?.state).toBe('done')
  expect(tries).toBe(2)
})

it.each(['before', 'after'] as const)(
  'a job whose end is not answered %s it is stored runs once',
  async (when) => {
    const catalog = await store.open()
    await catalog.ensureIndexes()
    let isLost = false
    let runs = 0
    const run: Catalog['run'] = async (what, operation) => {
      if (what !== 'write jobs' || runs === 0 || isLost) return catalog.run(what, operation)
      isLost = true
      if (when === 'after') await catalog.run(what, operation)
      throw new CatalogUnavailableError('no answer')
    }
    const handler: JobHandler = async () => {
      runs += 1
      return null
    }
    const patience = { ...patienceOf(60_000, () => undefined), pauseMs: 1 }
    await runOn({ ...withGuards(catalog, { run }), patience }, handler, { pollMs: 10, retryMs: 10 })
    const { _id } = await beginJob({ catalog, clock }, job(when))
    await expect.poll(async () => (await catalog.jobs.findOne({ _id }))?.state).toBe('done')
    expect([runs, isLost, await catalog.jobs.findOne({ _id })]).toMatchObject([
      ...[1, true],
      { error: '' },
    ])
  },
)
