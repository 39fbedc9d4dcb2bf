import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BudgetReporter } from './test/run/budget-reporter.ts'
import { LongestFirst } from './test/run/longest-first.ts'
import { skippedByLanding } from './test/run/rotation.ts'

/**
 * `TEST_SET`: `full` (`npm run test:full`) is all tests, and properties at full length; `landing`
 * (`.ci/run`) the same with a part of the rotated tests; otherwise the short set.
 */
const SET = process.env['TEST_SET']

/** Two for each processor: most files wait, for stores and processes or for time that passes. */
const FILES_AT_ONCE = 2 * Math.max(2, availableParallelism())

/**
 * Tests that are not in the short set: rounds of kill -9, soak, outages, full disks, long
 * fuzzing, and files that start many processes or wait for timeouts.
 */
const LONG: readonly string[] = [
  'test/system/{kill,kill-full-load,prepaid-kill,events-kill,intake-kill,soak,disk-full,stop-disk-full,cycle-disk-full,cluster,rebuild}.test.ts',
  'test/system/{auditor,clock,customers,cycle-kill,hostile,listeners,live,mass-release,mend,sweep}.test.ts',
  'test/system/{outages,diameter,dialects,entities,billing}/**/*.test.ts',
  'test/embedded/redis-disk-full.test.ts',
  'packages/embedded-mongo/test/{disk-full,kill}.test.ts',
  'test/cli/{autorenew,card,check,client,confined,debt,event,event-test,field,filetype,filetype-check,import}.test.ts',
  'test/cli/{lost-ledger,migrate,migrate-kill,peer,privacy,processes,readme,readme-invoices,session,settings,sources,start,user}.test.ts',
  'test/cli/quote/command.test.ts',
  'test/deploy/**/*.test.ts',
  'test/{admin/auth,identity,jobs/privacy}/**/*.test.ts',
  'test/admin/actions/{bulkcredit,crash,fuzz}.test.ts',
  'test/billing/documents/ubl.test.ts',
  'test/entities/{api,import}/**/*.test.ts',
  'test/admin/{audit-crash,smuggling,tls,http/import}.test.ts',
  'test/realtime/{listeners,http/client-tokens,http/hostile,http/smuggling}.test.ts',
  'test/catalog/feed/feed.test.ts',
  'test/workers/{cluster,contention}.test.ts',
  'test/embedded/redis.test.ts',
  'test/realtime/codecs/complexity.test.ts',
  'test/runtime/tls-listeners.test.ts',
]

/** Pages in the Chromium of the machine. */
const BROWSER = 'test/console/**/*.browser.test.ts'
/** Billing on real stores; the rest of it is pure. */
const STORED_BILLING = [
  'test/billing/charges/{charge-events,charges,refunds}.test.ts',
  'test/billing/{books-store,money-group,statements}.test.ts',
  'test/billing/run/*.test.ts',
]
const CODECS = 'test/realtime/codecs/**/*.test.ts'

/** `TEST_REPORT` names a file that receives the results as JSON. */
const REPORT = process.env['TEST_REPORT']

/** Files that are not in the set. */
const SKIPPED = SET === 'full' ? [] : SET === 'landing' ? skippedByLanding() : [BROWSER, ...LONG]

/** Packages of this repository are tested in their sources, without a build. */
const RESOLVE = { conditions: ['source', 'module', 'node', 'development|production'] }

/** The files of a project, which share the modules that a worker has loaded. */
function project(name: string, include: readonly string[], exclude: readonly string[] = []) {
  return {
    extends: true as const,
    test: { name, include: [...include], exclude: [...exclude, ...SKIPPED], isolate: false },
  }
}

/** `npm test`: projects by what their files need, in the order in which they start. */
export default defineConfig({
  resolve: RESOLVE,
  ssr: { resolve: RESOLVE },
  test: {
    globalSetup: 'test/run/memory-folder.ts',
    setupFiles: 'test/run/processor-time.ts',
    reporters: ['default', ...(REPORT === undefined ? [] : ['json']), new BudgetReporter()],
    ...(REPORT !== undefined && { outputFile: REPORT }),
    sequence: { sequencer: LongestFirst, seed: Date.now() },
    maxWorkers: FILES_AT_ONCE,
    // The built product is loaded as Node does it, for commands in the process of a test.
    server: { deps: { external: [/\/dist\/src\//] } },
    // Tests wait for conditions, not for time: these limits only end one that hangs.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      project('browser', [BROWSER]),
      project('system', ['test/system/**/*.test.ts']),
      project('commands', ['test/{cli,deploy}/**/*.test.ts']),
      project(
        'api',
        ['test/{admin,console,entities,identity,jobs,prepaid,reports,requests}/**/*.test.ts'],
        [BROWSER],
      ),
      project('stores', [
        'test/{stores,ledger,catalog,workers,recorder,embedded,store,notifications,intake,export}/**/*.test.ts',
        'packages/embedded-mongo/test/**/*.test.ts',
        ...STORED_BILLING,
      ]),
      project('sockets', ['test/{realtime,external,transfer}/**/*.test.ts'], [CODECS]),
      project(
        'unit',
        [
          'test/{domain,rating,file-types,config,runtime,bench,billing}/**/*.test.ts',
          'packages/console/test/**/*.test.ts',
          CODECS,
        ],
        STORED_BILLING,
      ),
    ],
  },
})
