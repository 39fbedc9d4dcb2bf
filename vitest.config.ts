import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** Much of what tests do is waiting: for stores and processes that start, for time that passes. */
const FILES_AT_ONCE = Math.max(2, availableParallelism() - 1)
/** Files that run the product or a part of it as processes. */
const ROOMY = { testTimeout: 300_000 }

/** Tests by what they need: nothing, stores, commands, the whole product, or the source tree. */
export default defineConfig({
  test: {
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What is waited for comes at once, but for a machine that others use too.
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: FILES_AT_ONCE,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/{domain,rating,file-types,config,runtime,realtime,bench}/**/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'stores',
          include: ['test/{stores,ledger,catalog,workers,recorder,embedded,store}/**/*.test.ts'],
        },
      },
      {
        extends: true,
        test: { name: 'commands', include: ['test/{cli,admin,deploy}/**/*.test.ts'], ...ROOMY },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          ...ROOMY,
          // After all others, and never more than two: each is a product under load.
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
        },
      },
      { extends: true, test: { name: 'house', include: ['test/house/**/*.test.ts'] } },
    ],
  },
})
