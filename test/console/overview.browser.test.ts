/** Login and overview in a browser. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  axeViolations,
  CHROMIUM,
  closeConsoles,
  launchBrowser,
  logInTo,
  openConsole,
} from '../support/console/browser.ts'
import {
  ADMIN_NAME,
  type ConsoleProduct,
  PASSWORD,
  startConsoleProduct,
} from '../support/console/console-product.ts'

let world: ConsoleProduct
let browser: Browser

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  world = await startConsoleProduct()
  browser = await launchBrowser()
})
afterEach(closeConsoles)
afterAll(async () => {
  await browser?.close()
  await world?.close()
})

/** A logged-in visitor who sees figures. */
async function visitOverview(options: Parameters<typeof openConsole>[2] = {}) {
  const visit = await openConsole(browser, world.url, options)
  await logInTo(visit.page, ADMIN_NAME, PASSWORD)
  await visit.page.getByText(/Redis ok/).waitFor()
  return visit
}

/** Time of the newest sample of the node. */
async function newestSampleMs(page: Page): Promise<number> {
  const response = await page.request.get(`${world.url}api/live/history`)
  return (await response.json()).details.to
}

describe.skipIf(CHROMIUM === undefined)('the overview', () => {
  it('shows figures after two fields and Enter, in at most 12 requests and 75 kB', async () => {
    const visit = await openConsole(browser, world.url)
    const { page } = visit
    await page.getByLabel('User name').fill(ADMIN_NAME)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByText(/Redis ok/).waitFor()
    await page.locator('.canvas canvas').first().waitFor()
    await page.getByText(/^live ·/).waitFor()
    const files = visit.requests.filter(({ path }) => path === '/' || path.startsWith('/console/'))
    expect(files.map(({ path }) => path)).toContain('/')
    // The stream of samples is open.
    expect(visit.requests.length + 1).toBeLessThanOrEqual(12)
    expect(visit.requests.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(75_000)
    expect(visit.faults).toEqual([])
  })

  it.each(['light', 'dark'] as const)('meets WCAG 2.2 AA in %s', async (colorScheme) => {
    const visit = await visitOverview({ colorScheme })
    expect(await axeViolations(visit.page)).toEqual([])
    await visit.page.getByRole('button', { name: 'As a table' }).first().click()
    await visit.page.keyboard.press('x')
    await visit.page.getByRole('dialog', { name: 'Calls of this page' }).waitFor()
    expect(await axeViolations(visit.page)).toEqual([])
    expect(visit.faults).toEqual([])
  })

  it('shows the values of a chart as a table of the last minute', async () => {
    const visit = await visitOverview()
    const chart = visit.page.getByRole('region', { name: 'Requests by outcome', exact: true })
    await expect
      .poll(() => chart.getByRole('img').getAttribute('aria-label'))
      .toMatch(/granted last/)
    await chart.getByRole('button', { name: 'As a table' }).click()
    const head = chart.getByRole('columnheader')
    expect(await head.allTextContents()).toEqual([
      'Time (UTC)',
      ...['granted', 'denied', 'failed', 'refused'],
    ])
    await expect.poll(() => chart.getByRole('row').count()).toBeGreaterThan(2)
  })

  it('stays as it is while it is paused, by the key . too', async () => {
    const visit = await visitOverview()
    const { page } = visit
    const chart = page.getByRole('region', { name: 'Open sessions', exact: true })
    const rows = chart.getByRole('row')
    await chart.getByRole('button').click()
    await rows.nth(1).waitFor()
    await page.keyboard.press('.')
    await page.getByText('paused', { exact: true }).waitFor()
    const first = await rows.nth(1).textContent()
    const begin = await newestSampleMs(page)
    await expect.poll(() => newestSampleMs(page)).toBeGreaterThan(begin + 1_000)
    expect(await rows.nth(1).textContent()).toBe(first)
    await page.keyboard.press('.')
    await expect.poll(() => rows.nth(1).textContent()).not.toBe(first)
  })
})

describe.skipIf(CHROMIUM === undefined)('eight tabs of one session', () => {
  it('all show figures', async () => {
    const { page, faults } = await visitOverview()
    for (let tab = 2; tab <= 8; tab += 1) {
      const other = await page.context().newPage()
      await other.goto(world.url)
      await other.getByText(/^(?:live|every 2 s) ·/).waitFor()
      await other.getByText(/Redis ok/).waitFor()
    }
    expect(faults).toEqual([])
  })
})

describe.skipIf(CHROMIUM === undefined)('a role that is taken away', () => {
  it('ends the stream, and the page says which roles are needed', async () => {
    const users = world.catalog.users
    const { page } = await visitOverview()
    await page.getByText(/^live ·/).waitFor()
    await users.updateOne({ username: ADMIN_NAME }, { $set: { roles: [] }, $inc: { rev: 1 } })
    await page.getByText('Not permitted').first().waitFor()
    await users.updateOne(
      { username: ADMIN_NAME },
      { $set: { roles: ['admin'] }, $inc: { rev: 1 } },
    )
    await page.reload()
    await page.getByText(/^live ·/).waitFor()
  })
})

describe.skipIf(CHROMIUM === undefined)('while a part is away, the overview', () => {
  it('says so of Redis, stays usable, and recovers without a reload', async () => {
    const visit = await visitOverview()
    const { page } = visit
    await world.product.kill9('redis')
    await page.getByText('Redis unavailable').waitFor()
    await page.locator('.alarms').getByText('Redis does not serve the node').waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await world.product.start('redis')
    await page.getByText('Redis ok').waitFor()
    expect(visit.faults).toEqual([])
  })

  it('says so of MongoDB', async () => {
    const visit = await visitOverview()
    await world.product.kill9('mongo')
    await visit.page.getByText('MongoDB unavailable').waitFor()
    expect(await axeViolations(visit.page)).toEqual([])
    await world.product.start('mongo')
    await visit.page.getByText('MongoDB ok').waitFor()
  })

  it('marks its figures as old if the node itself is away', async () => {
    const visit = await visitOverview()
    const { page } = visit
    // The charts are loaded: they come from the node.
    await page.locator('.canvas canvas').first().waitFor()
    await world.product.kill9('admin')
    await page.getByText(/The server does not answer/).waitFor()
    await page.getByText(/^no data for/).waitFor()
    expect(await page.locator('.overview.stale').count()).toBe(1)
    await world.product.start('admin')
    await page.getByText(/^live ·/).waitFor()
    expect(await page.getByText(/The server does not answer/).count()).toBe(0)
    expect(visit.faults).toEqual([])
  })
})
