/// <reference path="./page.d.ts" />
/** Pages of the console in the Chromium of the machine. */
import { join } from 'node:path'
import axe, { type RunOnly } from 'axe-core'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core'
import { CHROMIUM, CHROMIUM_WITH_PDF } from '../tools.ts'

export { CHROMIUM, CHROMIUM_WITH_PDF }

export function launchBrowser(executablePath = CHROMIUM): Promise<Browser> {
  return chromium.launch({
    ...(executablePath !== undefined && { executablePath }),
    // No process for graphics, which are drawn in software anyway.
    args: ['--no-sandbox', '--in-process-gpu', '--disable-gpu'],
  })
}

export interface ConsoleVisit {
  readonly page: Page
  /** Violations of the content security policy, errors of the console and exceptions. */
  readonly faults: readonly string[]
  readonly requests: readonly { readonly path: string; readonly bytes: number }[]
}

export type VisitOptions = Pick<
  BrowserContextOptions,
  | 'colorScheme'
  | 'deviceScaleFactor'
  | 'viewport'
  | 'locale'
  | 'hasTouch'
  | 'permissions'
  | 'timezoneId'
  | 'storageState'
> & {
  /** Runs in each document before its own scripts. */
  readonly initScript?: string
}

/** On a machine that others use too. */
const WAIT_MS_MAX = 60_000

/** A page in a context of its own: no cookies, an empty cache. */
export async function openConsole(
  browser: Browser,
  url: string,
  { initScript, ...options }: VisitOptions = {},
): Promise<ConsoleVisit> {
  const context = await browser.newContext({ locale: 'en-GB', ...options })
  contexts.add(context)
  if (initScript !== undefined) await context.addInitScript(initScript)
  context.setDefaultTimeout(WAIT_MS_MAX)
  const page = await context.newPage()
  const faults: string[] = []
  const requests: { path: string; bytes: number }[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' && !isExpected(message.text())) faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('requestfinished', async (request) => {
    // Null if the page is closed meanwhile.
    const sizes = await request.sizes().catch(() => null)
    const bytes = (sizes?.responseBodySize ?? 0) + (sizes?.responseHeadersSize ?? 0)
    requests.push({ path: new URL(request.url()).pathname, bytes })
  })
  await page.goto(url)
  return { page, faults, requests }
}

const contexts = new Set<BrowserContext>()

/** After each test, whether it has failed or not: open pages draw charts. */
export async function closeConsoles(): Promise<void> {
  for (const context of contexts) await context.close()
  contexts.clear()
}

/** Chromium reports each failed request; some tests are about outages, conflicts or roles. */
function isExpected(text: string): boolean {
  const failed = /^Failed to load resource: (.*)/.exec(text)?.[1] ?? ''
  return /^net::ERR|^the server responded with a status of (?:403|409|503)/.test(failed)
}

const ALL: RunOnly = {
  type: 'tag',
  values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
}

/** The rules that read colours. */
export const OF_COLOURS: RunOnly = {
  type: 'rule',
  values: ['color-contrast', 'link-in-text-block'],
}

/** Violations of WCAG 2.2 AA on the page as it is, one line each. */
export async function axeViolations(page: Page, runOnly = ALL): Promise<readonly string[]> {
  // Once for each document: it is half a megabyte.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source)
  return page.evaluate(
    async (options) => {
      const { violations } = await window.axe.run(document, options)
      return violations.flatMap(({ id, nodes }) =>
        nodes.map((node) => `${id}: ${node.html.slice(0, 120)} ${node.failureSummary ?? ''}`),
      )
    },
    { runOnly, resultTypes: ['violations' as const] },
  )
}

/** Logs in through the dialog, as a person does. */
export async function logInTo(page: Page, name: string, password: string): Promise<void> {
  // The page behind it may have such fields too.
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('User name').fill(name)
  await dialog.getByLabel('Password', { exact: true }).fill(password)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

/** Replaces the files of the console by those in a folder; calls still reach the node. */
export async function serveFiles(page: Page, folder: string, headers: Record<string, string>) {
  await page.route(
    (url) => url.pathname === '/' || url.pathname.startsWith('/console/'),
    (route) => {
      const name = new URL(route.request().url()).pathname.replace('/console/', '').slice(-200)
      return route.fulfill({ path: join(folder, name === '/' ? 'index.html' : name), headers })
    },
  )
}
