import { describe, expect, it } from 'vitest'
import {
  correctionOf,
  orderOf,
  outcomeOf,
  reasonsOf,
  selectionIn,
} from '../src/pages/rerate/data.ts'

describe('a selection', () => {
  it('is of the fields alone, and what is empty is not sent', () => {
    const typed = { from: '2026-11-01', to: '', rate: ' CALL_UK ', tab: 'run', after: '2' }
    const selection = selectionIn(typed)
    expect(selection).toEqual({
      ...{ from: '2026-11-01', to: '', rate: 'CALL_UK' },
      ...{ plan: '', sid: '', file_type: '' },
    })
    expect(orderOf(selection)).toEqual({ from: '2026-11-01', rate: 'CALL_UK' })
    const all = { from: '2026-11-01', to: '2026-11-02', rate: 'R', plan: 'P', file_type: 'TAP' }
    expect(orderOf({ ...all, sid: '17' })).toEqual({ ...all, sid: 17 })
  })
})

describe('accounts that cannot be rerated', () => {
  it('are counted by reason, the most frequent first, and so are their lines', () => {
    const line = (stamp: string, text: string) => ({ stamp, text, reason: 'any' })
    const accounts = [
      { refused: [line('a', 'open'), line('b', 'prepaid'), line('c', 'prepaid')] },
      { refused: [line('d', 'prepaid')] },
      { refused: [line('', 'lines may be gone')] },
      { refused: [] },
    ]
    expect(reasonsOf(accounts)).toEqual([
      { text: 'prepaid', accounts: 2, lines: 3 },
      { text: 'open', accounts: 1, lines: 1 },
      { text: 'lines may be gone', accounts: 1, lines: 0 },
    ])
  })
})

describe('a run', () => {
  const job = { state: 'done', error: '', counts: { accounts: 2, refused: 0 } } as const

  it('is a success only if it has ended without an error and has rerated all accounts', () => {
    expect(outcomeOf(job)).toBe('done')
    expect(outcomeOf({ ...job, counts: { accounts: 2, refused: 1 } })).toBe('refused')
    expect(outcomeOf({ ...job, error: 'away', counts: {} })).toBe('failed')
    expect(outcomeOf({ ...job, state: 'waiting', error: 'away' })).toBe('waiting')
  })
})

describe('the correction of confirmed invoices', () => {
  it('is a credit or a charge of the exact amount, or none', () => {
    expect(correctionOf('-0.000000000000000001')).toEqual({
      ...{ how: 'credit', amount: '0.000000000000000001' },
    })
    expect(correctionOf('12.50')).toEqual({ how: 'charge', amount: '12.50' })
    expect(correctionOf('0')).toBeNull()
    expect(correctionOf('0.00')).toBeNull()
  })
})
