import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { allocate, type OpenPart } from '../../src/billing/allocate.ts'
import { sumOf } from '../../src/billing/amount.ts'
import { isDebt, openAmount } from '../../src/billing/books/bill.ts'
import { Exact } from '../../src/catalog/records/money/exact-amount.ts'
import { TestBooks } from '../support/billing/books.ts'

function part(id: string, urtS: number, open: number | string): OpenPart<string> {
  return { bill: id, id, urtMs: urtS * 1000, open: new Exact(open) }
}

function allocated(debts: OpenPart<string>[], credits: OpenPart<string>[]): string[] {
  return allocate(debts, credits).map(
    ({ debt, credit, amount }) => `${debt} by ${credit}: ${amount}`,
  )
}

describe('allocate', () => {
  it('covers the oldest debt first, by the oldest credit', () => {
    const debts = [part('late', 2, 10), part('early', 1, 10)]
    expect(allocated(debts, [part('b', 4, 12), part('a', 3, 5)])).toEqual([
      'early by a: 5',
      'early by b: 5',
      'late by b: 7',
    ])
  })

  it('prefers a credit of exactly the amount to another one of the same second', () => {
    const credits = [part('a', 3, 5), part('b', 3.5, 10), part('c', 4, 10)]
    expect(allocated([part('d', 1, 10)], credits)).toEqual(['d by b: 10'])
    // Not to one of an earlier second.
    expect(allocated([part('d', 1, 10)], [part('a', 3, 5), part('c', 4, 10)])).toEqual([
      'd by a: 5',
      'd by c: 5',
    ])
  })

  it('is exact where binary fractions are not', () => {
    const credits = [part('a', 1, '0.1'), part('b', 2, '0.2')]
    expect(allocated([part('d', 1, '0.3')], credits)).toEqual(['d by a: 0.1', 'd by b: 0.2'])
  })

  const cents = fc.integer({ min: 1, max: 5_000 }).map((value) => value / 100)
  const parts = (prefix: string) =>
    fc
      .array(fc.tuple(cents, fc.integer({ min: 0, max: 5 })), { maxLength: 8 })
      .map((values) => values.map(([open, urtS], index) => part(`${prefix}${index}`, urtS, open)))

  it('uses up one side, overpays nothing, and does not depend on the order of its input', () => {
    fc.assert(
      fc.property(parts('d'), parts('c'), fc.infiniteStream(fc.nat()), (debts, credits, random) => {
        const found = allocate(debts, credits)
        const rest = (given: readonly OpenPart<string>[], side: 'debt' | 'credit') =>
          given.map(({ id, open }) =>
            open.minus(
              sumOf(found.filter((each) => each[side] === id).map(({ amount }) => amount)),
            ),
          )
        const [owed, left] = [rest(debts, 'debt'), rest(credits, 'credit')]
        for (const each of [...owed, ...left]) expect(each.isNegative()).toBe(false)
        expect(sumOf(owed).isZero() || sumOf(left).isZero()).toBe(true)
        const shuffled = <T>(list: readonly T[]) =>
          list
            .map((item) => ({ item, at: random.next().value }))
            .sort((a, b) => a.at - b.at)
            .map(({ item }) => item)
        expect(allocated(shuffled(debts), shuffled(credits))).toEqual(allocated(debts, credits))
      }),
    )
  })
})

describe('covering over all orders of arrival', () => {
  const events = [
    { kind: 'invoice', amount: 30 },
    { kind: 'fc', amount: 20 },
    { kind: 'fc', amount: 12.5 },
    { kind: 'tc', amount: 5 },
    { kind: 'pending', amount: 8 },
  ] as const

  it('ends with the same sums, and never has an open debt beside an open credit', () => {
    const orders = permutations(events)
    expect(orders).toHaveLength(120)
    for (const order of orders) {
      const account = new TestBooks()
      for (const { kind, amount } of order) {
        if (kind === 'invoice') account.invoice(amount)
        else if (kind === 'pending') account.pay(amount, { method: 'automatic' })
        else account.pay(amount, { dir: kind })
        const debts = account.books.openDebts()
        const credits = account.books.openCredits()
        expect(debts.length === 0 || credits.length === 0).toBe(true)
      }
      const bills = [...account.books.bills()]
      const owed = sumOf(bills.filter(isDebt).map(openAmount))
      const left = sumOf(bills.filter((bill) => !isDebt(bill)).map(openAmount))
      expect(owed.minus(left).toNumber()).toBe(30 + 5 - 40.5)
      for (const bill of bills) expect(openAmount(bill).isNegative()).toBe(false)
      // An unconfirmed payment is used once at most, and by debts that came before it.
      expect(left.lessThanOrEqualTo(8)).toBe(true)
    }
  })
})

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item, index) =>
    permutations(items.filter((_, other) => other !== index)).map((rest) => [item, ...rest]),
  )
}
