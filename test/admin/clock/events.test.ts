/** Overdue debts and usage patterns, on the way of a test clock. */
import { expect, it } from 'vitest'
import { START_MS, useClockServer } from '../../support/admin/clock-server.ts'
import { storeEventRules } from '../../support/billing/money-rules.ts'
import { storeInvoice } from '../../support/billing/store-invoice.ts'
import { waitUntil } from '../../support/wait.ts'

const world = useClockServer({ TOLLGATE_SWEEP_INTERVAL_MS: '3600000' })
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

it('are reported when they become due, not at the end of a long move', async () => {
  const { catalog } = world.stores()
  await storeEventRules(catalog, {
    money: [{ event_type: 'overdue' }],
    fraud: [
      {
        event_code: 'DAILY',
        recurrence: { type: 'hourly', value: 24 },
        date_range: { type: 'daily', value: 1 },
        threshold_conditions: [[{ field: 'usagev', op: 'gt', value: 50 }]],
      },
    ],
  })
  const given = { aid: 1, invoiceId: 101, due: 30, nowMs: START_MS, billrunKey: '202401' }
  await storeInvoice(catalog, { ...given, dueDate: new Date(START_MS + 10 * DAY_MS) })
  const urt = new Date(START_MS + 20 * DAY_MS)
  const usage = { stamp: 'a', aid: 1, sid: 7, type: 'realtime', usaget: 'call', usagev: 60, urt }
  await catalog.lines.insertOne(usage as never)
  // Both jobs have seen their rules.
  await waitUntil('the jobs follow', async () => {
    return (await catalog.jobs.countDocuments({ position: { $exists: true } })) === 2
  })
  const to = new Date(START_MS + 40 * DAY_MS).toISOString()
  expect(await world.post({ to })).toMatchObject({ http: 200, status: 1 })
  const events = await catalog.events.find().sort({ creation_time: 1 }).toArray()
  expect(events.map(({ event_type: type }) => type)).toEqual(['overdue', 'fraud'])
  const [overdue, fraud] = events.map(({ creation_time: made }) => made.getTime() - START_MS)
  expect(Math.floor(Number(overdue) / DAY_MS)).toBe(10)
  // The end of its day, at midnight.
  expect(Math.floor((Number(fraud) - 12 * HOUR_MS) / DAY_MS)).toBe(20)
})
