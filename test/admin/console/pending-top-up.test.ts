import { describe, expect, it } from 'vitest'
import {
  amountIn,
  forgetTopUp,
  keepTopUp,
  keptTopUp,
  openTopUp,
} from '../../../src/admin/console/web/pages/customer/pending-top-up.ts'

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
const FIELDS = { include: '1', value: '5', expires: '', reason: '' }

describe('a pending top-up', () => {
  it('keeps its key until its outcome is known', () => {
    const kept = storage()
    const opened = openTopUp(kept, '7', newKey)
    keepTopUp(kept, '7', { ...opened, fields: FIELDS, isSent: true })
    expect(openTopUp(kept, '7', newKey)).toEqual({
      key: opened.key,
      fields: FIELDS,
      isSent: true,
    })
    forgetTopUp(kept, '7')
    expect(keptTopUp(kept, '7')).toBe(null)
    expect(openTopUp(kept, '7', newKey).key).not.toBe(opened.key)
  })

  it('belongs to one owner', () => {
    const kept = storage()
    keepTopUp(kept, '7', { key: 'k', fields: FIELDS, isSent: true })
    expect(keptTopUp(kept, '8')).toBe(null)
  })

  it('that cannot be read is none', () => {
    const kept = storage()
    kept.setItem('tollgate.top-up.7', '{')
    expect(openTopUp(kept, '7', () => 'new')).toMatchObject({ key: 'new', isSent: false })
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
