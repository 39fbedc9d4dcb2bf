/** The catalogue in a browser: scripts 12, 14 and 15 of an operator who prepares prices. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { CHROMIUM } from '../support/console/browser.ts'
import { READER_NAME } from '../support/console/console-product.ts'
import { expectAccessible, useVisits } from '../support/console/visits.ts'

const visits = useVisits()
type Fields = Record<string, unknown>

const open = (hash: string, user?: string) => visits.visit({ hash, ...(user && { user }) })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const tab = (page: Page, name: string) => page.getByRole('link', { name, exact: true })

async function edit(page: Page): Promise<void> {
  await button(page, 'Edit').waitFor()
  await page.keyboard.press('e')
}

async function createRate(key: string, ...prices: number[]): Promise<void> {
  const bounds = ['60', '120', 'UNLIMITED'].slice(-prices.length)
  const rate = prices.map((price, index) => ({
    from: index === 0 ? 0 : Number(bounds[index - 1]),
    to: bounds[index],
    interval: 1,
    price,
  }))
  const tax = [{ type: 'vat', taxation: 'no' }]
  const rates = { call: { BASE: { access: 0, rate } } }
  const update = { key, from: '2026-01-01', pricing_method: 'tiered', tax, rates }
  await visits.scene().api('billapi/rates/create', { update })
}

async function revisionsOf(key: string): Promise<Fields[]> {
  const body = { query: { key }, sort: { from: 1 } }
  return (await visits.scene().api('billapi/rates/get', body))['details'] as Fields[]
}

function pricesOf(revision: Fields | undefined): unknown[] {
  const { rates } = revision as { rates: { call: { BASE: { rate: Fields[] } } } }
  return rates.call.BASE.rate.map(({ price }) => price)
}

describe.skipIf(CHROMIUM === undefined)('a price that is raised from a date', () => {
  it('begins a new revision; a wrong tier has its message at its cell', async () => {
    await createRate('RAISED', 0.01, 0.02)
    const page = await open('')
    await page.keyboard.press('g')
    await page.keyboard.press('p')
    await tab(page, 'Rates').click()
    await tab(page, 'RAISED').click()
    await button(page, 'Edit').click()
    const price = page.getByLabel('price of tier 2')
    await price.fill('-3')
    const message = page.getByText('must not be negative, is -3', { exact: true })
    await message.waitFor()
    expect(await price.getAttribute('aria-invalid')).toBe('true')
    await page.getByLabel('From, 00:00 UTC').fill('2027-04-01')
    await button(page, 'Save').click()
    await page.waitForFunction(
      () => document.activeElement?.getAttribute('aria-label') === 'price of tier 2',
    )
    expect(await price.inputValue()).toBe('-3')
    expect(await revisionsOf('RAISED')).toHaveLength(1)
    await expectAccessible(page)
    await price.fill('0.03')
    await message.waitFor({ state: 'detached' })
    await button(page, 'Save').click()
    await page.getByRole('button', { name: /^1 Apr 2027|^Apr 1, 2027/ }).waitFor()
    const revisions = await revisionsOf('RAISED')
    expect(revisions.map(pricesOf)).toEqual([
      [0.01, 0.02],
      [0.01, 0.03],
    ])
    expect(String(revisions[1]?.['from'])).toContain('2027-04-01')
  })

  it('is drawn while it is typed, with the total of the API at the cursor', async () => {
    await createRate('DRAWN', 0.01, 0.02)
    const page = await open('#/catalogue/rates/DRAWN')
    await edit(page)
    const steps = page.locator('.plot-steps')
    const before = await steps.getAttribute('d')
    await page.getByLabel('price of tier 2').fill('0.05')
    expect(await steps.getAttribute('d')).not.toBe(before)
    expect(await page.locator('.plot-before').count()).toBe(1)
    await page.locator('.plot-total').waitFor()
    const plot = page.getByRole('img', { name: /2 tiers/ })
    await plot.focus()
    const said = page.locator('.tier-plot [aria-live]')
    for (let text: string | null = ''; !text?.startsWith('at 121'); ) {
      const before = await said.textContent()
      await page.keyboard.press('ArrowRight')
      await expect.poll(() => said.textContent()).not.toBe(before)
      text = await said.textContent()
    }
    // 120 of the first tier at 0.01, one of the second at 0.05.
    await page.getByText('at 121 · tier 2: 0.05 for each 1 · total 1.25').waitFor()
  })

  it('has axes with values, and a further tier begins where the last one ends', async () => {
    await createRate('TIERED', 0.01, 0.02)
    const page = await open('#/catalogue/rates/TIERED')
    const plot = page.locator('.tier-plot svg')
    await page.locator('.plot-total').waitFor()
    const texts = await plot.locator('text').allTextContents()
    expect(texts).toEqual(expect.arrayContaining(['units of call', 'Price of a unit', 'Total']))
    expect(texts).toEqual(expect.arrayContaining(['150', '0.02', '2']))
    await edit(page)
    await page.getByLabel('to of tier 2').fill('600')
    await button(page, 'Add a tier').click()
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))
    await expect.poll(focused).toBe('from of tier 3')
    expect(await page.getByLabel('to of tier 2').inputValue()).toBe('600')
    expect(await page.getByLabel('from of tier 3').inputValue()).toBe('600')
    expect(await page.getByLabel('to of tier 3').inputValue()).toBe('UNLIMITED')
    expect(await page.locator('small code').first().textContent()).not.toContain('`')
  })

  it('is compared with the revision before it, field by field', async () => {
    await createRate('COMPARED', 0.01, 0.02)
    const update = { from: '2026-06-01', description: 'dearer' }
    const query = { key: 'COMPARED', effective_date: '2026-05-01' }
    await visits.scene().api('billapi/rates/closeandnew', { query, update })
    const page = await open('#/catalogue/rates/COMPARED')
    await tab(page, 'Difference').click()
    const table = page.getByRole('table', { name: /^What changes from/ })
    await table.waitFor()
    expect(await table.locator('tbody tr').allInnerTexts()).toEqual(['description\t—\tdearer'])
    await expectAccessible(page)
  })
})

describe.skipIf(CHROMIUM === undefined)('two operators with one revision', () => {
  it('see whose change it was and what differs, and choose for each field', async () => {
    await createRate('SHARED', 0.01, 0.02)
    const page = await open('#/catalogue/rates/SHARED')
    await edit(page)
    await page.getByLabel('replaces the terms').check()
    await page.getByLabel('price of tier 1').fill('0.5')
    const rate = [
      { from: 0, to: 120, interval: 1, price: 0.7 },
      { from: 120, to: 'UNLIMITED', interval: 1, price: 0.9 },
    ]
    const update = { rates: { call: { BASE: { access: 0, rate } } } }
    const query = { key: 'SHARED', effective_date: '2026-05-01' }
    await visits.scene().api('billapi/rates/update', { query, update })
    await button(page, 'Save').click()
    const conflict = page.getByRole('region', { name: /admin@example.org/ })
    await conflict.waitFor()
    expect(await conflict.textContent()).toContain('rates.call.BASE.rate.1.price')
    expect(await page.getByLabel('price of tier 2').inputValue()).toBe('0.9')
    await expectAccessible(page)
    await conflict.getByLabel('0.5').check()
    await button(page, 'Save').click()
    await button(page, 'Edit').waitFor()
    expect((await revisionsOf('SHARED')).map(pricesOf)).toEqual([[0.5, 0.9]])
  })
})

describe.skipIf(CHROMIUM === undefined)('an entity', () => {
  it('is created, found, ended and read by keyboard alone', async () => {
    const page = await open('#/catalogue/taxes')
    await button(page, 'New…').press('Enter')
    await page.getByLabel('key', { exact: true }).fill('REDUCED')
    await page.getByLabel('description', { exact: true }).fill('Reduced rate')
    await page.getByLabel('rate', { exact: true }).fill('seven')
    await page.getByText(/^must be a number/).waitFor()
    await page.getByLabel('rate', { exact: true }).fill('0.07')
    await page.getByText(/^must be a number/).waitFor({ state: 'detached' })
    await page.keyboard.press('Control+Enter')
    await page.getByRole('heading', { name: 'REDUCED' }).waitFor()
    await tab(page, 'Used by').press('Enter')
    await page.getByText('No plan, service or customer refers to it').waitFor()
    await button(page, 'End…').press('Enter')
    await page.getByLabel('Date, 00:00 UTC').fill('2030-01-01')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('button', { name: /2030/ }).waitFor()
    await expectAccessible(page)
  })

  it('names those who use it', async () => {
    const page = await open('#/catalogue/plans/GOLD?tab=used')
    await page.getByText('1 of subscribers, by plan').waitFor()
    await page.getByRole('link', { name: String(visits.scene().sid) }).click()
    await page.waitForURL(/#\/customer\/sid\//)
  })

  it('is shown to a reader, who is told what is missing to change it', async () => {
    const page = await open('#/catalogue/plans/GOLD', READER_NAME)
    const edit = button(page, 'Edit')
    await edit.waitFor()
    expect(await edit.getAttribute('aria-disabled')).toBe('true')
    await page
      .getByText(/This needs one of the roles write, admin/)
      .first()
      .waitFor()
    await page.keyboard.press('e')
    expect(await page.getByLabel('price of tier 1').count()).toBe(0)
    await expectAccessible(page)
  })
})
