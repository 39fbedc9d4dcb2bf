/** The owner of debt from over-use, and how the debt is taken back. */
import { describe, expect, it } from 'vitest'
import {
  assertConserved,
  type Bucket,
  bucketOrder,
  debtOf,
  endedOrder,
  type OwnerState,
  paysFor,
} from '../../src/domain/bucket.ts'
import { type Credit, credit } from '../../src/domain/credit.ts'
import { debtorOf } from '../../src/domain/debt.ts'
import { serviceIdentity } from '../../src/domain/identity.ts'
import { emptyService } from '../../src/domain/segment.ts'
import type { Segment } from '../../src/domain/session.ts'
import { settle } from '../../src/domain/settle.ts'
import { frozen } from '../support/domain/frozen.ts'
import { bucketOf, moneyOf, ownerOf } from '../support/domain/owners.ts'
import { startOf } from '../support/domain/programs.ts'
import { readTable } from '../support/domain/table.ts'
import { FALLING, tariffFrom } from '../support/domain/tariffs.ts'

const NOW_MS = 100

/** `own money 20 to 50; shared units 10` in their order of payment. */
function ownersFrom(text: string): { subscriber: OwnerState; account: OwnerState } {
  const buckets: [Bucket[], Bucket[]] = [[], []]
  for (const [index, part] of (text === '–' ? [] : text.split(';')).entries()) {
    const [whose, kind, amount, , end = '1000'] = part.trim().split(' ')
    const list = whose === 'own' ? buckets[0] : buckets[1]
    const more = { id: list.length + 1, priority: 100 - index, toMs: Number(end) }
    const credited = Number(amount)
    list.push(kind === 'units' ? bucketOf({ credited, ...more }) : moneyOf(credited, more))
  }
  return { subscriber: ownerOf(buckets[0]), account: ownerOf(buckets[1], { sid: 0 }) }
}

const PLAIN = tariffFrom('1/1')

class DebtFixture {
  subscriber: OwnerState
  account: OwnerState
  service = emptyService(serviceIdentity({ usaget: 'data' }))

  constructor(buckets: string) {
    const { subscriber, account } = ownersFrom(buckets)
    this.subscriber = subscriber
    this.account = account
  }

  use(used: number, tariff = PLAIN, atMs = NOW_MS): Segment {
    const { subscriber, account, service } = this
    const order = bucketOrder(subscriber, account, paysFor('data'), atMs)
    const settled = settle(frozen({ subscriber, account, service }), {
      used,
      requested: 0,
      exact: false,
      next: startOf(tariff),
      atMs,
      end: 'none',
      order,
      nextOrder: order,
      ended: endedOrder(subscriber, account, paysFor('data'), atMs),
    })
    this.subscriber = settled.subscriber
    this.account = settled.account!
    this.service = settled.service
    assertConserved(this.subscriber)
    assertConserved(this.account)
    return settled.changes[0]!.segment
  }

  topUp(whose: 'own' | 'shared', amount: number, mode: Credit['mode'] = 'inc'): number {
    const include = { externalId: 1, kind: 'totalCost', usaget: '', priority: 0, unlimited: false }
    const validity = { fromMs: 0, toMs: 1000 }
    const operation = { include, amount, mode, ...validity } as Credit
    const state = whose === 'own' ? this.subscriber : this.account
    const { owner, repaid } = credit(state, operation, NOW_MS)
    if (whose === 'own') this.subscriber = owner
    else this.account = owner
    return repaid
  }

  debts(): string {
    return `${debtOf(this.subscriber)} ${debtOf(this.account)}`
  }
}

/** 50 units are used, one micro each. */
const DEBTORS = readTable(`
  | case                               | buckets                                 | own | account |
  |------------------------------------|-----------------------------------------|-----|---------|
  | nobody has anything                | –                                       | 50  | 0       |
  | money of its own                   | own money 20                            | 30  | 0       |
  | shared money                       | shared money 20                         | 0   | 30      |
  | shared money that is used up       | shared money 0                          | 0   | 50      |
  | its own before the account's       | own money 20; shared money 10           | 0   | 20      |
  | the account's before its own       | shared money 10; own money 20           | 20  | 0       |
  | money goes before units            | own money 20; shared units 10           | 20  | 0       |
  | shared money goes before own units | shared money 10; own units 5            | 0   | 35      |
  | shared units alone                 | shared units 10                         | 0   | 40      |
  | own units alone                    | own units 10                            | 40  | 0       |
  | own units behind shared ones       | shared units 10; own units 10           | 30  | 0       |
  | shared money that has ended        | shared money 20 to 100                  | 0   | 50      |
  | own money that has ended           | own money 20 to 100                     | 50  | 0       |
  | what ended last                    | own money 20 to 90; shared money 5 to 80 | 50  | 0       |
  | ended together                     | own money 20 to 90; shared money 5 to 90 | 0   | 50      |
  | ended money before valid units     | shared money 20 to 90; own units 10     | 0   | 40      |
  | valid money before ended money     | shared money 20 to 90; own money 10     | 40  | 0       |
  | ended units                        | shared units 20 to 90                   | 0   | 50      |
`)

describe('debt', () => {
  it.each(DEBTORS)('is owed by the owner of the last bucket that could have paid: $case', (row) => {
    const scene = new DebtFixture(row['buckets']!)
    const segment = scene.use(50)
    expect(scene.debts()).toBe(`${row['own']} ${row['account']}`)
    const [own, account] = [Number(row['own']), Number(row['account'])]
    expect([segment.counts.debt, segment.counts.accountDebt]).toEqual([own + account, account])
  })

  it('of postpaid usage is owed by the subscriber if the counter is gone', () => {
    const { subscriber, account } = ownersFrom('shared money 20')
    const credits = [
      { owner: 0, id: 9, isGroup: false, limitCounter: { owner: 1, id: 9 } },
    ] as const
    expect(debtorOf({ subscriber, account }, credits, [])).toBe(0)
  })

  it('is repaid only by top-ups of money of its owner', () => {
    const scene = new DebtFixture('shared money 20')
    scene.use(50)
    expect(scene.topUp('own', 100)).toBe(0)
    expect(scene.debts()).toBe('0 30')
    expect(scene.topUp('shared', 10, 'set')).toBe(0)
    expect(scene.topUp('shared', 12)).toBe(12)
    expect(scene.debts()).toBe('0 18')
    expect(scene.topUp('shared', 100, 'new')).toBe(18)
    expect(scene.debts()).toBe('0 0')
  })

  it('does not block available money', () => {
    const scene = new DebtFixture('shared money 20')
    scene.use(50)
    scene.topUp('shared', 10, 'set')
    expect(scene.use(10)).toMatchObject({ counts: { charged: 60, debt: 30, accountDebt: 30 } })
    expect(scene.debts()).toBe('0 30')
  })
})

describe('debt reduced by a falling price', () => {
  it('is forgiven to the account that owes it', () => {
    const scene = new DebtFixture('shared money 60')
    expect(scene.use(10, FALLING)).toMatchObject({ counts: { debt: 40, accountDebt: 40 } })
    expect(scene.use(1, FALLING)).toMatchObject({
      counts: { charged: 11, debt: 0, accountDebt: 0 },
    })
    expect(scene.account).toMatchObject({ owed: 0, buckets: [{ spent: 11, free: 49 }] })
    expect(scene.subscriber.owed).toBe(0)
  })

  it('is credited to money of its owner if it has been repaid', () => {
    const scene = new DebtFixture('own money 5; shared money 15')
    expect(scene.use(10, FALLING)).toMatchObject({ counts: { debt: 80, accountDebt: 80 } })
    expect(scene.topUp('shared', 100)).toBe(80)
    const segment = scene.use(1, FALLING)
    expect(segment).toMatchObject({ counts: { charged: 11, debt: 80, accountDebt: 80 } })
    // Out of 89 first the 20 that were paid, the account's first, then 69 of the repaid debt.
    expect(segment.counts.payments).toMatchObject([
      { owner: 0, amount: 0 },
      { owner: 1, amount: 0 },
      { owner: 1, kind: 'creditedMoney', amount: -69 },
    ])
    expect(scene.subscriber.buckets).toMatchObject([{ spent: 0, free: 5 }])
    expect(scene.account.buckets).toMatchObject([{ credited: 184, spent: 80, free: 104 }])
  })
})
