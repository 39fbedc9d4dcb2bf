/** Visits of the console in one file of tests: each is logged in, and must end without faults. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import {
  axeViolations,
  CHROMIUM,
  type ConsoleVisit,
  closeConsoles,
  launchBrowser,
  OF_COLOURS,
  openConsole,
  type VisitOptions,
} from './browser.ts'
import { ADMIN_NAME } from './console-product.ts'
import { type CustomerScene, logIn, startCustomerScene } from './customer-scene.ts'

/** Starting the product takes minutes on a busy machine. */
export const SETUP_MS_MAX = 900_000

export interface Visits {
  scene(): CustomerScene
  /** Opens the page of the customer, or the one of `hash`. */
  visit(options?: VisitOptions & { user?: string; hash?: string }): Promise<Page>
}

interface VisitsOptions {
  /** Without it nothing starts: the tests are skipped. */
  readonly executable?: string | undefined
  /** Whether the product charges, and Ada has a line. */
  readonly charges?: boolean
}

/** Starts the scene and the browser for the tests of a file. */
export function useVisits({ executable = CHROMIUM, charges = false }: VisitsOptions = {}): Visits {
  const cookies = new Map<string, Promise<string>>()
  let scene: CustomerScene | undefined
  let browser: Browser | undefined
  let visits: ConsoleVisit[] = []
  beforeAll(async () => {
    if (executable === undefined) return
    scene = await startCustomerScene(charges)
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
      const cookie = cookies.get(user) ?? logIn(scene.product.adminUrl, user)
      cookies.set(user, cookie)
      const storageState = stateWith(await cookie)
      const opened = await openConsole(browser, `${scene.url}${address}`, {
        ...options,
        storageState,
      })
      visits.push(opened)
      await opened.page.locator('.tools .user').waitFor()
      return opened.page
    },
  }
}

/** A context that has the cookie of a session; the login itself is tested on the overview. */
function stateWith(cookie: string): Exclude<VisitOptions['storageState'], string | undefined> {
  const [name = '', value = ''] = cookie.split('=')
  const address = { domain: '127.0.0.1', path: '/', expires: -1 }
  const flags = { httpOnly: true, secure: false, sameSite: 'Lax' } as const
  return { cookies: [{ name, value, ...address, ...flags }], origins: [] }
}

/** No violation, in both colour schemes, which differ in nothing but colours. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' })
  expect(await axeViolations(page)).toEqual([])
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await axeViolations(page, OF_COLOURS)).toEqual([])
}
