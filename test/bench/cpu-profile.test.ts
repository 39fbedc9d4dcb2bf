import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import {
  type CpuProfile,
  groupedTimes,
  largest,
  placeOf,
  readProfile,
  selfTimes,
} from '../../bench/measure/cpu-profile.ts'

const PLACE = { lineNumber: 0, columnNumber: 0 }

it('a CPU profile of the bundled product has the names and sources of its functions', () => {
  const built = new URL('../../dist/src/main.js', import.meta.url)
  const lines = readFileSync(built, 'utf8').split('\n')
  const lineNumber = lines.findIndex((text) => text.startsWith('function main('))
  const callFrame = { functionName: 'main$1', url: built.href, lineNumber, columnNumber: 9 }
  const other = { ...PLACE, functionName: 'f', url: 'node:fs' }
  const nodes = [callFrame, other].map((frame, id) => ({ id, callFrame: frame }))
  const folder = mkdtempSync(join(tmpdir(), 'tg-profile-'))
  const file = join(folder, 'thread-0.cpuprofile')
  writeFileSync(file, JSON.stringify({ nodes, samples: [], timeDeltas: [] }))
  const read = readProfile(file).nodes.map((node) => node.callFrame)
  rmSync(folder, { recursive: true })
  const source = new URL('../../src/main.ts', import.meta.url).href
  expect(read).toEqual([{ ...callFrame, functionName: 'main', url: source }, other])
})

it('a CPU profile names the location of code', () => {
  const at = (url: string, name = 'f') => placeOf(url, name)
  expect(at('file:///a/src/workers/rounds.ts')).toBe('src/workers')
  expect(at('file:///a/src/ledger/packing/writer.ts')).toBe('src/ledger/packing')
  expect(at('file:///a/src/main.ts')).toBe('src/main')
  expect(at('file:///a/node_modules/ioredis/built/Redis.js')).toBe('ioredis')
  expect(at('file:///a/node_modules/@b/c/d.js')).toBe('@b/c')
  expect(at('node:internal/streams')).toBe('Node')
  expect(at('', '(garbage collector)')).toContain('garbage')
  expect(at('', 'postMessage')).toContain('native functions')
})

it('a CPU profile adds up the time from each sample to the next, without idle time', () => {
  const frame = (functionName: string) => ({ ...PLACE, functionName, url: '' })
  const profile: CpuProfile = {
    nodes: ['(root)', '(idle)', 'a', 'b'].map((name, id) => ({ id, callFrame: frame(name) })),
    samples: [2, 2, 1, 3, 2],
    timeDeltas: [1000, 10, 20, 500, 7],
  }
  const { functions, places } = selfTimes([profile, profile])
  expect(largest(functions, 2).map(([, micros]) => micros)).toEqual([60, 14])
  expect([...places.values()]).toEqual([74])
})

it('a CPU profile adds up the time of functions and their callees by innermost group', () => {
  const node = (id: number, url: string, children: readonly number[]) => {
    const functionName = url === '' ? '(idle)' : 'f'
    return { id, callFrame: { ...PLACE, functionName, url }, children }
  }
  const profile: CpuProfile = {
    nodes: [
      node(1, 'main', [2, 5, 6]),
      node(2, 'sample', [3, 4]),
      node(3, 'json', []),
      node(4, 'send', [7]),
      node(5, 'json', []),
      node(6, '', []),
      node(7, 'json', []),
    ],
    samples: [2, 3, 4, 7, 5, 6, 1],
    timeDeltas: [0, 1, 10, 100, 1000, 10_000, 100_000, 1_000_000],
  }
  const groupOf = (url: string) => (url === 'sample' || url === 'send' ? url : null)
  expect(Object.fromEntries(groupedTimes(profile, groupOf))).toEqual({
    sample: 11,
    send: 1100,
    other: 1_010_000,
  })
  expect(Object.fromEntries(groupedTimes(profile, groupOf, 50))).toEqual({
    sample: 11,
    send: 100,
    other: 100,
  })
})
