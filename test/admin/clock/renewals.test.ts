/** Auto-renewals and the end of prepaid cards, on the way of a test clock. */
import { beforeAll, expect, it } from 'vitest'
import { ObjectId } from '../../../src/catalog/collections.ts'
import { START_MS, useClockServer } from '../../support/admin/clock-server.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { loadOwner } from '../../support/recorder/accounts.ts'

const world = useClockServer({
  TOLLGATE_SWEEP_INTERVAL_MS: '3600000',
  TOLLGATE_RATING_TIME_ZONE: 'Europe/Berlin',
})
const HOUR_MS = 3_600_000
const id = new ObjectId()

beforeAll(async () => {
  const { catalog } = world.stores()
  const from = '2024-01-01'
  await insertEntity(catalog, 'plans', { from })
  await insertEntity(catalog, 'subscribers', { from })
  await insertEntity(catalog, 'prepaidincludes', { from })
  const include = [{ pp_includes_external_id: 1, value: -20, operation: 'default' }]
  await insertEntity(catalog, 'prepaidgroups', { name: 'TOPUP20', include, from })
  await insertEntity(catalog, 'autorenew', {
    _id: id,
    ...{ aid: 17, sid: 18, bucket_group: 'TOPUP20', from, anchor_day: 31 },
    ...{ cycles: 12, cycles_remaining: 12, interval: 'month', operation: 'inc' },
    // Midnight in Berlin.
    next_renew: new Date('2024-01-30T23:00:00Z'),
  })
  await catalog.cards.insertOne({
    secret_hmac: 'x',
    ...{ batch_number: 1, serial_number: 1, charging_plan_name: 'TOPUP20' },
    ...{ service_provider: 'US', additional_information: '', status: 'Idle' },
    to: new Date('2024-02-10T12:00:00Z'),
    creation_time: new Date(START_MS),
  })
})

it('each date is charged at its midnight, and a card ends in the night after', async () => {
  expect(await world.post({ to: '2024-05-01T12:00:00Z' })).toMatchObject({ http: 200, status: 1 })
  const { catalog, ledger } = world.stores()
  const within = (at: Date | undefined, midnight: string) => {
    const ms = Number(at?.getTime()) - Date.parse(midnight)
    expect(ms).toBeGreaterThanOrEqual(0)
    expect(ms).toBeLessThan(HOUR_MS)
  }
  // The runner of the process may be faster than the move, which lists its own runs only.
  const records = await catalog.audit.find({ type: 'renew' }).sort({ urt: 1 }).toArray()
  expect(records).toHaveLength(4)
  // Daylight saving begins on 31 March.
  const days = ['01-30T23', '02-28T23', '03-30T23', '04-29T22']
  for (const [index, day] of days.entries()) within(records[index]?.urt, `2024-${day}:00:00Z`)
  expect(await catalog.autorenew.findOne({ _id: id })).toMatchObject({
    cycles_remaining: 8,
    next_renew: new Date('2024-05-30T22:00:00Z'),
  })
  const { buckets } = await loadOwner(ledger, 17, 18)
  expect(buckets.reduce((sum, { credited }) => sum + credited, 0)).toBe(80_000_000)
  expect(await catalog.audit.countDocuments({ collection: 'balances' })).toBe(4)
  const card = await catalog.cards.findOne({})
  expect(card?.status).toBe('Expired')
  within(card?.expired_on, '2024-02-10T23:00:00Z')
})
