/** Due auto-renewals are charged once per date, by any process and after any failure. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { followUpHandlers } from '../../../src/admin/follow-ups.ts'
import { ObjectId } from '../../../src/catalog/collections.ts'
import { type Catalog, openCatalog } from '../../../src/catalog/connection.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { streamBacklog } from '../../../src/ledger/streams.ts'
import { chargeDueRenewals, nextRenewalMs } from '../../../src/prepaid/autorenew/due.ts'
import { dyingAfter } from '../../support/catalog/dying.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { useOpened } from '../../support/opened.ts'
import {
  AID,
  openBalanceFixture,
  SID,
  seedCatalogue,
  seedChargingPlan,
} from '../../support/prepaid/balances/balance-fixture.ts'
import { silent } from '../../support/recorder/accounts.ts'
import { startTestDrain } from '../../support/recorder/test-drain.ts'
import { waitUntil } from '../../support/wait.ts'

const DAY_MS = 86_400_000
const midnight = (text: string) => new Date(`${text}T00:00:00Z`)

const scene = useOpened(openBalanceFixture)
beforeAll(async () => {
  await scene().catalog.ensureIndexes()
})
beforeEach(async () => {
  await scene().clear()
  const { autorenew, outbox, audit, lines } = scene().catalog
  for (const one of [autorenew, outbox, audit, lines]) {
    await (one as typeof outbox).deleteMany({})
  }
  register(scene().catalog)
  scene().clock.set(Date.UTC(2026, 10, 26, 12))
  await seedCatalogue(scene())
  await seedChargingPlan(scene(), [{ pp_includes_external_id: 2, value: -10 }], {
    operation: 'inc',
  })
})

function register(catalog: Catalog): void {
  const config = { ...loadConfig({ env: {} }), ...scene().config }
  const { ledger, clock, lookup } = scene()
  catalog.dispatcher.register(
    followUpHandlers({ catalog, ledger, clock, config, lookup, log: silent }),
    silent,
  )
}

async function seedRenewal(more: Record<string, unknown> = {}): Promise<ObjectId> {
  const _id = new ObjectId()
  await insertEntity(scene().catalog, 'autorenew', {
    _id,
    aid: AID,
    sid: SID,
    bucket_group: 'TOPUP',
    cycles: 12,
    cycles_remaining: 12,
    interval: 'month',
    from: '2026-01-01',
    next_renew: midnight('2026-11-26'),
    ...more,
  })
  return _id
}

async function run(atMs = scene().clock.nowMs(), catalog = scene().catalog): Promise<number> {
  let sum = 0
  const signal = new AbortController().signal
  const parts = { catalog, clock: scene().clock, config: scene().config }
  await chargeDueRenewals(parts, atMs, signal, async (charged) => {
    sum += charged
  })
  return sum
}

async function recordAll(): Promise<void> {
  const drain = await startTestDrain(scene().stores)
  await waitUntil('all is recorded', async () => (await streamBacklog(scene().ledger)) === 0)
  await drain.stop(1_000)
}

const free = async (sid = SID) => (await scene().owner(sid)).buckets.map((one) => one.free)
const renewal = (id: ObjectId) => scene().catalog.autorenew.findOne({ _id: id })

describe('a renewal that is due', () => {
  it('is charged, with a line and audit records, and has its next date', async () => {
    const id = await seedRenewal()
    expect(await run()).toBe(1)
    expect(await free()).toEqual([10])
    expect(await renewal(id)).toMatchObject({
      cycles_remaining: 11,
      last_renew: new Date(scene().clock.nowMs()),
      next_renew: midnight('2026-12-26'),
    })
    const operationId = `autorenew-${id.toHexString()}-2026-11-26T00:00:00.000Z`
    const head = await scene().ledger.findOperation(AID, operationId)
    expect(head).toMatchObject({
      chargingType: 'Chargingplan',
      sourceRef: 'TOPUP',
      additional: { autorenew: id.toHexString(), due: '2026-11-26T00:00:00.000Z' },
    })
    await recordAll()
    const lines = await scene().catalog.lines.find({ type: 'balance' }).sort({ stamp: 1 }).toArray()
    expect(lines.map((line) => (line as { operation_id: string }).operation_id)).toEqual([
      operationId,
      `${operationId}/1`,
    ])
    const records = await scene().catalog.audit.find().toArray()
    expect(records.map(({ collection, type, user }) => [collection, type, user.by])).toEqual([
      ['autorenew', 'renew', 'node'],
      ['balances', 'update', 'node'],
    ])
    expect(records[0]).toMatchObject({ key: id.toHexString(), operation_id: operationId })
    expect(await run()).toBe(0)
    expect(await nextRenewalMs(scene().catalog)).toBe(Date.UTC(2026, 11, 26))
  })

  it('is charged for each date that was missed, in their order', async () => {
    const id = await seedRenewal({
      next_renew: midnight('2026-08-31'),
      anchor_day: 31,
      cycles_remaining: 9,
    })
    expect(await run()).toBe(3)
    expect(await free()).toEqual([30])
    const records = await scene().catalog.audit.find({ collection: 'autorenew' }).toArray()
    expect(records.map((one) => String(one.operation_id).slice(-24, -14))).toEqual([
      '2026-08-31',
      '2026-09-30',
      '2026-10-31',
    ])
    expect(await renewal(id)).toMatchObject({
      cycles_remaining: 6,
      next_renew: midnight('2026-11-30'),
      anchor_day: 31,
    })
  })

  it('ends with its charges, with its validity, and if it is deleted', async () => {
    const last = await seedRenewal({ cycles_remaining: 1, next_renew: midnight('2026-09-01') })
    const over = await seedRenewal({ to: '2026-11-26' })
    await seedRenewal({ deleted: true, deleted_at: midnight('2026-11-01') })
    await seedRenewal({ next_renew: midnight('2026-11-27') })
    expect(await run()).toBe(1)
    expect(await renewal(last)).toMatchObject({ cycles_remaining: 0 })
    expect(await renewal(over)).toMatchObject({ cycles_remaining: 12 })
    expect(await renewal(over)).not.toHaveProperty('next_renew')
    expect(await free()).toEqual([10])
  })

  it('does not begin before its validity', async () => {
    const id = await seedRenewal({ from: '2026-12-15' })
    expect(await run()).toBe(0)
    expect(await renewal(id)).toMatchObject({
      cycles_remaining: 12,
      next_renew: midnight('2026-12-26'),
    })
  })

  it.each([
    ['inc', [15]],
    ['set', [10]],
  ])('with operation %s replaces that of the group', async (operation, expected) => {
    await seedRenewal({ next_renew: midnight('2026-11-25') })
    await run()
    const { updateBalance } = await import('../../../src/prepaid/balances/update.ts')
    const query = { sid: SID, pp_includes_external_id: 2 }
    const update = { value: -5, operation: 'set' }
    await updateBalance(scene(), { query, update, operationId: 'to-5' })
    await seedRenewal({ operation })
    await run()
    expect(await free()).toEqual(expected)
  })

  it('that is refused counts, and the others are charged', async () => {
    await seedRenewal({ sid: 99 })
    await seedRenewal({ bucket_group: 'NONE' })
    await seedRenewal({ sid: 19 })
    expect(await run()).toBe(3)
    expect([await free(), await free(19)]).toEqual([[], [10]])
    expect(await scene().catalog.outbox.countDocuments()).toBe(0)
  })

  it('is charged ahead for a later time, and not again when it comes', async () => {
    const id = await seedRenewal()
    expect(await run(Date.UTC(2027, 0, 1))).toBe(2)
    expect(await renewal(id)).toMatchObject({ next_renew: midnight('2027-01-26') })
    scene().clock.set(Date.UTC(2026, 11, 28))
    expect(await run()).toBe(0)
    expect(await free()).toEqual([20])
  })
})

describe('several processes', () => {
  it('charge each date once', async () => {
    const { url, database } = scene().stores.mongo
    const open = () => openCatalog({ url, database, timeoutMs: 20_000, appName: 'other' })
    const others = [await open(), await open()]
    for (const each of others) register(each)
    for (let day = 1; day <= 9; day += 1) {
      await seedRenewal({ next_renew: midnight(`2026-11-0${day}`), interval: 'week' })
    }
    const sums = await Promise.all(
      [scene().catalog, ...others].map((catalog) => run(scene().clock.nowMs(), catalog)),
    )
    // 1 to 5 are due four times until the 26th, 6 to 9 three times.
    expect(sums.reduce((sum, one) => sum + one, 0)).toBe(32)
    expect(await free()).toEqual([320])
    await Promise.all(others.map((each) => each.close()))
  })
})

describe('a process that dies', () => {
  it.each(Array.from({ length: 12 }, (_, commands) => commands))(
    'after %i commands to MongoDB leaves nothing half done',
    async (commands) => {
      const id = await seedRenewal()
      const dying = await dyingAfter(scene().stores.mongo, commands)
      register(dying.catalog)
      await run(scene().clock.nowMs(), dying.catalog).catch(() => undefined)
      await dying.close()
      await scene().catalog.outbox.updateMany({}, { $set: { expires: new Date(0) } })
      await scene().catalog.dispatcher.recover()
      await run()
      expect(await free()).toEqual([10])
      expect(await renewal(id)).toMatchObject({ cycles_remaining: 11 })
      const records = await scene().catalog.audit.find().toArray()
      expect(records.map(({ collection }) => collection).sort()).toEqual(['autorenew', 'balances'])
      expect(await scene().catalog.outbox.countDocuments()).toBe(0)
    },
  )

  it('for longer than results are kept does not charge twice', async () => {
    const id = await seedRenewal()
    await run()
    const operationId = `autorenew-${id.toHexString()}-2026-11-26T00:00:00.000Z`
    await recordAll()
    await scene().ledger.redis.client.del(scene().ledger.keys.operation(AID, operationId))
    scene().clock.set(scene().clock.nowMs() + 3 * DAY_MS)
    const payload = {
      actor: { by: 'node', id: '', name: '', address: '' },
      ...{ sid: SID, aid: AID, group: 'TOPUP', operationId },
      ...{ autorenew: id.toHexString(), due: midnight('2026-11-26') },
    }
    const { enqueueOutbox } = await import('../../../src/catalog/transactions/outbox.ts')
    await scene().catalog.transaction('again', async (session) => {
      enqueueOutbox(session, { kind: 'renewal', payload })
    })
    expect(await free()).toEqual([10])
  })
})
