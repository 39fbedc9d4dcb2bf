/** The record of all operations: the audit balances, and a lost ledger is restored from it. */
import { expect, it } from 'vitest'
import { balanceIdOf } from '../../../src/catalog/records/usage/balance-id.ts'
import { auditStores } from '../../../src/cli/audit.ts'
import { recordedAccounts } from '../../../src/cli/rebuild/recorded.ts'
import { creditBucket } from '../../../src/ledger/operations.ts'
import { watchRecorderProgress } from '../../../src/ledger/recorder-progress.ts'
import { findBalances } from '../../../src/prepaid/balances/find.ts'
import { deleteBalance } from '../../../src/prepaid/balances/remove.ts'
import { updateBalance } from '../../../src/prepaid/balances/update.ts'
import { bucketOf } from '../../support/ledger/fixture.ts'
import { useOpened } from '../../support/opened.ts'
import {
  AID,
  moveBuckets,
  NOW_MS,
  openBalanceFixture,
  SID,
  seedCatalogue,
  seedChargingPlan,
} from '../../support/prepaid/balances/balance-fixture.ts'
import { SLOW_CLAIMS, startTestDrain } from '../../support/recorder/test-drain.ts'

const NEW_AID = 40
const settings = { attemptsMax: 8 }

const scene = useOpened(openBalanceFixture)
useOpened(
  async () => {
    await seedCatalogue(scene())
    return startTestDrain(scene().stores, SLOW_CLAIMS)
  },
  (opened) => opened.stop(100),
)

const update = (operationId: string, query: object, change: object) =>
  updateBalance(scene(), { query: { ...query }, update: { ...change }, operationId })

async function runAllOperations(): Promise<void> {
  const wallet = { sid: SID, pp_includes_external_id: 1 }
  await update('a', wallet, { value: -20, additional: { why: 'test' } })
  await update('b', wallet, { value: -7.25, operation: 'set' })
  await update('c', wallet, { value: -3, operation: 'new' })
  await seedChargingPlan(scene(), [
    { pp_includes_external_id: 2, usagev: -500 },
    { pp_includes_external_id: 3, usagev: -70 },
  ])
  await update('d', { aid: AID, sid: SID, charging_plan: 'TOPUP' }, {})
  const terms = bucketOf(0, { counter: 'credit', prepaidIncludeId: 0, limit: 9_000_000 })
  const counter = { mode: 'transfer_in', terms, amount: 0, counted: 4_000_000 } as const
  const identity = { aid: AID, sid: SID, operationId: 'e' }
  await creditBucket(scene().ledger, { ...counter, ...identity }, settings, NOW_MS)
  const id = balanceIdOf({ aid: AID, sid: SID, bucketId: 2 })
  expect((await deleteBalance(scene(), { id, operationId: 'f' })).details).toBe(true)
  const move = { sid: SID, fromAid: AID, toAid: NEW_AID, operationId: 'g' }
  expect((await moveBuckets(scene().ledger, move, settings, NOW_MS)).lines).toHaveLength(3)
}

it('every unit is accounted for, and can be restored', async () => {
  await runAllOperations()
  const { ledger, catalog } = scene()
  const report = await auditStores({ ledger, catalog, recording: watchRecorderProgress(ledger) })
  expect(report).toMatchObject({ ok: true, differences: [], accounts: 2 })
  const since = { operationsMs: 0, countersMs: 0 }
  for await (const account of recordedAccounts(catalog, () => true, since)) {
    for (const { state, losses } of account.restore()) {
      const live = state === null ? null : await scene().owner(state.sid, state.aid)
      expect(losses).toEqual([])
      expect(state?.buckets).toEqual(live?.buckets)
    }
    for (const line of account.operations) {
      expect(await ledger.findOperation(line.aid, line.operationId)).toEqual(line)
    }
  }
})

it('the id of a balance is the same in MongoDB and in the API', async () => {
  const recorded = await scene().catalog.balances.find({ aid: NEW_AID }).toArray()
  const { balances } = await findBalances(
    scene(),
    { aid: NEW_AID },
    { sort: {}, skip: 0, limit: 9 },
  )
  expect(recorded.map(({ _id }) => String(_id)).sort()).toEqual(
    balances.map(({ _id }) => String(_id)).sort(),
  )
  expect(recorded.length).toBe(3)
  const lines = await scene().catalog.lines.find({ type: 'balance', operation_id: 'a' }).toArray()
  expect(lines).toMatchObject([{ additional: { why: 'test' }, aprice: -20, source: 'billapi' }])
})
