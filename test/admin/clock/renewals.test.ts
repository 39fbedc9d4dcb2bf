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

interface Ran {
  job: string
  at: string
  counts: Record<string, number>
}

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
  const { details } = await world.post({ to: '2024-05-01T12:00:00Z' })
  const ran = details['ran'] as Ran[]
  const within = (text: string | undefined, midnight: string) => {
    const ms = Date.parse(String(text)) - Date.parse(midnight)
    expect(ms).toBeGreaterThanOrEqual(0)
    expect(ms).toBeLessThan(HOUR_MS)
  }
  const charged = ran.filter(({ job }) => job === 'autorenew')
  expect(charged.map(({ counts }) => counts)).toEqual(Array(4).fill({ charged: 1 }))
  // Daylight saving begins on 31 March.
  const midnights = [
    '2024-01-30T23:00Z',
    '2024-02-28T23:00Z',
    '2024-03-30T23:00Z',
    '2024-04-29T22:00Z',
  ]
  for (const [index, midnight] of midnights.entries()) within(charged[index]?.at, midnight)
  const ended = ran.filter(({ job }) => job === 'cards')
  expect(ended.map(({ counts }) => counts)).toEqual([{ expired: 1 }])
  within(ended[0]?.at, '2024-02-10T23:00Z')
  const { catalog, ledger } = world.stores()
  expect(await catalog.autorenew.findOne({ _id: id })).toMatchObject({
    cycles_remaining: 8,
    next_renew: new Date('2024-05-30T22:00:00Z'),
  })
  const { buckets } = await loadOwner(ledger, 17, 18)
  expect(buckets.reduce((sum, { credited }) => sum + credited, 0)).toBe(80_000_000)
  expect(await catalog.cards.findOne({})).toMatchObject({ status: 'Expired' })
  const lines = await catalog.audit.countDocuments({ collection: 'balances' })
  expect(lines).toBe(4)
})
