import { defineConfig } from 'vitest/config'
import { LIMITS } from './vitest.config.ts'

/** Part of `npm run check`: rules of style and imports, documents, dependencies. */
export default defineConfig({
  test: { ...LIMITS, name: 'house', include: ['test/house/**/*.test.ts'] },
})
