import { defineConfig } from 'vitest/config'

/** Part of `npm run check`: rules of style and imports, documents, dependencies. */
export default defineConfig({
  test: { testTimeout: 300_000, name: 'house', include: ['test/house/**/*.test.ts'] },
})
