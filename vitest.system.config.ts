import { defineConfig } from 'vitest/config'
import { LIMITS, LONG, PROPERTIES, RESOLVE, WITH_PROCESSES } from './vitest.config.ts'

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
    name: 'long',
    include: [...LONG, ...PROPERTIES],
    env: { PROPERTY_LENGTH: 'full' },
    maxWorkers: 2,
  },
})
