import { beforeEach, expect, it } from 'vitest'
import { balanceIdOf } from '../../../src/catalog/records/usage/balance-id.ts'
import { creditBucket } from '../../../src/ledger/operations.ts'
import { findBalances } from '../../../src/prepaid/balances/find.ts'
import { deleteBalance } from '../../../src/prepaid/balances/remove.ts'
import { EntityRuleError, TargetError } from '../../../src/requests/errors.ts'
import { bucketOf } from '../../support/ledger/fixture.ts'
import { useOpened } from '../../support/opened.ts'
import {
  AID,
  NOW_MS,
  openBalanceFixture,
  SID,
  seedCatalogue,
} from '../../support/prepaid/balances/balance-fixture.ts'
import { holdUnits, openSession, topUp } from '../../support/recorder/accounts.ts'

const scene = useOpened(openBalanceFixture)
beforeEach(async () => {
  await scene().clear()
  await seedCatalogue(scene())
})

const id = balanceIdOf({ aid: AID, sid: SID, bucketId: 1 })
const remove = (operationId: string, which: unknown = id) =>
  deleteBalance(scene(), { id: which, operationId })

it('removes what is available; the balance is not found any more', async () => {
  await topUp(scene().ledger, AID, SID, 100, 'a')
  const { details, line } = await remove('x')
  expect(details).toBe(true)
  expect(line).toMatchObject({
    operation: 'close',
    usagev: 100,
    balance_after: 0,
    balance_ref: id,
    charging_type: 'Id',
    pp_includes_name: 'DATA_PACK',
  })
  const page = { sort: {}, skip: 0, limit: 10 }
  expect((await findBalances(scene(), { sid: SID }, page)).balances).toEqual([])
  expect(await remove('y')).toMatchObject({ details: false, line: null })
  expect(await remove('x')).toMatchObject({ details, line })
})

it('ends the sessions that reserve a part of it, and no others', async () => {
  await topUp(scene().ledger, AID, SID, 100, 'a')
  await topUp(scene().ledger, AID, 19, 100, 'b')
  await holdUnits(scene().ledger, AID, SID, 30, NOW_MS + 60_000)
  await holdUnits(scene().ledger, AID, 19, 30, NOW_MS + 60_000)
  const identity = { aid: AID, sid: SID, origin: 'diameter:a/b', sessionId: 'gy' }
  await openSession(scene().ledger, identity, 20, NOW_MS + 60_000)
  expect((await remove('x')).details).toBe(true)
  expect((await scene().owner(SID)).buckets).toMatchObject([{ credited: 0, reserved: 0, free: 0 }])
  expect((await scene().owner(19)).buckets).toMatchObject([{ reserved: 30 }])
})

it('gives up if sessions keep reserving', async () => {
  await topUp(scene().ledger, AID, SID, 100, 'a')
  await holdUnits(scene().ledger, AID, SID, 1, NOW_MS + 60_000)
  let round = 0
  const ledger: ReturnType<typeof scene>['ledger'] = {
    ...scene().ledger,
    async commit(batch, nowMs) {
      const replies = await scene().ledger.commit(batch, nowMs)
      // As soon as one session is released, the next one reserves.
      const place = { aid: AID, sid: SID, origin: 'http', sessionId: `again-${round}` }
      round += 1
      await openSession(scene().ledger, place, 1, NOW_MS + 60_000)
      return replies
    },
  }
  const asked = { id, operationId: 'x' }
  await expect(deleteBalance({ ...scene(), ledger }, asked)).rejects.toThrow(TargetError)
  expect((await scene().owner(SID)).buckets[0]).toMatchObject({ credited: 100 })
})

it.each([undefined, '', 'x', '0'.repeat(24)])('%j does not exist', async (which) => {
  expect(await remove('x', which)).toMatchObject({ details: false, line: null })
})

it('keeps counters, which end with their period', async () => {
  const terms = bucketOf(0, { counter: 'credit', limit: 10 })
  const counter = { mode: 'transfer_in', terms, amount: 0, counted: 4 } as const
  const identity = { aid: AID, sid: SID, operationId: 'c' }
  await creditBucket(scene().ledger, { ...counter, ...identity }, { attemptsMax: 8 }, NOW_MS)
  await expect(remove('x')).rejects.toThrow(EntityRuleError)
})
