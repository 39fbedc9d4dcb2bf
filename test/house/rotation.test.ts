/** Tests that landings run in turn. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { coveredBy, FIFTHS, filesOfLanding, type Landing, ROTATED } from '../run/rotation.ts'
import { HOUSE, readTree } from './tree.ts'

const FAULTS = /^test\/system\/.*(?:kill|soak|outages|disk-full|frozen).*\.test\.ts$/

const faults = readTree(HOUSE, ['test/system'])
  .map(({ path }) => path)
  .filter((path) => FAULTS.test(path))

const landing: Landing = { number: 0, days: 1, commits: 10, changed: [] }
const uncovered = () => []

describe('the fifths', () => {
  it('are the tests of faults, each once', () => {
    expect([...ROTATED].sort()).toEqual(faults)
    expect(FIFTHS).toHaveLength(5)
  })

  it('run in turn', () => {
    const turns = [0, 1, 2, 3, 4].map((turn) =>
      filesOfLanding({ ...landing, number: 685 + turn }, uncovered),
    )
    expect(turns.flat().sort()).toEqual(faults)
  })
})

describe('covered files', () => {
  it.each(faults)('are named by %s', (path) => {
    const covered = coveredBy(path)
    expect(covered).not.toEqual([])
    for (const prefix of covered) expect(existsSync(join(HOUSE, prefix)), prefix).toBe(true)
  })

  it('add a test to the landing that changes them', () => {
    const changed = ['src/ledger/sweep.ts']
    const coversOf = (path: string) => (path.includes('soak') ? ['src/ledger/'] : [])
    const added = filesOfLanding({ ...landing, changed }, coversOf)
    expect(added).toContain('test/system/soak.test.ts')
    expect(filesOfLanding(landing, coversOf)).not.toContain('test/system/soak.test.ts')
  })

  it('include the test itself', () => {
    const changed = ['test/system/soak.test.ts']
    expect(filesOfLanding({ ...landing, changed }, uncovered)).toContain(changed[0])
  })
})

describe('a landing runs all of them', () => {
  it.each([
    ['without a recorded run', undefined],
    ['after a week', { ...landing, days: 7.1 }],
    ['after 150 commits', { ...landing, commits: 151 }],
  ])('%s', (_, given) => {
    expect(filesOfLanding(given, uncovered).sort()).toEqual(faults)
  })
})
