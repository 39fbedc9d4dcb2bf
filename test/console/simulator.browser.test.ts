/** The price simulator in a browser: script 13, what an edit of a price would cost whom. */
import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { CHROMIUM } from '../support/console/browser.ts'
import { expectAccessible, useVisits } from '../support/console/visits.ts'

const visits = useVisits({ charges: true })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const rowsOf = (page: Page, table: string) => {
  return page.getByRole('group', { name: table, exact: true }).locator('tbody tr').allTextContents()
}

/** Seconds of calls, priced by a rate of the case, which is replaced. */
function caseOf(name: string, rate: string, usagev: number): string {
  const price = { rate: [{ to: 'UNLIMITED', interval: 1, price: 1 }] }
  return JSON.stringify({
    name,
    catalogue: { rates: [{ key: rate, rates: { call: { BASE: price } } }], plans: [{ name: 'P' }] },
    subscriber: { plan: 'P' },
    events: [{ usaget: 'call', usagev, rate, urt: '2026-01-05T18:31:05Z' }],
  })
}

/** Opens the editor of the rate of calls, and raises its first tier from 0.005 to 0.01. */
async function edit(): Promise<Page> {
  const page = await visits.visit({ hash: '#/catalogue/rates/CALL' })
  await button(page, 'Edit').click()
  await page.getByLabel('price of tier 1').fill('0.01')
  return page
}

describe.skipIf(CHROMIUM === undefined)('the price simulator', () => {
  it('prices cases of a file before and after the edit, changed ones first: by mouse', async () => {
    const page = await edit()
    await button(page, 'Simulate prices…').click()
    await page.getByText('Nothing has been priced yet.').waitFor()
    const cases = page.getByLabel('Cases', { exact: true })
    await cases.fill(`${caseOf('ten', 'CALL', 10)}\n{"name":\n7`)
    await button(page, 'Price before and after').click()
    await page.getByText(/Line 2: .*JSON.* Line 3: not a JSON object\./).waitFor()
    expect(await cases.getAttribute('aria-invalid')).toBe('true')
    await expectAccessible(page)
    const file = join(tmpdir(), `cases-${process.pid}.jsonl`)
    const broken = '{"name":"broken","events":[]}'
    const lines = [caseOf('other', 'OTHER', 5), broken, caseOf('ten', 'CALL', 10)]
    writeFileSync(file, `${[...lines, caseOf('=long', 'CALL', 100)].join('\n')}\n`)
    await page.getByLabel('File of cases').setInputFiles(file)
    await button(page, 'Price before and after').click()
    await page.getByText('Compared: 4, changed: 2.').first().waitFor()
    // Access 0.02; 60 s at 0.005 or 0.01, then 40 s at 0.01.
    expect(await rowsOf(page, 'Price with tax, changed ones first')).toEqual([
      '=long0.721.02+0.30changed',
      'ten0.070.12+0.05changed',
      'other5.005.000.00',
      'broken———catalogue is missing',
    ])
    expect(await rowsOf(page, 'Sums')).toEqual([
      'Price before tax5.796.14+0.35',
      'Price with tax5.796.14+0.35',
    ])
    await page.getByText('Without a price, and not in the sums: 1.').waitFor()
    await expectAccessible(page)
    const saved = page.waitForEvent('download')
    await button(page, 'Save as CSV').click()
    const csv = readFileSync(await (await saved).path(), 'utf8').split('\r\n')
    expect(csv[0]).toContain('case,sid,urt')
    expect(csv[1]).toContain(`'=long,,,,,,,,0.72,0.72,1.02,1.02,0.3,0.3`)
    await page.getByLabel('price of tier 1').fill('0.02')
    await page.getByText('The edit has changed since: price again.').waitFor()
    const [rate] = (await visits.scene().api('billapi/rates/get', { query: { key: 'CALL' } }))[
      'details'
    ] as { rates: object }[]
    expect(JSON.stringify(rate?.rates)).toContain('0.005')
  })

  it('prices the latest lines of a plan by keyboard alone', async () => {
    const page = await edit()
    const { sid } = visits.scene()
    const focused = () =>
      page.evaluate(() => {
        const { activeElement: element } = document
        return element?.getAttribute('id') ?? ''
      })
    const tabTo = async (label: string) => {
      const id = await page.getByLabel(label, { exact: true }).getAttribute('id')
      for (let tabs = 0; tabs < 100 && (await focused()) !== id; tabs += 1) {
        await page.keyboard.press('Tab')
      }
      expect(await focused()).toBe(id)
    }
    await button(page, 'Simulate prices…').focus()
    await page.keyboard.press('Enter')
    await page.getByText('Nothing has been priced yet.').waitFor()
    await page.keyboard.press('Shift+Tab')
    await tabTo('Usage to price')
    await page.keyboard.type('Latest')
    await tabTo('Plan')
    await page.keyboard.type('GOLD')
    await page.keyboard.press('Enter')
    await page.getByText('Compared: 1, changed: 1.').first().waitFor()
    // 100 s, of which 30 were included: access 0.02; 60 s at 0.005 or 0.01, then 10 s at 0.01.
    const [row] = await rowsOf(page, 'Price with tax, changed ones first')
    expect(row).toMatch(new RegExp(`^${sid}.*call: 100 units at CALL0\\.420\\.420\\.72\\+0\\.30`))
    expect(await page.getByRole('link', { name: String(sid), exact: true }).count()).toBe(1)
    await page.getByLabel('Plan', { exact: true }).fill('NONE')
    await page.keyboard.press('Enter')
    await page.getByText('The plan has no usage lines').waitFor()
    await expectAccessible(page)
  })
})
