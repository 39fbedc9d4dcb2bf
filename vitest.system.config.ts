import { defineConfig } from 'vitest/config'
import { BROWSER, LIMITS, LONG, PROPERTIES, RESOLVE, WITH_PROCESSES } from './vitest.config.ts'

/**
 * `npm run test:system`: the tests that take longer than a newcomer wants to wait, and properties
 * at full length.
 */
export default defineConfig({
  resolve: RESOLVE,
  ssr: { resolve: RESOLVE },
  test: {
    ...LIMITS,
    ...WITH_PROCESSES,
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: 'long',
          include: [...LONG, ...PROPERTIES],
          exclude: [BROWSER],
          env: { PROPERTY_LENGTH: 'full' },
        },
      },
      { extends: true, test: { name: 'browser', include: [BROWSER] } },
    ],
  },
})
