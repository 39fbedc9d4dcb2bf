import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { expect, it } from 'vitest'
import {
  descriptorCeiling,
  nextDescriptor,
  nonHttpConnectionsMax,
} from '../../src/realtime/descriptors.ts'

it.skipIf(process.platform === 'win32')(
  'predicts the number of the next file or connection',
  () => {
    const next = nextDescriptor()
    const opened = openSync(devNull, 'r')
    expect(opened).toBe(next)
    expect(nextDescriptor()).toBeGreaterThan(next)
    closeSync(opened)
    expect(nextDescriptor()).toBe(next)
  },
)

it.each([
  { what: 'the setting', base: 40, max: 100, limit: 20_000, ceiling: 140 },
  { what: 'minus a reserve', base: 40, max: 1_000_000, limit: 20_000, ceiling: 18_976 },
  { what: 'minus a quarter, if there are few', base: 40, max: 10_000, limit: 1024, ceiling: 768 },
  { what: 'at least one', base: 40, max: 10_000, limit: 40, ceiling: 41 },
  {
    what: 'unknown limit',
    base: 40,
    max: 10_000,
    limit: Number.POSITIVE_INFINITY,
    ceiling: 10_040,
  },
])('limits connections to a descriptor number: $what', ({ base, max, limit, ceiling }) => {
  expect(descriptorCeiling(base, max, limit)).toBe(ceiling)
})

it('leaves half of the descriptors to connections other than HTTP', () => {
  expect(nonHttpConnectionsMax(4096, 1024)).toBe(384)
  expect(nonHttpConnectionsMax(100, 1024)).toBe(100)
  expect(nonHttpConnectionsMax(4096, 1_048_576)).toBe(4096)
  expect(nonHttpConnectionsMax(10, 1)).toBe(1)
})
