/** Every page with every role: what the API permits is enabled, everything else says why not. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { pathsOf } from '../../src/admin/actions/action.ts'
import { ACTIONS } from '../../src/admin/actions/table.ts'
import { HOUSE } from '../house/tree.ts'
import { CHROMIUM } from '../support/console/browser.ts'
import { addUser } from '../support/console/console-product.ts'
import { type CustomerScene, logIn } from '../support/console/customer-scene.ts'
import { useVisits } from '../support/console/visits.ts'
import { postJson } from '../support/post-json.ts'

const visits = useVisits({ charges: true })
const ROLES = ['read', 'write', 'reports', 'admin', 'none'] as const

/** Addresses of each page of `pages/routes.ts`, by its pattern. */
const ADDRESSES: Readonly<Record<string, (scene: CustomerScene) => readonly string[]>> = {
  overview: () => ['overview'],
  'customer/:of/:id': ({ sid, aid }) => [`customer/sid/${sid}`, `customer/aid/${aid}`],
  sessions: () => ['sessions'],
  'file-types': () => ['file-types'],
  'usage-files': () => ['usage-files', 'usage-files?tab=rejected'],
  rerate: () => ['rerate', 'rerate?tab=run'],
  cycle: () => ['cycle', 'cycle?key=202601'],
  invoices: ({ aid }) => [`invoices?aid=${aid}`],
  payments: ({ aid }) => [`payments?aid=${aid}`],
  reports: () => ['reports'],
  events: () => ['events', 'events?tab=rules'],
  audit: () => ['audit'],
  settings: () => [
    'settings?category=payments',
    'settings?category=payments&tab=history&version=1',
  ],
  access: () => ['access', 'access?tab=clients', 'access?tab=permissions'],
  'catalogue/:collection': () => ['catalogue/plans'],
  'catalogue/:collection/:key': () => ['catalogue/plans/GOLD'],
}

/** A control that needs a permission, as it is shown. */
interface Control {
  readonly action: string
  readonly isDisabled: boolean
  /** The text that describes it. */
  readonly about: string
}

type Grants = Readonly<Record<string, { readonly permitted: boolean }>>

const nameOf = (role: string) => `${role}@roles.example.org`

async function grantsOf(role: string): Promise<{ cookie: string; grants: Grants }> {
  const { product } = visits.scene()
  const cookie = await logIn(product.adminUrl, nameOf(role))
  const response = await fetch(`${product.adminUrl}/auth/login`, { headers: { cookie } })
  const { details } = (await response.json()) as { details: { actions: Grants } }
  return { cookie, grants: details.actions }
}

/** Goes to an address, and waits until all of its data are there. */
async function show(page: Page, address: string): Promise<void> {
  const go = (hash: string) =>
    page.evaluate((expected) => {
      window.location.hash = expected
    }, hash)
  // Without it the former page would pass for this one until its script is loaded.
  await go('#/nothing')
  await page
    .locator('main > h1:only-child')
    .getByText(/no page|keine Seite/)
    .waitFor()
  await go(`#/${address}`)
  await page
    .waitForFunction(() => {
      // A page that is not loaded has only its heading.
      const isThere = document.querySelector('main > h1:only-child') === null
      const busy = document.querySelector('main :is(.skeleton, [aria-busy="true"])')
      return isThere && busy === null
    })
    .catch(async (error: Error) => {
      const shown = await page.locator('main').innerHTML()
      throw new Error(`${address} is not ready: ${error.message}: ${shown}`)
    })
}

/** The controls of the page. */
function controlsOf(page: Page): Promise<readonly Control[]> {
  return page.locator('[data-action]').evaluateAll((controls) =>
    controls.map((control) => ({
      action: control.getAttribute('data-action') ?? '',
      isDisabled: control.matches(':disabled, [aria-disabled="true"]'),
      about:
        document.getElementById(control.getAttribute('aria-describedby') ?? '')?.textContent ?? '',
    })),
  )
}

/** The fault of a control; null if it is right. */
function faultOf({ action, isDisabled, about }: Control, grants: Grants): string | null {
  const grant = grants[action]
  if (grant === undefined) return `${action} is not an action of GET /auth/login`
  const saysWhy = about.startsWith('This needs one of the roles')
  // A permitted action may still have nothing to act on.
  if (grant.permitted) return saysWhy ? `${action} is permitted, but: ${about}` : null
  if (!isDisabled) return `${action} is enabled`
  return saysWhy ? null : `${action} does not say which role it needs`
}

/** Whether the API refuses an action because of the role. */
async function isRefused(action: string, cookie: string): Promise<boolean> {
  const { path, body = {} } = callOf(action)
  const url = `${visits.scene().product.adminUrl}${path}`
  const response = await postJson(url, body, { cookie })
  const { code } = (await response.json()) as { code?: unknown }
  return response.status === 403 || code === 17575
}

function callOf(action: string): { path: string; body?: object } {
  if (action === 'settings/set') return { path: '/api/settings', body: { action: 'set' } }
  if (action === 'totp/reset') return { path: '/auth/totp/reset' }
  const listed = ACTIONS.find(({ family = 'api', name }) => `${family}/${name}` === action)
  return { path: listed === undefined ? `/billapi/${action}` : (pathsOf(listed)[0] ?? '') }
}

it('has an address of each page', () => {
  const routes = readFileSync(join(HOUSE, 'packages/console/src/pages/routes.ts'), 'utf8')
  const patterns = [...routes.matchAll(/pattern: '(.*)'/g)].map(([, pattern]) => pattern)
  expect(Object.keys(ADDRESSES).sort()).toEqual(patterns.sort())
})

describe.skipIf(CHROMIUM === undefined)('each page', () => {
  beforeAll(async () => {
    const { catalog, api } = visits.scene()
    for (const role of ROLES) await addUser(catalog, nameOf(role), role === 'none' ? [] : [role])
    const data = { collection: { min_debt: 5 } }
    await api('api/settings', { action: 'set', category: 'payments', data })
    await api('api/settings', { action: 'unset', category: 'payments' })
    // Its records of the audit have a heading without a blank.
    const update = { key: `REDUCED_${'RATE_'.repeat(12)}`, description: 'x', rate: 0.07 }
    await api('billapi/taxes/create', { update: { ...update, from: '2026-01-01' } })
    const named = { name: 'crm', roles: ['read'] }
    await api('api/settings', { action: 'set', category: 'shared_secret', data: named })
  })

  it.each(['en-GB', 'de-DE'])('has no sideways scroll on 360 pixels, in %s', async (locale) => {
    const viewport = { width: 360, height: 740 }
    const page = await visits.visit({ hash: '#/overview', viewport, locale })
    const wide: string[] = []
    for (const address of Object.values(ADDRESSES).flatMap((of) => of(visits.scene()))) {
      await show(page, address)
      const width = await page.evaluate(() => document.documentElement.scrollWidth)
      if (width > viewport.width) wide.push(`${address}: ${width}`)
    }
    expect(wide).toEqual([])
  })

  it.each(ROLES)('shows what the role permits: %s', async (role) => {
    const { cookie, grants } = await grantsOf(role)
    const page = await visits.visit({ user: nameOf(role), hash: '#/overview' })
    const faults: string[] = []
    const disabled = new Set<string>()
    let count = 0
    for (const address of Object.values(ADDRESSES).flatMap((of) => of(visits.scene()))) {
      await show(page, address)
      const controls = await controlsOf(page)
      count += controls.length
      for (const control of controls) {
        const fault = faultOf(control, grants)
        if (fault !== null) faults.push(`${address}: ${fault}`)
        if (grants[control.action]?.permitted === false) disabled.add(control.action)
      }
    }
    expect(faults).toEqual([])
    expect(count).toBeGreaterThan(5)
    for (const action of disabled) {
      expect([action, await isRefused(action, cookie)]).toEqual([action, true])
    }
  })
})
