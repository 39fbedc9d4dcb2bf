import { beforeEach, expect, it } from 'vitest'
import type { BalanceUpdated } from '../../../src/prepaid/balances/committed.ts'
import { updateBalance } from '../../../src/prepaid/balances/update.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { useOpened } from '../../support/opened.ts'
import {
  AID,
  moveBuckets,
  openBalanceFixture,
  SID,
  seedCatalogue,
  seedChargingPlan,
} from '../../support/prepaid/balances/balance-fixture.ts'

const OTHER = 21
const scene = useOpened(openBalanceFixture)
beforeEach(async () => {
  await scene().clear()
  await seedCatalogue(scene())
})

const load = (operationId: string, query: Record<string, unknown>): Promise<BalanceUpdated> =>
  updateBalance(scene(), {
    query: { sid: SID, ...query },
    operationId,
    update: 'charging_plan_name' in query ? {} : { value: -30 },
  })

/** Moves the subscriber, as a change of its account does. */
async function moveToOther(): Promise<void> {
  const nowMs = scene().clock.nowMs()
  const { subscribers } = scene().catalog
  await subscribers.updateOne({ sid: SID } as object, { $set: { to: new Date(nowMs) } })
  const from = new Date(nowMs)
  await insertEntity(scene().catalog, 'subscribers', { sid: SID, aid: OTHER, plan: 'GOLD', from })
  const asked = { sid: SID, fromAid: AID, toAid: OTHER, operationId: 'move' }
  await moveBuckets(scene().ledger, asked, { attemptsMax: 3 }, nowMs)
}

const freeOf = async (aid: number) =>
  (await scene().owner(SID, aid)).buckets.map(({ free }) => free)

it('a load before a move is not repeated after it', async () => {
  const first = await load('once', { pp_includes_external_id: 1 })
  await moveToOther()
  const again = await load('once', { pp_includes_external_id: 1 })
  expect(again).toMatchObject({ details: true, line: first.line })
  expect(await freeOf(AID)).toEqual([0])
  expect(await freeOf(OTHER)).toEqual([30_000_000])
  await load('second', { pp_includes_external_id: 4 })
  expect(await freeOf(OTHER)).toEqual([30_000_000, 30_000_000])
})

it('a charging plan is completed, too: each part in the account where it began', async () => {
  await seedChargingPlan(scene(), [
    { pp_includes_external_id: 1, usagev: -10 },
    { pp_includes_external_id: 4, usagev: -5 },
  ])
  const query = { charging_plan_name: 'TOPUP' }
  const first = await load('plan', query)
  expect(first.details).toBe(true)
  await moveToOther()
  const before = await freeOf(OTHER)
  expect((await load('plan', query)).line).toEqual(first.line)
  expect(await freeOf(OTHER)).toEqual(before)
})
