import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { instantOf } from '../../../src/domain/time.ts'
import { afterCharge, nextRenewMs } from '../../../src/prepaid/autorenew/rules.ts'
import { insertEntity, useStore } from '../../support/catalog/store.ts'
import {
  check,
  contextOf,
  day,
  documentOf,
  NOW_MS,
  prepare,
  refusal,
} from '../../support/entities/rules/context.ts'

const MIDNIGHT = { hour: 0, minute: 0, second: 0 }

function dateOf(text: string) {
  const [year = 0, month = 0, date = 0] = text.split('-').map(Number)
  return { year, month, day: date }
}

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

describe('a renewal', () => {
  it('names a prepaid group in force', async () => {
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

  it('names a subscriber of its account', async () => {
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

  it('is not changed by an update of other fields', async () => {
    const catalog = await withGroup()
    const set = { cycles_remaining: 3 }
    const changes = await prepare('autorenew', set, contextOf(catalog), documentOf(renewal))
    expect(changes.set).toEqual(set)
  })

  it('in a month that is too short is due on its last day', () => {
    expect(nextRenewMs('month', Date.UTC(2026, 0, 31, 8), 'UTC')).toBe(Date.UTC(2026, 1, 28))
  })

  it.each([
    ['month', '2026-01-31', ['2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31']],
    ['month', '2028-01-30', ['2028-02-29', '2028-03-30', '2028-04-30', '2028-05-30']],
    ['month', '2027-12-31', ['2028-01-31', '2028-02-29', '2028-03-31', '2028-04-30']],
    ['month', '2026-02-28', ['2026-03-28', '2026-04-28', '2026-05-28', '2026-06-28']],
    ['week', '2026-01-31', ['2026-02-07', '2026-02-14', '2026-02-21', '2026-02-28']],
    ['day', '2026-02-27', ['2026-02-28', '2026-03-01', '2026-03-02', '2026-03-03']],
  ])('by the %s from %s is due on %j, also if it is charged late', (interval, first, dates) => {
    for (const zone of ['UTC', 'America/New_York']) {
      for (const lateMs of [0, 3_600_000, 100 * 86_400_000]) {
        const midnight = (text: string) => instantOf(zone, { ...dateOf(text), ...MIDNIGHT })
        const due = new Date(midnight(first))
        let document = documentOf({ interval, next_renew: due, cycles_remaining: 12 })
        const found: number[] = []
        for (const _ of dates) {
          const dueMs = (document['next_renew'] as Date).getTime()
          const nowMs = dueMs + lateMs
          document = { ...document, ...afterCharge(document, dueMs, { nowMs, zone }) }
          found.push((document['next_renew'] as Date).getTime())
        }
        expect(found).toEqual(dates.map(midnight))
      }
    }
  })

  it('that was not charged for months is due on each date', () => {
    const document = documentOf({ next_renew: day('2026-01-31'), cycles_remaining: 3 })
    const late = { nowMs: Date.UTC(2026, 3, 2), zone: 'UTC' }
    const after = afterCharge(document, day('2026-01-31').getTime(), late)
    expect(after).toMatchObject({ cycles_remaining: 2, next_renew: day('2026-02-28') })
  })

  it('created at the end of a month returns to that day', async () => {
    const catalog = await withGroup()
    const nowMs = Date.UTC(2026, 0, 31, 12)
    const context = contextOf(catalog, { nowMs })
    const created = (await prepare('autorenew', renewal, context)).set
    expect(created).toMatchObject({ next_renew: day('2026-02-28'), anchor_day: 31 })
    const late = { nowMs: Date.UTC(2026, 2, 1, 3), zone: 'UTC' }
    const due = day('2026-02-28').getTime()
    expect(afterCharge(created, due, late)).toMatchObject({ next_renew: day('2026-03-31') })
    const atOnce = (await prepare('autorenew', { ...renewal, immediate: true }, context)).set
    const charged = afterCharge(atOnce, nowMs, { nowMs, zone: 'UTC' })
    expect(charged).toMatchObject({ next_renew: day('2026-02-28'), anchor_day: 31 })
  })

  it('returns to the day of a changed date, not of the same date', async () => {
    const catalog = await withGroup()
    const stored = documentOf({ ...renewal, next_renew: day('2026-02-28'), anchor_day: 31 })
    const change = async (set: Record<string, unknown>) =>
      (await prepare('autorenew', set, contextOf(catalog), stored)).set
    const same = { next_renew: day('2026-02-28'), cycles_remaining: 3 }
    expect(await change(same)).toEqual(same)
    expect(await change({ next_renew: day('2026-04-05') })).toHaveProperty('anchor_day', undefined)
    expect(await change({ next_renew: day('2026-05-30') })).toMatchObject({ anchor_day: 30 })
  })

  it('that was charged has another due date', () => {
    const document = documentOf({ ...renewal, cycles_remaining: 12, interval: 'month' })
    expect(afterCharge(document, NOW_MS, { nowMs: NOW_MS, zone: 'UTC' })).toEqual({
      cycles_remaining: 11,
      last_renew: new Date(NOW_MS),
      next_renew: day('2026-04-10'),
    })
  })
})
