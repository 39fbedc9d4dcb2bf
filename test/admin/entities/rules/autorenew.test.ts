import { describe, expect, it } from 'vitest'
import { afterCharge, nextRenewMs } from '../../../../src/admin/entities/rules/autorenew.ts'
import type { Catalog } from '../../../../src/catalog/connection.ts'
import { insertEntity, useStore } from '../../../catalog/store.ts'
import { check, contextOf, day, documentOf, NOW_MS, prepare, refusal } from './context.ts'

const store = useStore()
const renewal = { aid: 17, sid: 18, bucket_group: 'TOPUP20', cycles: 12 }
const tomorrow = { next_renew: day('2026-03-11') }

async function withGroup(): Promise<Catalog> {
  const catalog = await store.open()
  await insertEntity(catalog, 'prepaidgroups', { to: '2026-06-01' })
  await insertEntity(catalog, 'prepaidgroups', { name: 'ENDED', to: '2026-03-01' })
  await insertEntity(catalog, 'subscribers', { sid: 18, aid: 17 })
  return catalog
}

describe('R33: a renewal', () => {
  it('is of a prepaid group that holds now', async () => {
    const catalog = await withGroup()
    await check('autorenew', { ...renewal, ...tomorrow }, contextOf(catalog))
    for (const name of ['GONE', 'ENDED']) {
      const fields = { ...renewal, ...tomorrow, bucket_group: name }
      expect(await refusal(check('autorenew', fields, contextOf(catalog)))).toEqual([
        0,
        `bucket_group: there is no prepaid group ${name} at 2026-03-10 12:00:00`,
      ])
    }
  })

  it('is of a subscriber of the account', async () => {
    const catalog = await withGroup()
    for (const whose of [{ sid: 19 }, { aid: 1 }]) {
      const refused = check('autorenew', { ...renewal, ...tomorrow, ...whose }, contextOf(catalog))
      expect((await refusal(refused))?.[1]).toMatch(/^sid: there is no subscriber \d+ of account/)
    }
  })

  it('begins tomorrow at the earliest, unless it is immediate', async () => {
    const catalog = await withGroup()
    const today = { ...renewal, next_renew: new Date('2026-03-10T23:59:59Z') }
    expect(await refusal(check('autorenew', today, contextOf(catalog)))).toEqual([
      0,
      'next_renew must not be before 2026-03-11, unless immediate is true',
    ])
    await check('autorenew', { ...today, immediate: true }, contextOf(catalog))
    const zone = 'Asia/Jerusalem'
    const there = { ...renewal, next_renew: new Date('2026-03-10T22:00:00Z') }
    await check('autorenew', there, contextOf(catalog, { zone }))
    const stored = documentOf(today)
    const before = documentOf({ ...today, ...tomorrow, immediate: true })
    const later = check('autorenew', { ...today, immediate: true }, contextOf(catalog), before)
    expect((await refusal(later))?.[1]).toContain('next_renew must not be before 2026-03-11')
    await check('autorenew', { ...today, cycles_remaining: 3 }, contextOf(catalog), stored)
  })

  it.each([
    [{}, 'month', '2026-04-10'],
    [{ immediate: true }, 'month', '2026-04-11'],
    [{ interval: 'week' }, 'week', '2026-03-17'],
    [{ interval: 'day' }, 'day', '2026-03-11'],
    [{ next_renew: day('2026-05-01') }, 'month', '2026-05-01'],
  ])('with %j has the interval %s and is due on %s', async (given, interval, next) => {
    const catalog = await withGroup()
    const { set } = await prepare('autorenew', { ...renewal, ...given }, contextOf(catalog))
    const added = { interval, cycles_remaining: 12, next_renew: day(next) }
    expect(set).toEqual({ ...renewal, ...given, ...added })
  })

  it('has one of three intervals', async () => {
    const catalog = await withGroup()
    const asked = prepare('autorenew', { ...renewal, interval: 'year' }, contextOf(catalog))
    expect(await refusal(asked)).toEqual([0, 'interval must be one of day, week, month'])
  })

  it('is left as it is by an update', async () => {
    const catalog = await withGroup()
    const set = { cycles_remaining: 3 }
    const changes = await prepare('autorenew', set, contextOf(catalog), documentOf(renewal))
    expect(changes.set).toEqual(set)
  })

  it('in a month that is too short is due on its last day', () => {
    expect(nextRenewMs('month', Date.UTC(2026, 0, 31, 8), 'UTC')).toBe(Date.UTC(2026, 1, 28))
  })

  it('that was charged is due again', () => {
    const document = documentOf({ ...renewal, cycles_remaining: 12, interval: 'month' })
    expect(afterCharge(document, { nowMs: NOW_MS, zone: 'UTC' })).toEqual({
      cycles_remaining: 11,
      last_renew: new Date(NOW_MS),
      next_renew: day('2026-04-10'),
    })
  })
})
