/** The page of rerating in a browser, over usage of a product that charges. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM } from '../support/console/browser.ts'
import { READER_NAME } from '../support/console/console-product.ts'
import { installFileTypes } from '../support/console/file-type-page.ts'
import { expectAccessible, SETUP_MS_MAX, useVisits } from '../support/console/visits.ts'
import { tollgate } from '../support/product/command.ts'
import { waitUntil } from '../support/wait.ts'

const visits = useVisits({ charges: true })

const CDR = {
  file_type: 'CDR',
  type: 'usage',
  parser: { type: 'json' },
  processor: {
    date_field: 'at',
    stamp_fields: 'id',
    default_usaget: 'call',
    default_volume_src: 'used',
  },
}
const MSISDN = '447700900456'
/** Usage that the ledger has just charged is not rerated. */
const AT = new Date(Date.now() - 3_600_000).toISOString()
const FROM = AT.slice(0, 10)
const tier = (from: number, to: number | string, price: number) => ({
  ...{ from, to, interval: 1, price },
})
/** Before: 0.02, then 0.005 a second, and 0.01 beyond a minute. */
const CHEAPER = { call: { BASE: { access: 0.02, rate: [tier(0, 'UNLIMITED', 0.0025)] } } }
const REFUSED = '1 of 2 accounts cannot be rerated'
const postpaid = { aid: 0, sid: 0 }

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
const table = (page: Page, name: string) => page.getByRole('group', { name })
const chargesOf = async (sid: number) => {
  const lines = await visits
    .scene()
    .catalog.lines.find({ sid, usaget: 'call' } as object)
    .toArray()
  return lines.map((line) => String((line as { aprice?: unknown }).aprice)).sort()
}

/** A confirmed invoice of Grace. */
async function addInvoice() {
  const { lines, billrun } = visits.scene().catalog
  const { aid, sid } = postpaid
  const line = (await lines.findOne({ sid, usaget: 'call' } as object)) as { billrun?: string }
  const cycle = String(line.billrun)
  const invoice = { aid, billrun_key: cycle, invoice_id: 102, billed: 1 }
  const { insertedId } = await billrun.insertOne(invoice as never)
  return { _id: insertedId, cycle }
}

/** Grace pays afterwards and has two calls; Ada's balance has paid for hers. */
beforeAll(async () => {
  if (CHROMIUM === undefined) return
  const { api, product } = visits.scene()
  const create = async (collection: string, update: object) => {
    const sent = { update: { from: '2026-01-01', ...update } }
    return (await api(`billapi/${collection}/create`, sent))['entity'] as Record<string, number>
  }
  await create('plans', {
    name: 'FLAT',
    connection_type: 'postpaid',
    recurrence: { frequency: 1, start: 1 },
    upfront: false,
    price: [{ from: 0, to: 'UNLIMITED', price: 30 }],
  })
  const person = { firstname: 'Grace', lastname: 'Hopper', address: '2 Navy Yard' }
  const place = { zip_code: '22202', country: 'US', email: 'grace@example.org' }
  const { aid = 0 } = await create('accounts', { ...person, ...place })
  const { sid = 0 } = await create('subscribers', { aid, plan: 'FLAT', ...person, msisdn: MSISDN })
  Object.assign(postpaid, { aid, sid })
  await installFileTypes(visits, [CDR])
  const path = join(product.folder, 'calls.jsonl')
  const records = [60, 100].map((used) =>
    JSON.stringify({ id: `call-${used}`, used, msisdn: MSISDN, at: AT }),
  )
  writeFileSync(path, records.join('\n'))
  const environment = { TOLLGATE_LEDGER_PARTITIONS: '1' }
  const { stdout } = await tollgate(product, ['intake', path, '--file-type', 'CDR'], environment)
  expect(stdout).toContain('2 records, 2 charged')
  await waitUntil('the lines', async () => (await chargesOf(sid)).length === 2)
  const query = { key: 'CALL', effective_date: FROM }
  await api('billapi/rates/update', { query, update: { rates: CHEAPER } })
}, SETUP_MS_MAX)

describe.skipIf(CHROMIUM === undefined)('rerating', () => {
  it('is previewed with all that cannot be rerated, by keyboard alone', async () => {
    const { sid, aid } = postpaid
    const page = await visits.visit({ hash: '#/overview' })
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('n')
    const from = page.getByLabel('From', { exact: true })
    await from.waitFor()
    const { details } = await visits.scene().api('billrun/cycles', {})
    const [current] = details as { start_date: string }[]
    expect(await from.inputValue()).toBe(current?.start_date.slice(0, 10))
    await expectAccessible(page)

    await from.fill('2025-01-01')
    await from.press('Control+Enter')
    await expect.poll(() => from.getAttribute('aria-invalid')).toBe('true')
    await page.locator('.field .error').getByText('must not be before').waitFor()
    await from.fill(FROM)
    await page.getByLabel('Rate', { exact: true }).fill('NONE')
    await page.keyboard.press('Control+Enter')
    await page.getByText('No recorded usage matches.').waitFor()
    expect(await button(page, /^Rerate/).count()).toBe(0)

    await page.getByLabel('Rate', { exact: true }).fill('CALL')
    await page.keyboard.press('Control+Enter')
    await page.locator('.mark.bad', { hasText: REFUSED }).waitFor()
    expect(await page.locator('.mark.good').count()).toBe(0)
    expect(page.url()).toContain('rate=CALL')
    const largest = table(page, 'The largest differences').locator('tbody tr')
    const time = await largest.first().locator('time').textContent()
    expect(await largest.allTextContents()).toEqual([
      `${sid}${time}0.72 → 0.270.72 → 0.27-0.45`,
      `${sid}${time}0.32 → 0.170.32 → 0.17-0.15`,
    ])
    const changed = table(page, 'Accounts that change').locator('tbody tr')
    const { _id, cycle } = await addInvoice()
    expect(await changed.allTextContents()).toEqual([`${aid}${cycle}–22-0.60-0.600.00`])
    const why = 'prepaid balances pay for it, or it is debt'
    const refused = table(page, 'Accounts that cannot be rerated')
    await refused.getByText(`${why} (lines: 1)`).waitFor()
    await table(page, 'Why accounts cannot')
      .getByRole('row', { name: `${why} 1 1` })
      .waitFor()
    await page.keyboard.press('Control+Enter')
    await page.getByText('the next run of the cycle credits 0.60, with tax').waitFor()
    const invoiced = `${aid}${cycle}102 confirmed22-0.60-0.60-0.60`
    expect(await changed.allTextContents()).toEqual([invoiced])
    await visits.scene().catalog.billrun.deleteOne({ _id })
    await expectAccessible(page)
  })

  it('begins when the number of lines is typed, and is applied, by keyboard alone', async () => {
    const { sid, aid } = postpaid
    const page = await visits.visit({ hash: `#/rerate?from=${FROM}&rate=CALL` })
    await button(page, 'Preview').press('Enter')
    const begin = button(page, 'Rerate 2 lines…')
    await page.getByLabel('Plan', { exact: true }).fill('FLAT')
    expect(await begin.getAttribute('aria-disabled')).toBe('true')
    await page.getByText('The selection has been changed: preview it first.').waitFor()
    await page.getByLabel('Plan', { exact: true }).fill('')
    await begin.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Rerate 2 lines' })
    await dialog.getByText('-0.60').first().waitFor()
    await expectAccessible(page)
    await page.keyboard.insertText('2')
    await page.keyboard.press('Control+Enter')
    await page.getByText('The run is done, but accounts could not be rerated.').first().waitFor()
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toBe('Rerating')
    const accounts = table(page, 'Accounts of the last run').locator('tbody tr')
    await expect.poll(() => accounts.count()).toBe(2)
    await accounts
      .filter({ hasText: 'changed' })
      .getByRole('link', { name: String(aid) })
      .waitFor()
    await expect.poll(() => chargesOf(sid)).toEqual(['0.17', '0.27'])
    await expectAccessible(page)
    await page.getByLabel('State').selectOption('refused')
    await page.getByLabel('State').press('Enter')
    await button(page, 'Filter').press('Enter')
    await expect.poll(() => accounts.count()).toBe(1)
    await page.getByRole('link', { name: 'Preview' }).press('Enter')
    await button(page, 'Preview').press('Enter')
    await page.locator('.mark.bad', { hasText: REFUSED }).waitFor()
    expect(await button(page, /^Rerate/).count()).toBe(0)
  })

  it('shows the run to a reader, who can begin none', async () => {
    const narrow = { width: 360, height: 740 }
    const reader = { user: READER_NAME, viewport: narrow }
    const page = await visits.visit({ ...reader, hash: '#/rerate?tab=run&state=applied' })
    await expect
      .poll(() => table(page, 'Accounts of the last run').locator('tbody tr').count())
      .toBe(1)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThan(361)
    await page.getByRole('link', { name: 'Preview' }).click()
    const preview = button(page, 'Preview')
    expect(await preview.getAttribute('aria-disabled')).toBe('true')
    await page.getByText('This needs one of the roles').waitFor()
    expect(await button(page, /^Rerate/).count()).toBe(0)
    await expectAccessible(page)
  })
})
