import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** Most tests wait: for stores and processes that start, for time that passes. */
export const FILES_AT_ONCE = Math.max(2, availableParallelism() - 1)

/** Limits for all tests. */
export const LIMITS = {
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // Conditions are usually met immediately, but not on a machine that others use too.
  expect: { poll: { timeout: 30_000 } },
  maxWorkers: FILES_AT_ONCE,
  // The built product is loaded as Node does it, for commands in the process of a test.
  server: { deps: { external: [/\/dist\/src\//] } },
}

/** Limit for files that run the product or a part of it as processes. */
export const WITH_PROCESSES = { testTimeout: 300_000 }

/**
 * Tests that `npm run test:system` runs (vitest.system.config.ts): rounds of kill -9, soak, outages,
 * full disks, long fuzzing, and files that start many processes or wait for timeouts.
 */
export const LONG: readonly string[] = [
  'test/system/{kill,kill-full-load,prepaid-kill,events-kill,soak,disk-full,stop-disk-full,cycle-disk-full,cluster,rebuild}.test.ts',
  'test/system/{auditor,customers,hostile,mend,mass-release,sweep,listeners}.test.ts',
  'test/system/{outages,diameter,dialects,entities,billing}/**/*.test.ts',
  'test/embedded/redis-disk-full.test.ts',
  'packages/embedded-mongo/test/{disk-full,kill}.test.ts',
  'test/cli/{autorenew,card,check,client,confined,debt,event,event-test,field,filetype,filetype-check,import}.test.ts',
  'test/cli/{lost-ledger,migrate,migrate-kill,peer,privacy,processes,readme,readme-invoices,session,settings,start,user}.test.ts',
  'test/cli/quote/command.test.ts',
  'test/deploy/**/*.test.ts',
  'test/admin/{auth,audit,privacy}/**/*.test.ts',
  'test/admin/entities/{api,import}/**/*.test.ts',
  'test/admin/{docs-page,smuggling,tls}.test.ts',
  'test/realtime/{listeners,http/client-tokens,http/hostile,http/smuggling}.test.ts',
  'test/catalog/feed/feed.test.ts',
  'test/workers/{cluster,contention}.test.ts',
  'test/embedded/redis.test.ts',
  'test/realtime/codecs/complexity.test.ts',
  'test/runtime/tls-listeners.test.ts',
]

/** Tests in the Chromium of the machine: project `browser` of vitest.system.config.ts. */
export const BROWSER = 'test/admin/console/**/*.browser.test.ts'

/** Properties that `npm test` checks in short, and `npm run test:system` again at full length. */
export const PROPERTIES: readonly string[] = [
  'test/billing/books-store.test.ts',
  'test/domain/{settle-groups,settle-model}.test.ts',
  'test/file-types/hostile.test.ts',
  'test/rating/{boundaries-property,model,quote-model,regex-syntax}.test.ts',
  'test/rating/match/finder-property.test.ts',
  'test/realtime/codecs/{fuzz,diameter-wire/fuzz}.test.ts',
  'test/realtime/codecs/diameter/diameter-message.test.ts',
  'test/system/cycle-kill.test.ts',
]

/** Billing on real stores; the rest of it is pure. */
const STORED_BILLING = [
  'test/billing/charges/{charge-events,charges,refunds}.test.ts',
  'test/billing/{books-store,money-group,statements}.test.ts',
  'test/billing/run/*.test.ts',
]
const CODECS = 'test/realtime/codecs/**/*.test.ts'

/** Packages of this repository are tested in their sources, without a build. */
export const RESOLVE = { conditions: ['source', 'module', 'node', 'development|production'] }

/** Projects of `npm test` by their needs: nothing, sockets, stores, commands, the product. */
export default defineConfig({
  resolve: RESOLVE,
  ssr: { resolve: RESOLVE },
  test: {
    ...LIMITS,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'test/{domain,rating,file-types,config,runtime,bench,billing}/**/*.test.ts',
            CODECS,
          ],
          exclude: [...LONG, ...STORED_BILLING],
          // Modules without state: loaded once per worker, not once per file.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'sockets',
          include: ['test/{realtime,external}/**/*.test.ts'],
          exclude: [CODECS, ...LONG],
        },
      },
      {
        extends: true,
        test: {
          name: 'stores',
          include: [
            'test/{stores,ledger,catalog,workers,recorder,embedded,store,notifications}/**/*.test.ts',
            'packages/*/test/**/*.test.ts',
            ...STORED_BILLING,
          ],
          exclude: [...LONG],
        },
      },
      {
        extends: true,
        test: {
          name: 'commands',
          include: ['test/{cli,admin}/**/*.test.ts'],
          exclude: [...LONG, BROWSER],
          ...WITH_PROCESSES,
          // As above: the admin API has many modules.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          exclude: [...LONG],
          ...WITH_PROCESSES,
          // After all others: each is a product under load.
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
        },
      },
    ],
  },
})
