/** The page of reports in a browser, as an operator uses it. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { confirmCycle, useBilling } from '../support/console/billing-scene.ts'
import { CHROMIUM } from '../support/console/browser.ts'
import { addUser, READER_NAME } from '../support/console/console-product.ts'
import { expectAccessible, SETUP_MS_MAX, useVisits } from '../support/console/visits.ts'

const visits = useVisits()
const billing = useBilling(visits)
const REPORTER_NAME = 'reporter@example.org'

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  await confirmCycle(visits.scene(), billing().key)
  await addUser(visits.scene().catalog, REPORTER_NAME, ['reports'])
}, SETUP_MS_MAX)

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const create = (update: object) =>
  visits.scene().api('billapi/reports/create', { update: { type: 1, ...update } })
const BY_ACCOUNT = {
  entity: 'bills',
  columns: [
    { field_name: 'aid', key: 'aid', label: 'Account', op: 'group' },
    { field_name: 'amount', key: 'amount', label: 'Amount', op: 'sum' },
  ],
  sorts: [{ field: 'aid', op: 1 }],
}

describe.skipIf(CHROMIUM === undefined)('a report', () => {
  it('is made, tried, run with its chart, exported, changed and deleted', async () => {
    const page = await visits.visit({ hash: '#/reports', user: REPORTER_NAME })
    await page.getByText('Choose a report.').waitFor()
    await button(page, 'New report').click()
    await page.getByLabel('key', { exact: true }).first().fill('bills_by_account')
    await page.getByLabel('entity').selectOption('bills')
    await page.getByLabel('field_name').fill('nothing')
    await button(page, 'Try').click()
    await page.locator('.refused').waitFor()
    const invalid = page.locator('[aria-invalid="true"]')
    await invalid.waitFor()
    expect(await invalid.inputValue()).toBe('nothing')
    await page.getByLabel('field_name').fill('aid')
    await page.getByLabel('label').fill('Account')
    await button(page, 'Add to columns').click()
    await page.getByLabel('field_name').nth(1).fill('amount')
    await page.getByLabel('label').nth(1).fill('Amount')
    await page.getByLabel('Add a field to columns.1').selectOption('op')
    await page.getByLabel('op', { exact: true }).nth(1).selectOption('sum')
    await button(page, 'Try').click()
    await page.getByRole('heading', { name: 'First rows of the draft' }).waitFor()
    await expectAccessible(page)
    await button(page, 'Save').click()
    await page.getByText('bills_by_account is saved.').first().waitFor()
    await button(page, 'Run').click()
    const rows = page.getByRole('group', { name: 'Rows of bills_by_account' })
    await rows.getByRole('row', { name: `${billing().aid} 30` }).waitFor()
    await page.getByRole('img', { name: /^Amount by Account: 2 bars/ }).waitFor()
    await expectAccessible(page)
    const [csv] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith('/api/report')),
      button(page, 'All rows as CSV').click(),
    ])
    expect(csv.headers()['content-type']).toContain('text/csv')
    await page.goBack()
    await button(page, 'Edit').click()
    await page.getByLabel('label').first().fill('Customer')
    await button(page, 'Save').click()
    await button(page, 'Run').click()
    await page.getByRole('columnheader', { name: 'Customer' }).waitFor()
    await button(page, 'Delete…').click()
    await page.getByRole('dialog', { name: 'Delete the report bills_by_account' }).waitFor()
    await expectAccessible(page)
    await button(page, 'Delete').click()
    await page.getByText('Choose a report.').waitFor()
    expect((await visits.scene().api('api/reports', {}))['details']).toEqual([])
  })

  it('has one bar for each category, and values at its axes', async () => {
    const { sid } = visits.scene()
    const at = (hour: number) => new Date(Date.UTC(2026, 2, 1, hour))
    const line = (hour: number, arate_key: string, aprice: number) => {
      const stamp = `chart-${hour}`
      return {
        stamp,
        sid,
        aid: 990,
        type: 'realtime',
        usaget: 'call',
        arate_key,
        aprice,
        urt: at(hour),
      }
    }
    const lines = [line(1, 'SMS', 0.1), line(2, 'CALL', -1), line(3, 'SMS', 0.2)]
    await visits.scene().catalog.lines.insertMany(lines as never)
    await create({
      key: 'rates_by_hour',
      entity: 'usage',
      columns: [
        { field_name: 'arate_key', key: 'rate', label: 'Rate', op: 'group' },
        { field_name: 'urt', key: 'time', label: 'Time', op: 'group' },
        { field_name: 'aprice', key: 'price', label: 'Price', op: 'sum' },
      ],
      conditions: [{ field: 'aid', op: 'eq', value: 990 }],
      sorts: [{ field: 'time', op: 1 }],
    })
    const page = await visits.visit({ hash: '#/reports?name=rates_by_hour&run=1' })
    await page.getByRole('img', { name: /^Price by Rate: 2 bars/ }).waitFor()
    const chart = page.locator('.report-chart')
    expect(await chart.locator('rect title').allTextContents()).toEqual(['SMS: 0.3', 'CALL: -1'])
    expect(await chart.locator('.category').allTextContents()).toEqual(['SMS', 'CALL'])
    expect(await chart.locator('text').allTextContents()).toEqual(
      expect.arrayContaining(['-1', '0.3', '-0.5', '0']),
    )
    await expectAccessible(page)
  })

  it('is run by keyboard alone; a reader sees which role it needs', async () => {
    await create({ key: 'first', ...BY_ACCOUNT })
    const page = await visits.visit({ hash: '#/overview' })
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    const list = page.getByRole('group', { name: 'Saved reports' })
    await list.getByRole('row', { name: 'first' }).waitFor()
    await list.focus()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await button(page, 'Run').press('Enter')
    await page.getByRole('group', { name: 'Rows of first' }).waitFor()
    const viewport = { width: 360, height: 740 }
    const reader = await visits.visit({ hash: '#/reports?name=first', user: READER_NAME, viewport })
    await button(reader, 'Run').waitFor()
    for (const name of ['Run', 'Edit', 'Delete…', 'New report', 'All rows as CSV']) {
      expect(await button(reader, name).getAttribute('aria-disabled')).toBe('true')
    }
    await reader.getByText('This needs one of the roles write, reports').first().waitFor()
    const width = await reader.evaluate(() => document.documentElement.scrollWidth)
    expect(width).toBeLessThanOrEqual(360)
    await expectAccessible(reader)
  })
})
