/** Events of money are written with the money: of calls at once, and by processes that die. */
import { beforeEach, describe, expect, it } from 'vitest'
import { pay } from '../../../src/admin/actions/pay.ts'
import { useBillingServer } from '../../support/billing/billing-server.ts'
import { ALL_TYPES, storeEventRules, typesOf } from '../../support/billing/money-rules.ts'
import { dyingAfter } from '../../support/catalog/dying.ts'

const server = useBillingServer([pay])
const types = (aid: number) => typesOf(server.catalog(), aid)

beforeEach(() => storeEventRules(server.catalog(), { money: ALL_TYPES }))

describe('with the money', () => {
  it('a repeated call makes no second event', async () => {
    const aid = server.newAccount()
    const call = { method: 'cash', payments: [{ aid, amount: 5 }] }
    const answers = await Promise.all([1, 2].map(() => server.ask('pay', call, { key: 'once' })))
    answers.push(await server.ask('pay', call, { key: 'once' }))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await types(aid)).toEqual(['payment_completed'])
  })

  it('a refused call makes none, although it shares a transaction with others', async () => {
    const [aid, refused] = [server.newAccount(), server.newAccount()]
    const item = { aid: refused, amount: 5 }
    const [answer] = await Promise.all([
      server.ask('pay', { method: 'write_off', payments: [item] }),
      ...[1, 2, 3].map(() => server.pay(aid, 5)),
    ])
    expect(answer).toMatchObject({ status: 0 })
    expect(await types(refused)).toEqual([])
    expect(await types(aid)).toEqual(Array.from({ length: 3 }, () => 'payment_completed'))
  })

  it('a process that dies at any command leaves both or neither', async () => {
    const outcomes = new Set<number>()
    for (let commands = 0, died = true; died; commands += 1) {
      const dying = await dyingAfter(server.mongo(), commands)
      const other = await server.again(dying.catalog)
      const aid = server.newAccount()
      await other.ask('pay', { method: 'cash', payments: [{ aid, amount: 5 }] })
      died = dying.died()
      await other.close()
      await dying.close()
      const paid = await server.catalog().bills.countDocuments({ aid, type: 'rec' })
      expect(await types(aid)).toHaveLength(paid)
      outcomes.add(paid)
    }
    expect(outcomes).toEqual(new Set([0, 1]))
  })
})
