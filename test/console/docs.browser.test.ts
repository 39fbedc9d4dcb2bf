/** The page of the API in a browser, as a developer uses it; its own product has no callers. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  axeViolations,
  CHROMIUM,
  closeConsoles,
  launchBrowser,
  OF_COLOURS,
  openConsole,
} from '../support/console/browser.ts'
import { type ConsoleProduct, startConsoleProduct } from '../support/console/console-product.ts'

let world: ConsoleProduct
let browser: Browser

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  world = await startConsoleProduct({ charges: false })
  browser = await launchBrowser()
})
afterEach(closeConsoles)
afterAll(async () => {
  await browser?.close()
  await world?.close()
})

const ORIGIN = () => new URL(world.url).origin
/** Cards of equal operations have equal names in Scalar, which no setting changes. */
const RULE_OF_SCALAR = /^landmark-unique:/

/** The page, with its faults and the origins of all requests. `about`: another description. */
async function visitDocs(about?: string) {
  const { page, faults } = await openConsole(browser, 'about:blank')
  const origins = new Set<string>()
  page.on('request', (request) => origins.add(new URL(request.url()).origin))
  if (about !== undefined) {
    await page.route('**/openapi.json', async (route) => {
      const { info, ...others } = await (await route.fetch()).json()
      await route.fulfill({ json: { info: { ...info, description: about }, ...others } })
    })
  }
  await page.goto(`${world.url}docs`)
  await page.getByRole('heading', { level: 1, name: 'Tollgate entity API' }).waitFor()
  return { page, faults, origins }
}

const violations = async (page: Page, rules?: Parameters<typeof axeViolations>[1]) =>
  (await axeViolations(page, rules)).filter((each) => !RULE_OF_SCALAR.test(each))

describe.skipIf(CHROMIUM === undefined)('/docs', () => {
  it('finds an operation, shows it and the charging port, and asks no other host', async () => {
    const { page, faults, origins } = await visitDocs()
    await page.keyboard.press('Control+k')
    const search = page.getByRole('dialog', { name: 'Search' })
    await search.getByRole('combobox').fill('/api/credit')
    await search.getByRole('option', { name: /Path: \/api\/credit$/ }).click()
    const operation = page.getByRole('region', { name: 'Credit or charge a subscriber or account' })
    await operation.getByText('Number of the subscriber; 0 for').waitFor()
    await operation.getByText('Id of the operation: repeating it').waitFor()
    await operation.getByText('curl -s').waitFor()
    expect(await violations(page)).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await violations(page, OF_COLOURS)).toEqual([])
    await page.getByRole('button', { name: 'Control plane' }).click()
    await page.getByRole('option', { name: 'Charging' }).click()
    await page.getByRole('heading', { level: 1, name: 'Tollgate charging' }).waitFor()
    await page.setViewportSize({ width: 360, height: 740 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
    expect(faults).toEqual([])
    expect([...origins]).toEqual([ORIGIN()])
  })

  it('runs nothing and styles nothing that is in the documents', async () => {
    const code = 'document.title = 1'
    const texts = [`<script>${code}</script>`, `<img src="x" onerror="${code}">`]
    const { page } = await visitDocs(`${texts.join('\n\n')}\n\n<style>*{}</style>\n\nEnd of it`)
    await page.getByText('End of it').waitFor()
    expect(await page.locator('main :is(script, style, [onerror])').count()).toBe(0)
    expect(await page.title()).toBe('Tollgate API')
  })
})
