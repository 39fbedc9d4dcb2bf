import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { updateBalance } from '../../../src/admin/balances/update.ts'
import { EntityRuleError } from '../../../src/admin/entities/errors.ts'
import {
  type BalanceFixture,
  dyingAfter,
  NOW_MS,
  openBalanceFixture,
  SID,
  seedCatalogue,
  seedChargingPlan,
} from '../../support/admin/balances/balance-fixture.ts'

let scene: BalanceFixture
const SECRET = '123456789012'
const NO_CARD = 'there is no active card with this secret'
const HOUR_MS = 3_600_000

beforeAll(async () => {
  scene = await openBalanceFixture()
})
afterAll(() => scene.stores.close())
beforeEach(async () => {
  await scene.clear()
  await seedCatalogue(scene)
  await seedChargingPlan(scene, [
    { pp_includes_external_id: 1, value: -10 },
    { pp_includes_external_id: 2, value: -100 },
  ])
})

async function seedCard(more: Record<string, unknown> = {}): Promise<void> {
  await scene.catalog.cards.insertOne({
    secret: createHash('sha512').update(SECRET).digest('hex'),
    status: 'Active',
    batch_number: 1,
    serial_number: 1,
    charging_plan_name: 'TOPUP',
    service_provider: 'US',
    to: new Date(NOW_MS + 1),
    creation_time: new Date(0),
    ...more,
  })
}

const load = (operationId: string, sid = SID, ledger = scene.ledger) =>
  updateBalance({ ...scene, ledger }, { query: { sid, secret: SECRET }, update: {}, operationId })
const free = async (sid = SID) => (await scene.owner(sid)).buckets.map((one) => one.free)
const card = () => scene.catalog.cards.findOne({})

it('loads the amounts of its charging plan, once', async () => {
  await seedCard()
  const { details, entity, line } = await load('a')
  const id = String((await card())?._id)
  expect(details).toBe(true)
  expect(entity).toMatchObject([{ balance: { cost: -10 } }, { pp_includes_name: 'DATA_PACK' }])
  expect(line).toMatchObject({ charging_type: 'Secret', source_ref: id, bucket_id: 0 })
  expect(await card()).toMatchObject({
    status: 'Used',
    used_by: { sid: SID, operation_id: 'a', credited: true },
  })
  await expect(load('b')).rejects.toThrow(NO_CARD)
  await expect(load('b', 19)).rejects.toThrow(NO_CARD)
  expect((await load('a')).line).toEqual(line)
  expect(await free()).toEqual([10_000_000, 100])
})

it.each([0, 1, 2])(
  'a load that stopped after %i writes is completed for its subscriber only',
  async (writes) => {
    await seedCard()
    await expect(load('a', SID, dyingAfter(scene.ledger, writes))).rejects.toThrow('died')
    expect(await card()).toMatchObject({ status: 'Used' })
    await expect(load('b', 19)).rejects.toThrow(NO_CARD)
    // Even with another operation id than the first call.
    expect((await load('c')).details).toBe(true)
    expect(await free()).toEqual([10_000_000, 100])
    expect(await free(19)).toEqual([])
  },
)

it('a load that stopped before its results expired is not repeated', async () => {
  await seedCard()
  await expect(load('a', SID, dyingAfter(scene.ledger, 3))).resolves.toMatchObject({
    details: true,
  })
  await scene.catalog.cards.updateOne({}, { $unset: { 'used_by.credited': '' } })
  scene.clock.set(NOW_MS + scene.config.ledger.operationKeepMs)
  await expect(load('a')).rejects.toThrow('its lines show what was credited')
})

it('a card is loaded once by many concurrent attempts', async () => {
  await seedCard({ status: 'ACTIVE' })
  const sids = [SID, 19, SID, 19, SID, 19]
  const tried = await Promise.allSettled(sids.map((sid, index) => load(`call-${index}`, sid)))
  const sums = [await free(), await free(19)].map((one) => JSON.stringify(one)).sort()
  expect(sums).toEqual(['[10000000,100]', '[]'])
  expect(tried.some(({ status }) => status === 'fulfilled')).toBe(true)
  for (const one of tried) if (one.status === 'rejected') expect(one.reason.message).toBe(NO_CARD)
})

it.each([
  ['is not active', { status: 'Cancelled' }, NO_CARD],
  ['has another secret', { secret: 'x' }, NO_CARD],
  ['was used by an unknown subscriber', { status: 'Used' }, NO_CARD],
  ['has expired', { to: new Date(NOW_MS - HOUR_MS) }, 'the card has expired on'],
  ['has no plan', { charging_plan_name: 'NONE' }, 'there is no charging plan NONE now'],
])('a card is refused if it %s', async (_why, more, text) => {
  await seedCard(more)
  await expect(load('a')).rejects.toThrow(EntityRuleError)
  await expect(load('a')).rejects.toThrow(text)
  expect(await free()).toEqual([])
})

it('stays active if the plan of the subscriber does not allow the load', async () => {
  await seedCard()
  const query = { sid: SID, pp_includes_external_id: 1 }
  await updateBalance(scene, { query, update: { value: -45 }, operationId: 'first' })
  expect(await load('a')).toMatchObject({ details: false, entity: null, line: null })
  expect(await card()).toMatchObject({ status: 'Active' })
})
