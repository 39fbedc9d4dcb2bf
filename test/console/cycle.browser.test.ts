/** The page of billing cycles in a browser, as an operator uses it. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { useBilling } from '../support/console/billing-scene.ts'
import { CHROMIUM } from '../support/console/browser.ts'
import { READER_NAME } from '../support/console/console-product.ts'
import { expectAccessible, useVisits } from '../support/console/visits.ts'

const visits = useVisits()
const billing = useBilling(visits)

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const setPlan = (plan: string) =>
  visits
    .scene()
    .catalog.subscribers.updateMany({ sid: billing().sid } as never, { $set: { plan } } as never)
const statusOf = async (stamp: string) => {
  const { details } = await visits.scene().api('billrun/cycle', { stamp })
  return (details as Record<string, unknown>)['cycle_status']
}

describe.skipIf(CHROMIUM === undefined)('a billing cycle', () => {
  it('is computed, its failed account decided on, previewed and confirmed', async () => {
    const { key, aid, sid } = billing()
    await setPlan('GONE')
    const page = await visits.visit({ hash: '#/cycle' })
    await page.getByRole('link', { name: key }).click()
    await button(page, 'Run').click()
    await page.getByText('2 of 2 accounts, 100 %').waitFor()
    await page.getByText('computed, to be confirmed').first().waitFor()
    const failed = page.getByRole('group', { name: 'Failed accounts' })
    const row = failed.getByRole('row', { name: String(aid) })
    await row.getByText('GONE').waitFor()
    await expectAccessible(page)
    await row.getByRole('button', { name: `Leave out… account ${aid}` }).click()
    await button(page, 'Cancel').click()
    await setPlan('FLAT')
    await row.getByRole('button', { name: `Compute again: account ${aid}` }).click()
    await page.getByText('1 with an invoice, 0 failed again.').first().waitFor()
    await page.getByText('No account has failed.').waitFor()

    await page.getByRole('link', { name: 'Preview' }).click()
    await page.getByLabel('Supposed revisions (JSON)').fill('{"subscribers": [')
    await button(page, 'Compute').click()
    await page.getByText('This is not JSON').first().waitFor()
    const ended = { subscribers: [{ sid, to: '2026-02-01' }] }
    await page.getByLabel('Supposed revisions (JSON)').fill(JSON.stringify(ended))
    await page.getByLabel('Account (all if empty)').fill(String(aid))
    await button(page, 'Compute').click()
    const changed = page.getByRole('group', { name: 'What differs' })
    await changed.getByRole('row', { name: /Invoice after tax 30.00/ }).waitFor()
    await changed.getByRole('row', { name: /FLAT.*30.00 – -30.00/ }).waitFor()
    expect(page.url()).toContain(`aid=${aid}`)
    await expectAccessible(page)

    await button(page, 'Confirm…').click()
    const dialog = page.getByRole('dialog', { name: `Confirm cycle ${key}` })
    await dialog.getByText('cannot be changed any more').waitFor()
    expect(await dialog.getByRole('definition').first().textContent()).toBe('2')
    expect(await dialog.getByText('50.00').count()).toBe(2)
    const confirm = dialog.getByRole('button', { name: 'Confirm invoices' })
    expect(await confirm.getAttribute('aria-disabled')).toBe('true')
    await dialog.getByLabel(`Type ${key} to confirm`).fill(key)
    await page.keyboard.press('Enter')
    expect(await statusOf(key)).toBe('finished')
    await expectAccessible(page)
    await confirm.click()
    const shown = page.getByRole('region', { name: `Cycle ${key}` })
    await shown.getByText('confirmed', { exact: true }).waitFor()
    expect(await statusOf(key)).toBe('confirmed')
    await page.goto(`${visits.scene().url}#/catalogue/plans/FLAT`)
    // Its price goes on after the cycle, but began before.
    await button(page, 'Edit').waitFor()
    expect(await button(page, 'Edit').getAttribute('aria-disabled')).toBe('false')
    const begin = button(page, 'Move begin…')
    expect(await begin.getAttribute('aria-disabled')).toBe('true')
    expect(await begin.getAttribute('title')).toContain(
      'began before the end of the last confirmed',
    )
  })

  it('is run, run again and reset by keyboard alone, and a reader may only look', async () => {
    const { previous } = billing()
    const page = await visits.visit({ hash: '#/overview' })
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('b')
    const cycles = page.getByRole('group', { name: 'Cycles' })
    await cycles.getByRole('row', { name: previous }).waitFor()
    await cycles.focus()
    while (
      !(await cycles.getByRole('row', { name: previous }).evaluate((row) => row.matches(':focus')))
    ) {
      await page.keyboard.press('j')
    }
    await page.keyboard.press('Enter')
    await button(page, 'Run').press('Enter')
    await button(page, 'Run again…').press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.insertText(previous)
    await page.keyboard.press('Control+Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expect.poll(() => statusOf(previous), { timeout: 60_000 }).toBe('finished')
    await button(page, 'Reset…').press('Enter')
    await page.getByRole('dialog', { name: `Reset cycle ${previous}` }).waitFor()
    await page.keyboard.insertText(previous)
    await page.keyboard.press('Control+Enter')
    await page.getByText('has invoices, to be run again').first().waitFor()
    expect(await statusOf(previous)).toBe('to_rerun')

    const narrow = { width: 360, height: 740 }
    const reader = await visits.visit({
      user: READER_NAME,
      hash: `#/cycle?key=${previous}&tab=preview`,
      viewport: narrow,
    })
    const confirm = button(reader, 'Confirm…')
    await confirm.waitFor()
    expect(await confirm.getAttribute('aria-disabled')).toBe('true')
    await button(reader, 'Compute').click()
    await reader.getByText('Compared with the invoices of').waitFor()
    const width = await reader.evaluate(() => document.documentElement.scrollWidth)
    expect(width).toBeLessThanOrEqual(360)
    await expectAccessible(reader)
  })
})
