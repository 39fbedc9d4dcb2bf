import { expect, it } from 'vitest'
import { type CpuProfile, largest, placeOf, selfTimes } from '../../bench/measure/cpu-profile.ts'

it('a CPU profile names the location of code', () => {
  const at = (url: string, name = 'f') => placeOf(url, name)
  expect(at('file:///a/dist/src/workers/rounds.js')).toBe('src/workers')
  expect(at('file:///a/dist/src/ledger/packing/writer.js')).toBe('src/ledger/packing')
  expect(at('file:///a/dist/src/main.js')).toBe('src/main')
  expect(at('file:///a/node_modules/ioredis/built/Redis.js')).toBe('ioredis')
  expect(at('file:///a/node_modules/@b/c/d.js')).toBe('@b/c')
  expect(at('node:internal/streams')).toBe('Node')
  expect(at('', '(garbage collector)')).toContain('garbage')
  expect(at('', 'postMessage')).toContain('native functions')
})

it('a CPU profile adds up the time from each sample to the next, without idle time', () => {
  const frame = (functionName: string) => ({ functionName, url: '' })
  const profile: CpuProfile = {
    nodes: ['(root)', '(idle)', 'a', 'b'].map((name, id) => ({ id, callFrame: frame(name) })),
    samples: [2, 2, 1, 3, 2],
    timeDeltas: [1000, 10, 20, 500, 7],
  }
  const { functions, places } = selfTimes([profile, profile])
  expect(largest(functions, 2).map(([, micros]) => micros)).toEqual([60, 14])
  expect([...places.values()]).toEqual([74])
})
