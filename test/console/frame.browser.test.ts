import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { CONSOLE_POLICY } from '../../src/admin/console/files.ts'
import { HOUSE } from '../house/tree.ts'
import {
  axeViolations,
  CHROMIUM,
  closeConsoles,
  launchBrowser,
  logInTo,
  openConsole,
  serveFiles,
} from '../support/console/browser.ts'
import {
  ADMIN_NAME,
  type ConsoleProduct,
  PASSWORD,
  startConsoleProduct,
} from '../support/console/console-product.ts'
import { useFolder } from '../support/opened.ts'

const folder = useFolder()
let world: ConsoleProduct
let browser: Browser

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  world = await startConsoleProduct({
    charges: false,
    environment: { TOLLGATE_RATING_TIME_ZONE: 'Asia/Tokyo' },
  })
  browser = await launchBrowser()
  const { buildConsole } = await import(pathToFileURL(join(HOUSE, 'scripts/console.mjs')).href)
  const main = join(HOUSE, 'packages/console/test/support/form-main.tsx')
  await buildConsole({ folder, main })
})
afterEach(closeConsoles)
afterAll(async () => {
  await browser?.close()
  await world?.close()
})

async function visitPage(options: Parameters<typeof openConsole>[2] = {}) {
  const visit = await openConsole(browser, world.url, options)
  await logInTo(visit.page, ADMIN_NAME, PASSWORD)
  await visit.page.getByText(/Redis/).first().waitFor()
  return visit
}

/** The page with a form that the console itself does not have. */
async function visitForm() {
  const visit = await visitPage()
  await serveFiles(visit.page, folder, { 'content-security-policy': CONSOLE_POLICY })
  await visit.page.goto(`${world.url}#/form`)
  await visit.page.reload()
  await visit.page.getByRole('heading', { name: 'Form' }).waitFor()
  return visit
}

const stored = (name: string) => world.catalog.prepaidincludes.countDocuments({ name } as object)

async function fillForm(page: Page, values: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(values))
    await page.getByLabel(label, { exact: true }).fill(value)
}

describe.skipIf(CHROMIUM === undefined)('a form', () => {
  it('keeps its fields when the session ends, and is saved once after the login', async () => {
    const visit = await visitForm()
    const { page } = visit
    await fillForm(page, { Name: 'KEPT', Number: '7', Priority: '3' })
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog', { name: 'Log in' }).waitFor()
    expect(await axeViolations(page)).toEqual([])
    await logInTo(page, ADMIN_NAME, PASSWORD)
    await expect.poll(() => page.title()).toBe('saved')
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('KEPT')
    expect(await stored('KEPT')).toBe(1)
    expect(visit.faults).toEqual([])
  })

  it('shows an error of the API at its field, focuses it and keeps the rest', async () => {
    const visit = await visitForm()
    const { page } = visit
    await fillForm(page, { Name: 'WRONG', Number: '8' })
    await page.keyboard.press('Control+Enter')
    const field = page.getByLabel('Priority')
    await expect.poll(() => field.getAttribute('aria-invalid')).toBe('true')
    await expect.poll(() => field.evaluate((each) => each === document.activeElement)).toBe(true)
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('WRONG')
    expect(await axeViolations(page)).toEqual([])
    await fillForm(page, { Priority: '4' })
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => stored('WRONG')).toBe(1)
  })

  it('stays while the server does not answer, and can be saved afterwards', async () => {
    const visit = await visitForm()
    const { page } = visit
    await fillForm(page, { Name: 'OFFLINE', Number: '9', Priority: '3' })
    await page.context().setOffline(true)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(/The server does not answer\. The console/).waitFor()
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('OFFLINE')
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => stored('OFFLINE')).toBe(1)
  })
})

describe.skipIf(CHROMIUM === undefined)('the keyboard alone', () => {
  it('reaches everything: skip link first, then the menu, search and tools', async () => {
    const visit = await visitPage()
    const { page } = visit
    await page.reload()
    await page.getByText(/Redis/).first().waitFor()
    const names: string[] = []
    for (let tabs = 0; tabs < 22; tabs += 1) {
      await page.keyboard.press('Tab')
      names.push(
        await page.evaluate(() => {
          const { activeElement: at } = document
          return at?.getAttribute('aria-label') ?? at?.textContent ?? ''
        }),
      )
    }
    expect(names.slice(0, 4)).toEqual(['Skip to the content', 'Tollgate', 'Overview', 'Catalogue'])
    expect(names.slice(15, 17)).toEqual(['Access', 'Customer: number, phone, name or e-mail'])
    expect(names).toEqual(expect.arrayContaining(['Calls', 'Keys', 'Log out']))
  })

  it('lists its shortcuts by ?, which can be switched off', async () => {
    const visit = await visitPage()
    const { page } = visit
    await page.keyboard.press('?')
    const dialog = page.getByRole('dialog', { name: 'Keys' })
    await dialog.waitFor()
    expect(await dialog.getByRole('term').allTextContents()).toEqual(
      expect.arrayContaining(['/', 'Ctrlk', 'go', 'z', 'x', '?', '.']),
    )
    expect(await axeViolations(page)).toEqual([])
    await dialog.getByRole('checkbox').press('Space')
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    expect(await dialog.count()).toBe(0)
    await page.keyboard.press('Control+k')
    await expect.poll(() => page.evaluate(() => document.activeElement?.role)).toBe('combobox')
  })
})

describe.skipIf(CHROMIUM === undefined)('the frame', () => {
  it('opens and closes the calls by x, beside a page that stays in use', async () => {
    const { page } = await visitPage()
    await page.keyboard.press('x')
    const drawer = page.getByRole('dialog', { name: 'Calls of this page' })
    await drawer.waitFor()
    expect(await axeViolations(page)).toEqual([])
    await page.keyboard.press('g')
    await page.keyboard.press('s')
    await page.getByRole('heading', { name: 'Sessions and peers' }).waitFor()
    expect(await drawer.count()).toBe(1)
    await page.keyboard.press('x')
    await drawer.waitFor({ state: 'detached' })
    await page.keyboard.press('x')
    await drawer.waitFor()
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
  })

  it('names a test clock with its time, and the pages that do not follow it', async () => {
    const { page } = await visitPage()
    const shown = page.getByText(/^Test clock: /)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await shown.count()).toBe(0)
    await page.route('**/auth/login', async (route) => {
      const response = await route.fetch()
      const answer = await response.json()
      const clock = { now: '2031-04-01T05:45:00.000Z', ahead_ms: 1, test: true }
      await route.fulfill({ json: { ...answer, details: { ...answer.details, clock } } })
    })
    await page.reload()
    await shown.waitFor()
    expect(await shown.textContent()).toBe('Test clock: 1 Apr 2031, 14:45')
    await page.getByText('in real time, not in that of the test clock').waitFor()
    expect(await axeViolations(page)).toEqual([])
  })
})

describe.skipIf(CHROMIUM === undefined)('the search', () => {
  it('says which fields it has searched if nothing is found', async () => {
    const visit = await visitPage()
    const { page } = visit
    await page.keyboard.press('/')
    await page.keyboard.type('+44 7700 900-123')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing found. Searched: msisdn, imsi.').waitFor()
    expect(await axeViolations(page)).toEqual([])
  })
})

describe.skipIf(CHROMIUM === undefined)('texts', () => {
  it('are German for a reader who prefers it, also after a reload', async () => {
    const visit = await openConsole(browser, world.url, { locale: 'de-DE' })
    const { page } = visit
    await page.getByRole('dialog', { name: 'Anmelden' }).waitFor()
    expect(await page.locator('html').getAttribute('lang')).toBe('de')
    await page.getByLabel('Benutzername').fill(ADMIN_NAME)
    await page.getByLabel('Passwort').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Überblick' }).waitFor()
    expect(await axeViolations(page)).toEqual([])
    await page.getByLabel('Sprache').selectOption('en')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(visit.faults).toEqual([])
  })

  it('have times in the zone of the node, UTC or the browser, by one key', async () => {
    const visit = await visitPage({ timezoneId: 'America/Lima' })
    const { page } = visit
    await page.getByRole('button', { name: 'Node: Asia/Tokyo' }).waitFor()
    await page.keyboard.press('z')
    await page.getByRole('button', { name: 'UTC' }).waitFor()
    await page.keyboard.press('z')
    await page.getByRole('button', { name: 'Browser: America/Lima' }).waitFor()
  })

  it('show exact numbers of any length', async () => {
    const visit = await visitForm()
    const shown = await visit.page.locator('output').textContent()
    expect(shown).toBe('12,345,678,901,234,567,890.000000000001')
  })
})

describe.skipIf(CHROMIUM === undefined)('a page', () => {
  const openSessions = (page: Page) =>
    page.getByRole('link', { name: 'Sessions and peers' }).click()

  it('of another version of the console asks for a reload', async () => {
    const { page } = await visitPage()
    await page.route('**/console/sessions-*.js', (route) => route.fulfill({ status: 404 }))
    await openSessions(page)
    await page.getByRole('heading', { level: 1, name: /Reload/ }).waitFor()
  })

  it('shows an answer that is not the one of the API, and reads again', async () => {
    const { page } = await visitPage()
    const path = '**/api/sessions?*'
    await page.route(path, (route) => route.fulfill({ status: 200, body: '<html>proxy</html>' }))
    await openSessions(page)
    await page.getByText('The answer is not JSON').waitFor()
    expect(await axeViolations(page)).toEqual([])
    await page.unroute(path)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('No session is open.').waitFor()
  })

  it('shows the outage of a store with its code, after it has tried again', async () => {
    const { page } = await visitPage()
    const path = '**/api/sessions?*'
    let calls = 0
    const body = JSON.stringify({ status: 0, code: 503, message: 'Redis is unavailable' })
    await page.route(path, (route) => {
      calls += 1
      return route.fulfill({ status: 503, contentType: 'application/json', body })
    })
    await openSessions(page)
    await page.getByText('Redis is unavailable').waitFor()
    expect(calls).toBe(3)
  })

  it('needs no correct clock in the browser', async () => {
    const wrong = 'const { now } = Date; Date.now = () => now() - 9e8'
    const { page } = await visitPage({ initScript: wrong })
    await page.getByText(/^live · [0-3] secs? ago/).waitFor()
    await openSessions(page)
    await page.getByText(/^[0-3] secs? ago/).waitFor()
  })
})

it.skipIf(CHROMIUM === undefined)('a page at 200 % has no sideways scroll', async () => {
  // A window of 1280 pixels at this zoom.
  const { page } = await visitPage({ viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 })
  await page.locator('.canvas canvas').first().waitFor()
  const width = await page.evaluate(() => document.documentElement.scrollWidth)
  expect(width).toBeLessThanOrEqual(640)
})

describe.skipIf(CHROMIUM === undefined)('a screen of 360 pixels', () => {
  it.each(['en-GB', 'de-DE'])('has no sideways scroll in %s', async (locale) => {
    const visit = await openConsole(browser, world.url, {
      viewport: { width: 360, height: 740 },
      hasTouch: true,
      locale,
    })
    const { page } = visit
    const width = () => page.evaluate(() => document.documentElement.scrollWidth)
    await page.getByRole('dialog').waitFor()
    expect(await width()).toBeLessThanOrEqual(360)
    await page.locator('input[name=username]').fill(ADMIN_NAME)
    await page.locator('input[name=password]').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.locator('.canvas canvas').first().waitFor()
    expect(await width()).toBeLessThanOrEqual(360)
  })
})
