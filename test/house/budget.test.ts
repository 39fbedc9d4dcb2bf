/** The table of processor time that orders and bounds the tests. */
import { expect, it } from 'vitest'
import { readBudget } from '../run/budget.ts'
import { HOUSE, readTree } from './tree.ts'

/** Processor time of all tests with their modules, in seconds. */
const TOTAL_S = 2_600

const budget = readBudget()

it('has a row for each test file, and no other', () => {
  const files = readTree(HOUSE, ['test', 'packages'])
    .map(({ path }) => path)
    .filter((path) => path.endsWith('.test.ts') && !path.startsWith('test/house/'))
  expect(Object.keys(budget.files)).toEqual(files.sort())
})

it('is within the time that a landing has for them', () => {
  const sum = Object.values(budget.parts).reduce((total, seconds) => total + seconds, 0)
  expect(sum).toBeLessThanOrEqual(TOTAL_S)
})
