/** The customer page with many lines and with texts that nobody expects. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM } from '../support/console/browser.ts'
import { expectAccessible, SETUP_MS_MAX, useVisits } from '../support/console/visits.ts'

const LINES = 20_000
const BATCH = 2_000
const LINES_SID = 4_711
const visits = useVisits({ charges: true })
const { visit } = visits

/** Lines of a subscriber, one a second, two of them at each instant. */
async function addLines(): Promise<void> {
  const { catalog, aid, sid } = visits.scene()
  const [line] = await catalog.lines.find({ sid, session_id: 'call-1' } as object).toArray()
  const [ada] = await catalog.subscribers.find({ sid } as object).toArray()
  await catalog.subscribers.insertOne({ ...ada, _id: undefined, sid: LINES_SID, imsi: [] } as never)
  for (let begin = 0; begin < LINES; begin += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, index) => ({
      ...line,
      _id: undefined,
      aid,
      sid: LINES_SID,
      stamp: `many-${begin + index}`,
      session_id: `many-${begin + index}`,
      urt: new Date(Date.UTC(2026, 5, 1) + Math.floor((begin + index) / 2) * 1000),
    }))
    await catalog.lines.insertMany(batch as never[])
  }
}

describe.skipIf(CHROMIUM === undefined)(`${LINES} lines`, () => {
  beforeAll(async () => {
    if (CHROMIUM !== undefined) await addLines()
  }, SETUP_MS_MAX)

  it('are shown by 100, by key, and the way back leads to the same place', async () => {
    const page = await visit({ hash: `#/customer/sid/${LINES_SID}` })
    const rows = page.locator('.lines tbody tr')
    await expect.poll(() => rows.count()).toBe(100)
    expect(await page.locator('*').count()).toBeLessThan(3_000)
    const times = new Set<string>()
    const keep = async () => {
      const stamps = await page
        .locator('.lines tbody time')
        .evaluateAll((all) =>
          all.map((each, index) => `${each.getAttribute('datetime')} ${index % 2}`),
        )
      for (const stamp of stamps) times.add(stamp)
    }
    await keep()
    await rows.nth(60).scrollIntoViewIfNeeded()
    const place = await page.evaluate(() => window.scrollY)
    expect(place).toBeGreaterThan(0)
    await page.getByRole('link', { name: /Next/ }).click()
    await page.waitForURL(/after=/)
    await expect.poll(() => rows.first().textContent()).toContain('02:45:49')
    await keep()
    // No line twice, none left out: 2 pages of 100 lines, two at each instant.
    expect(times.size).toBe(200)
    await page.goBack()
    await expect.poll(() => page.url()).not.toContain('after=')
    await expect.poll(() => page.evaluate(() => window.scrollY)).toBeGreaterThan(0)
  })

  it('are all in the CSV, which is sent while it is read', async () => {
    const page = await visit({ hash: `#/customer/sid/${LINES_SID}` })
    const downloaded = page.waitForEvent('download')
    await page.getByRole('button', { name: 'All lines as CSV' }).click()
    const stream = await (await downloaded).createReadStream()
    let text = ''
    for await (const chunk of stream) text += String(chunk)
    expect(text.trimEnd().split('\n')).toHaveLength(LINES + 1)
  })
})

const NAMES = {
  markup: '<img src=x onerror="document.title=1">',
  long: 'Wolfeschlegelsteinhausenbergerdorff'.repeat(6).slice(0, 200),
  emoji: '👩🏽‍🚀 Ada \u202e‮ עברית',
  empty: '',
}

describe.skipIf(CHROMIUM === undefined)('names of customers', () => {
  const sids = new Map<string, number>()
  beforeAll(async () => {
    if (CHROMIUM === undefined) return
    const { catalog, sid } = visits.scene()
    const [ada] = await catalog.subscribers.find({ sid, plan: 'GOLD' } as object).toArray()
    for (const [index, [kind, firstname]] of Object.entries(NAMES).entries()) {
      const own = { sid: 5_000 + index, firstname, lastname: '', plan: firstname, imsi: [] }
      sids.set(kind, own.sid)
      await catalog.subscribers.insertOne({ ...ada, _id: undefined, ...own } as never)
    }
  })

  it.each(['markup', 'long', 'emoji', 'empty'] as const)('%s: text only', async (kind) => {
    const sid = sids.get(kind)
    const viewport = { width: 360, height: 740 }
    const page = await visit({ hash: `#/customer/sid/${sid}`, viewport })
    const title = NAMES[kind] === '' ? `Subscriber ${sid}` : NAMES[kind]
    await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toBe(title)
    await page.getByText('No balances').waitFor()
    expect(await page.locator('img').count()).toBe(0)
    expect(await page.title()).toContain('Tollgate')
    await expectNoSidewaysScroll(page)
    await expectAccessible(page)
  })

  it('in a narrow window, in German and from right to left, nothing is cut off', async () => {
    const viewport = { width: 360, height: 740 }
    const { sid } = visits.scene()
    const hash = `#/customer/sid/${sid}`
    const page = await visit({ hash, viewport, locale: 'en-GB' })
    await page.locator('li.balance').first().waitFor()
    await expectNoSidewaysScroll(page)
    await page.getByRole('button', { name: 'Why call 0.42' }).click()
    await page.locator('.why-sentence').waitFor()
    await expectNoSidewaysScroll(page)
    await page.evaluate(() => {
      document.documentElement.dir = 'rtl'
    })
    await expectNoSidewaysScroll(page)
  })
})

async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const [content, window_] = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    return [scrollWidth, clientWidth]
  })
  expect(content).toBeLessThanOrEqual(window_ ?? 0)
}
