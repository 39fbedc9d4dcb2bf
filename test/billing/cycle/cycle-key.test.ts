import { describe, expect, it } from 'vitest'
import {
  activeKey,
  isInvoiceKey,
  keyAfter,
  keyAt,
  keyEndMs,
  keyStartMs,
  lineKey,
} from '../../../src/billing/cycle/cycle-key.ts'
import { isCycleKey } from '../../../src/domain/cycle.ts'

const UTC = { zone: 'UTC', cycleDay: 1 }
const at = (text: string) => Date.parse(text)

describe('a cycle key', () => {
  it.each([
    ['202601', true],
    ['202612', true],
    ['202600', false],
    ['202613', false],
    ['20261', false],
    ['000001', false],
    ['197012', false],
    ['197101', true],
    ['216912', true],
    ['217001', false],
    ['999912', false],
    ['20260615120000', false],
  ])('%s: %s', (text, isKey) => {
    expect(isCycleKey(text)).toBe(isKey)
    expect(isInvoiceKey(text)).toBe(isKey || text.length === 14)
  })

  it.each([
    ['202612', 1, '202701'],
    ['202601', -1, '202512'],
    ['202606', 18, '202712'],
    ['202606', 0, '202606'],
  ])('%s and %i months later is %s', (key, months, later) => {
    expect(keyAfter(key, months)).toBe(later)
  })

  it.each([
    ['2024-05-01T00:00:00Z', UTC, '202406'],
    ['2024-04-30T23:59:59Z', UTC, '202405'],
    ['2024-05-14T23:59:59Z', { ...UTC, cycleDay: 15 }, '202405'],
    ['2024-05-15T00:00:00Z', { ...UTC, cycleDay: 15 }, '202406'],
    ['2024-04-30T21:00:00Z', { zone: 'Asia/Jerusalem', cycleDay: 1 }, '202406'],
  ])('of %s with %j is %s', (time, calendar, key) => {
    expect(keyAt(at(time), calendar)).toBe(key)
    expect(keyStartMs(key, calendar)).toBeLessThanOrEqual(at(time))
    expect(keyEndMs(key, calendar)).toBeGreaterThan(at(time))
  })
})

describe('the active cycle', () => {
  it.each([
    [null, '2026-06-15', '202607'],
    ['202606', '2026-06-15', '202607'],
    ['202607', '2026-06-15', '202608'],
    ['202605', '2026-06-15', '202606'],
    // 202606 begins on 2026-05-01, 60 days before 2026-06-30.
    ['202605', '2026-06-30', '202606'],
    ['202605', '2026-07-01', '202608'],
  ])('after %s at %s is %s', (lastKey, now, key) => {
    expect(activeKey(lastKey, at(now), 60, UTC)).toBe(key)
  })

  it.each([
    ['2026-01-01', '202607'],
    ['2026-06-30T23:59:59Z', '202607'],
    ['2026-07-01', '202608'],
    ['2026-11-11', '202612'],
  ])('202607 and a line of %s: %s', (time, key) => {
    expect(lineKey(at(time), '202607', UTC)).toBe(key)
  })
})
