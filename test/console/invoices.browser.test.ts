/** The page of invoices in a browser, as an operator uses it. */
import { beforeAll, describe, expect, it } from 'vitest'
import { confirmCycle, useBilling } from '../support/console/billing-scene.ts'
import { CHROMIUM_WITH_PDF } from '../support/console/browser.ts'
import { expectAccessible, SETUP_MS_MAX, useVisits } from '../support/console/visits.ts'

const visits = useVisits({ executable: CHROMIUM_WITH_PDF })
const billing = useBilling(visits, CHROMIUM_WITH_PDF)

beforeAll(async () => {
  if (CHROMIUM_WITH_PDF !== undefined) await confirmCycle(visits.scene(), billing().key)
}, SETUP_MS_MAX)

describe.skipIf(CHROMIUM_WITH_PDF === undefined)('invoices', () => {
  it('of a cycle are listed, and one is shown with its PDF beside the data', async () => {
    const { key, aid } = billing()
    const page = await visits.visit({ hash: '#/invoices' })
    await page.getByText('Name an account, a cycle or a number.').waitFor()
    await page.getByLabel('Cycle').fill(key)
    await page.getByRole('button', { name: 'Filter' }).click()
    const list = page.getByRole('group', { name: 'Invoices' })
    const row = list.getByRole('row').filter({ hasText: '30.00' })
    const framed = page.waitForResponse((response) => response.url().includes('inline=1'))
    await row.getByRole('link').first().click()
    const headers = (await framed).headers()
    expect(headers['content-type']).toBe('application/pdf')
    expect(headers['content-disposition']).toMatch(/^inline; filename="invoice-\d+\.pdf"$/)
    const invoice = page.getByRole('region', { name: /^Invoice \d+$/ })
    await invoice.getByText('Grace Hopper').waitFor()
    const lines = invoice.getByRole('group', { name: 'Lines' })
    await lines.getByRole('row', { name: /FLAT.*no tax 30.00/ }).waitFor()
    const frame = page.locator('iframe')
    expect(await frame.isVisible()).toBe(true)
    await expect
      .poll(() => page.frames().filter((each) => each.url().includes('inline=1')).length)
      .toBeGreaterThan(0)
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      invoice.getByRole('link', { name: /^Invoice \d+ as PDF$/ }).click(),
    ])
    expect(saved.suggestedFilename()).toMatch(/^invoice-\d+\.pdf$/)
    expect(page.url()).toContain(`show=${aid}-`)
  })

  it('are found and opened by keyboard alone, on a phone without a frame', async () => {
    const { aid } = billing()
    const page = await visits.visit({ hash: '#/overview', viewport: { width: 360, height: 740 } })
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('i')
    await page.getByLabel('Account').focus()
    await page.keyboard.insertText(String(aid))
    await page.keyboard.press('Enter')
    const list = page.getByRole('group', { name: 'Invoices' })
    await list.getByRole('row').filter({ hasText: '30.00' }).waitFor()
    await list.focus()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Open the PDF' }).waitFor()
    await page.getByText('Grace Hopper').waitFor()
    expect(await page.locator('iframe').isVisible()).toBe(false)
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    expect(width).toBeLessThanOrEqual(360)
    await expectAccessible(page)
  })
})
