/** The page of settings in a browser, as an administrator uses it. */
import { describe, expect, it } from 'vitest'
import { CHROMIUM } from '../support/console/browser.ts'
import { ADMIN_NAME, READER_NAME } from '../support/console/console-product.ts'
import { expectAccessible, useVisits } from '../support/console/visits.ts'

const visits = useVisits()

const set = (category: string, data: unknown) =>
  visits.scene().api('api/settings', { action: 'set', category, data })
const stored = async (category: string) => {
  const config = await visits.scene().catalog.config.findOne({ _id: category } as object)
  return (config as { value?: unknown } | null)?.value
}

describe.skipIf(CHROMIUM === undefined)('settings', () => {
  it('are edited by their schema, checked while typing, compared and restored', async () => {
    await set('payments', { collection: { min_debt: 5 } })
    const page = await visits.visit({ hash: '#/settings' })
    await page.getByRole('link', { name: 'payments', exact: true }).click()
    const debt = page.getByLabel('min_debt')
    expect(await debt.inputValue()).toBe('5')
    await debt.fill('-1')
    await page.getByText('must be a number from 0').first().waitFor()
    expect(await debt.getAttribute('aria-invalid')).toBe('true')
    await expectAccessible(page)
    await debt.fill('12.50')
    await page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => stored('payments')).toEqual({ collection: { min_debt: 12.5 } })
    await page.getByRole('link', { name: 'History' }).click()
    const first = page.getByRole('row').filter({ hasText: ADMIN_NAME }).last()
    await first.getByRole('link').click()
    await page.getByRole('row', { name: 'collection.min_debt 5 12.5' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Restore version 1…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Restore version 1 of payments' })
    await dialog.getByRole('button', { name: 'Restore version 1…' }).click()
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(() => stored('payments')).toEqual({ collection: { min_debt: 5 } })
    await page.getByText('There is no difference.').waitFor()
  })

  it('of two operators are merged; what both have changed is asked for', async () => {
    await set('invoices', { language: 'en', footer: 'thanks' })
    const page = await visits.visit({ hash: '#/settings?category=invoices' })
    await page.getByLabel('footer').fill('mine')
    await set('invoices', { language: 'de', footer: 'theirs' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(`${ADMIN_NAME} has saved this revision meanwhile.`).waitFor()
    expect(await stored('invoices')).toEqual({ language: 'de', footer: 'theirs' })
    await page.getByText('language: en → de (stays)').waitFor()
    await expectAccessible(page)
    await page.getByLabel('Yours: mine').check()
    await page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => stored('invoices')).toEqual({ language: 'de', footer: 'mine' })
  })

  it('without a schema are edited as JSON, by keyboard alone; secrets survive', async () => {
    const http = { url: 'https://8.8.8.8/events', secret: 'a secret of sixteen' }
    await set('events', { settings: { http } })
    const before = await stored('events')
    const page = await visits.visit({ hash: '#/overview' })
    await page.getByText(/Redis/).first().waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('t')
    await page.getByRole('link', { name: 'events', exact: true }).focus()
    await page.keyboard.press('Enter')
    const json = page.getByLabel('Value of events as JSON')
    await json.focus()
    expect(await json.inputValue()).not.toContain('secret')
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText('{"settings": {"http": {')
    await page.getByText('This is not JSON').waitFor()
    await page.keyboard.press('Control+a')
    const typed = (digits: string) =>
      `{"settings": {"http": {"url": "${http.url}", "timeout_ms": ${digits}}}}`
    await page.keyboard.insertText(typed('5000.000000000000000001'))
    await page.getByText('has more digits than the server can store').waitFor()
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText(typed('5'))
    await page.getByText('settings.http.timeout_ms').last().waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText(typed('5000'))
    await page.keyboard.press('Control+Enter')
    const secretOf = (value: unknown) =>
      (value as { settings: { http: Record<string, unknown> } }).settings.http
    await expect.poll(async () => secretOf(await stored('events'))['timeout_ms']).toBe(5000)
    expect(secretOf(await stored('events'))['secret']).toEqual(secretOf(before)['secret'])
  })

  it('that are read-only say where they are set; a reader changes nothing', async () => {
    const page = await visits.visit({ user: READER_NAME, hash: '#/settings?category=currency' })
    await page.getByText('set rating.currencyCode in the configuration').waitFor()
    await page.getByRole('link', { name: 'security', exact: true }).click()
    await page.getByText('Not permitted').waitFor()
    await page.getByRole('link', { name: 'payments', exact: true }).click()
    const save = page.getByRole('button', { name: 'Save' })
    expect(await save.getAttribute('aria-disabled')).toBe('true')
    await page.getByText('This needs one of the roles admin; you have: read.').waitFor()
    await expectAccessible(page)
  })
})
