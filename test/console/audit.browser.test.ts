/** The page of the audit in a browser, as an administrator uses it. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { CHROMIUM } from '../support/console/browser.ts'
import { ADMIN_NAME, READER_NAME } from '../support/console/console-product.ts'
import { expectAccessible, useVisits } from '../support/console/visits.ts'

const visits = useVisits()

const entries = (page: Page) => page.getByRole('region', { name: 'Records, newest first' })
const records = (page: Page) => entries(page).getByRole('listitem')

describe.skipIf(CHROMIUM === undefined)('the audit', () => {
  it('is searched by each field, and leads to what was changed', async () => {
    const { sid } = visits.scene()
    const page = await visits.visit({ hash: '#/audit' })
    await records(page).first().waitFor()
    await page.getByLabel('Collection').selectOption('subscribers')
    await page.getByLabel('Key').fill(String(sid))
    await page.getByLabel('User or client').fill(ADMIN_NAME)
    await page.getByLabel('Action').fill('closeandnew')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.waitForURL(
      /collection=subscribers&key=\d+&user=admin%40example.org&type=closeandnew/,
    )
    await expect.poll(() => records(page).count()).toBe(1)
    const record = records(page).first()
    expect(await record.getByRole('row', { name: /^plan / }).textContent()).toContain('SILVERGOLD')
    await expectAccessible(page)
    await record.getByRole('link').click()
    await page.waitForURL(new RegExp(`#/customer/sid/${sid}$`))
    await page.goBack()
    await page.getByLabel('From').fill('2099-01-01')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByText('No changes are recorded.').waitFor()
    await page.getByRole('button', { name: 'Show all' }).click()
    const rate = records(page).filter({ hasText: 'rates CALL: create' })
    await rate.getByRole('link').click()
    await page.waitForURL(/#\/catalogue\/rates\/CALL$/)
  })

  it('refuses an action without a field that bounds the search', async () => {
    const page = await visits.visit({ hash: '#/audit' })
    await page.getByLabel('Action').fill('create')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByText('An action alone is too slow').waitFor()
    expect(await page.getByLabel('Action').getAttribute('aria-invalid')).toBe('true')
    expect(page.url()).not.toContain('type=')
    await expectAccessible(page)
  })

  it('is read page by page without a record twice or left out, by keyboard alone', async () => {
    const { catalog } = visits.scene()
    // One second has more records than a page.
    const made = Array.from({ length: 230 }, (_, index) => ({
      ...{ source: 'audit', collection: 'plans', type: 'update', key: 'PAGED', old: null },
      urt: new Date(
        Date.parse('2026-05-05T10:00:00.000Z') + Math.floor(index / 150) * 1000 + index,
      ),
      user: { _id: '', name: 'paging@example.org', api: false, by: 'session' },
      new: { number: index },
      stamp: `paged-${index}`,
      ip: '',
    }))
    await catalog.audit.insertMany(made as never)
    const page = await visits.visit({ hash: '#/audit' })
    await records(page).first().waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('a')
    await page.getByLabel('Key').focus()
    await page.keyboard.insertText('PAGED')
    await page.keyboard.press('Enter')
    const numbers: string[] = []
    for (const count of [100, 100, 30]) {
      const before = numbers.at(-1) ?? 'none'
      const firstNumber = () => entries(page).locator('td').nth(1).textContent()
      await expect.poll(() => records(page).count()).toBe(count)
      await expect.poll(firstNumber).not.toBe(numbers.at(-100) ?? before)
      numbers.push(...(await entries(page).locator('td:nth-child(3)').allTextContents()))
      await page.keyboard.press('n')
    }
    expect(numbers.map(Number)).toEqual(Array.from({ length: 230 }, (_, index) => 229 - index))
    await page.keyboard.press('p')
    await expect.poll(() => records(page).count()).toBe(100)
  })

  it('is refused without the role', async () => {
    const page = await visits.visit({ user: READER_NAME, hash: '#/audit' })
    await page.getByText('Not permitted').waitFor()
    await expectAccessible(page)
  })
})
