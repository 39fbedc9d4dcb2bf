/** Visits of the console in one file of tests: each is logged in, and must end without faults. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import {
  axeViolations,
  CHROMIUM,
  type ConsoleVisit,
  closeConsoles,
  launchBrowser,
  logInTo,
  openConsole,
  type VisitOptions,
} from './browser.ts'
import { ADMIN_NAME, PASSWORD } from './console-product.ts'
import { type CustomerScene, startCustomerScene } from './customer-scene.ts'

/** Starting the product takes minutes on a busy machine. */
export const SETUP_MS_MAX = 900_000

export interface Visits {
  scene(): CustomerScene
  /** Opens the page of the customer, or the one of `hash`. */
  visit(options?: VisitOptions & { user?: string; hash?: string }): Promise<Page>
}

/** Starts the scene and the browser for the tests of a file; neither without a browser. */
export function useVisits(executable = CHROMIUM): Visits {
  let scene: CustomerScene | undefined
  let browser: Browser | undefined
  let visits: ConsoleVisit[] = []
  beforeAll(async () => {
    if (executable === undefined) return
    scene = await startCustomerScene()
    browser = await launchBrowser(executable)
  }, SETUP_MS_MAX)
  afterAll(async () => {
    await browser?.close()
    await scene?.close()
  })
  afterEach(async () => {
    const faults = visits.flatMap((visit) => visit.faults)
    await closeConsoles()
    visits = []
    expect(faults).toEqual([])
  })
  return {
    scene() {
      if (scene === undefined) throw new Error('the scene has not started')
      return scene
    },
    async visit({ user = ADMIN_NAME, hash, ...options } = {}) {
      if (browser === undefined || scene === undefined) throw new Error('there is no browser')
      const address = hash ?? `#/customer/sid/${scene.sid}`
      const opened = await openConsole(browser, `${scene.url}${address}`, options)
      visits.push(opened)
      await logInTo(opened.page, user, PASSWORD)
      return opened.page
    },
  }
}

/** No violation, in both colour schemes. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect(await axeViolations(page)).toEqual([])
  }
}
