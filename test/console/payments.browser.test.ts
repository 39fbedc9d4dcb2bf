/** The page of payments in a browser, as an operator uses it. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { confirmCycle, useBilling } from '../support/console/billing-scene.ts'
import { CHROMIUM } from '../support/console/browser.ts'
import { READER_NAME } from '../support/console/console-product.ts'
import { expectAccessible, SETUP_MS_MAX, useVisits } from '../support/console/visits.ts'

const visits = useVisits()
const billing = useBilling(visits)

beforeAll(async () => {
  if (CHROMIUM !== undefined) await confirmCycle(visits.scene(), billing().key)
}, SETUP_MS_MAX)

const open = (user?: string) =>
  visits.visit({ hash: `#/payments?aid=${billing().aid}`, ...(user !== undefined && { user }) })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const rows = (page: Page) => page.getByRole('group', { name: 'Payments' }).locator('tbody tr')
const owed = async () => {
  const { details } = await visits.scene().api('api/bill', { aid: billing().aid })
  return (details as { balance: { total: string } }).balance.total
}

describe.skipIf(CHROMIUM === undefined)('payments', () => {
  it('are recorded once, also if the answer is lost, and taken back with a reason', async () => {
    const page = await open()
    await page.getByText('No payments.').waitFor()
    expect(await owed()).toBe('30.00')
    await button(page, 'Record a payment').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Amount').fill('x')
    await dialog.getByRole('button', { name: 'Record' }).click()
    await dialog.getByText('must be a number above 0').first().waitFor()
    await dialog.getByLabel('Amount').fill('12,50')
    await dialog.getByLabel('Reason').fill('at the counter')
    const path = '**/api/pay'
    await page.route(path, async (route) => {
      await route.fetch()
      await route.abort()
    })
    await dialog.getByRole('button', { name: 'Record' }).dblclick()
    await dialog.getByText('It is not known whether this payment was recorded.').waitFor()
    await expectAccessible(page)
    await page.unroute(path)
    await page.reload()
    await dialog.getByText('It is not known whether this payment was recorded.').waitFor()
    expect(await dialog.getByLabel('Amount').inputValue()).toBe('12,50')
    await dialog.getByRole('button', { name: 'Repeat the same payment' }).click()
    await page.getByText(`12.50 recorded for account ${billing().aid}.`).first().waitFor()
    await rows(page).getByText('12.50').first().waitFor()
    expect(await rows(page).count()).toBe(1)
    expect(await owed()).toBe('17.50')

    await rows(page)
      .getByRole('button', { name: /^Correct…/ })
      .click()
    const correct = page.getByRole('dialog', { name: /^Correct payment/ })
    const act = correct.getByRole('button', { name: 'Correct the payment' })
    expect(await act.getAttribute('aria-disabled')).toBe('true')
    await correct.getByLabel('Reason').fill('wrong account')
    await expectAccessible(page)
    await act.click()
    await rows(page).getByText('cancelled').waitFor()
    expect(await rows(page).count()).toBe(2)
    expect(await owed()).toBe('30.00')
    await page.getByRole('link', { name: 'Charges through gateways' }).click()
    await page.getByText('No charges through a gateway.').waitFor()
    await expectAccessible(page)
  })

  it('are recorded by keyboard alone, for an invoice; a reader may only look', async () => {
    const page = await open()
    await page.getByRole('heading', { level: 1 }).waitFor()
    await button(page, 'Record a payment').waitFor()
    await page.keyboard.press('n')
    await page.getByRole('dialog').getByLabel('Amount').waitFor()
    await page.keyboard.insertText('30')
    await page.keyboard.press('Control+Enter')
    await page.getByText('30.00 recorded for account').first().waitFor()
    expect(await owed()).toBe('0.00')
    const reader = await open(READER_NAME)
    await rows(reader).first().waitFor()
    const record = button(reader, 'Record a payment')
    expect(await record.getAttribute('aria-disabled')).toBe('true')
    await reader.keyboard.press('n')
    expect(await reader.getByRole('dialog').count()).toBe(0)
    await reader.setViewportSize({ width: 360, height: 740 })
    const width = await reader.evaluate(() => document.documentElement.scrollWidth)
    expect(width).toBeLessThanOrEqual(360)
    await expectAccessible(reader)
  })
})
