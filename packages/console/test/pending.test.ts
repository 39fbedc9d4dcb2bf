import { describe, expect, it } from 'vitest'
import { amountIn } from '../src/parts/numbers.ts'
import { forgetPending, keepPending, keptPending, openPending } from '../src/parts/pending.ts'

function storage() {
  const values = new Map<string, string>()
  return {
    getItem: (name: string) => values.get(name) ?? null,
    setItem: (name: string, value: string) => void values.set(name, value),
    removeItem: (name: string) => void values.delete(name),
  }
}

let keys = 0
const newKey = () => {
  keys += 1
  return `key-${keys}`
}
const EMPTY = { include: '', value: '' }
const FIELDS = { include: '1', value: '5' }

describe('a pending write', () => {
  it('keeps its key until its outcome is known', () => {
    const kept = storage()
    const opened = openPending(kept, '7', EMPTY, newKey)
    keepPending(kept, '7', { ...opened, fields: FIELDS, isSent: true })
    expect(openPending(kept, '7', EMPTY, newKey)).toEqual({
      key: opened.key,
      fields: FIELDS,
      isSent: true,
    })
    forgetPending(kept, '7')
    expect(keptPending(kept, '7', EMPTY)).toBe(null)
    expect(openPending(kept, '7', EMPTY, newKey).key).not.toBe(opened.key)
  })

  it('belongs to one owner', () => {
    const kept = storage()
    keepPending(kept, '7', { key: 'k', fields: FIELDS, isSent: true })
    expect(keptPending(kept, '8', EMPTY)).toBe(null)
  })

  it('that cannot be read is none', () => {
    const kept = storage()
    kept.setItem('tollgate.7', '{')
    expect(openPending(kept, '7', EMPTY, () => 'new')).toMatchObject({ key: 'new', isSent: false })
  })
})

describe('an amount', () => {
  it.each([
    ['5', '5'],
    ['5.00', '5.00'],
    [' 5,25 ', '5.25'],
    ['0.000001', '0.000001'],
    ['0', null],
    ['0.00', null],
    ['-5', null],
    ['', null],
    ['5e3', null],
    ['1.0000001', null],
    ['1,000.00', null],
  ])('%j is %j', (typed, amount) => expect(amountIn(typed)).toBe(amount))
})
