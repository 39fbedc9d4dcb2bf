import { defineConfig } from 'vitest/config'
import { LIMITS, LONG, WITH_PROCESSES } from './vitest.config.ts'

/** `npm run test:system`: the tests that take longer than a newcomer wants to wait. */
export default defineConfig({
  test: { ...LIMITS, ...WITH_PROCESSES, name: 'long', include: [...LONG], maxWorkers: 2 },
})
