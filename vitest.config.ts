import { defineConfig } from 'vitest/config'

/** Tests by what they need: nothing, stores, the whole product, or the source tree itself. */
export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/{domain,rating,config,runtime,realtime}/**/*.test.ts'],
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
        test: {
          name: 'system',
          include: ['test/{system,cli,admin,deploy}/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
      { extends: true, test: { name: 'house', include: ['test/house/**/*.test.ts'] } },
    ],
  },
})
