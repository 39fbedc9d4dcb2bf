/** Samples of file types in a browser: an operator saves messages, and checks them again. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM } from '../support/console/browser.ts'
import {
  ACME,
  check,
  GY,
  installFileTypes,
  messageOf,
  START,
  stage,
  stages,
} from '../support/console/file-type-page.ts'
import { expectAccessible, useVisits } from '../support/console/visits.ts'

const visits = useVisits()
const open = ({ query }: { query: string }) => visits.visit({ hash: `#/file-types${query}` })

beforeAll(() => installFileTypes(visits, [ACME, GY]))

describe.skipIf(CHROMIUM === undefined)('samples', () => {
  const row = (page: Page, name: RegExp) => {
    return page.getByRole('group', { name: 'Samples', exact: true }).getByRole('row', { name })
  }
  const setUsaget = async (usaget: string) => {
    const [first, ...others] = ACME.processor.usaget_mapping
    const data = [{ ...first, usaget }, ...others]
    const path = 'ACME.processor.usaget_mapping'
    await visits.scene().api('api/settings', { action: 'set', category: 'file_types', path, data })
  }

  it('are saved, differ after a change of the document, and are removed: by mouse', async () => {
    const page = await open({ query: '?type=ACME' })
    await page.getByText('There are no samples yet.').waitFor()
    const save = page.getByRole('button', { name: 'Save as sample…' })
    expect(await save.getAttribute('aria-disabled')).toBe('true')
    await check(page, START)
    await save.click()
    await page.getByLabel('Name', { exact: true }).fill('a start')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await row(page, /^a start ok/).waitFor()
    await setUsaget('sms')
    await page.getByRole('button', { name: 'Run all' }).click()
    await row(page, /^a start differs/).waitFor()
    await page.getByRole('row', { name: 'request.services.0.usaget data sms' }).waitFor()
    await page.getByText('Samples: 1, differing: 1.').first().waitFor()
    await expectAccessible(page)
    await messageOf(page).fill('other')
    await page.getByRole('button', { name: 'Open a start' }).click()
    await stage(page, '2. Map')
      .getByRole('row', { name: /Service 1.*usaget.*sms/ })
      .waitFor()
    expect(await messageOf(page).inputValue()).toBe(START)
    await setUsaget('data')
    await page.getByRole('button', { name: 'Run all' }).click()
    await row(page, /^a start ok/).waitFor()
    await page.getByRole('button', { name: 'Remove a start' }).click()
    await page.getByText('ACME is no longer checked with a start.').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('There are no samples yet.').waitFor()
  })

  it('are saved and replaced by keyboard alone', async () => {
    const page = await open({ query: '?type=GY&as=hex' })
    await messageOf(page).focus()
    await page.keyboard.insertText('7b 22 ff')
    await page.keyboard.press('Control+Enter')
    await stages(page).last().waitFor()
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    const tabTo = async (text: string) => {
      for (let tabs = 0; tabs < 40 && !(await focused())?.startsWith(text); tabs += 1) {
        await page.keyboard.press('Tab')
      }
      expect(await focused()).toContain(text)
    }
    await tabTo('Save as sample…')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.type('not UTF-8')
    await page.keyboard.press('Control+Enter')
    await row(page, /^not UTF-8 ok/).waitFor()
    const { api } = visits.scene()
    const address = { action: 'get', category: 'file_types', path: 'GY.samples' }
    expect((await api('api/settings', address))['details']).toMatchObject([
      { name: 'not UTF-8', message_base64: 'eyL/', expect: { error: { why: 'is not UTF-8' } } },
    ])
    await tabTo('Save as sample…')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.type('not UTF-8')
    await page.getByText('There is a sample of this name: it is replaced.').waitFor()
    await page.keyboard.press('Control+Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await row(page, /not UTF-8/).count()).toBe(1)
    await page.getByRole('status').filter({ hasText: 'Samples: 1, differing: 0.' }).waitFor()
  })

  it('of a built-in file type need its document to be stored', async () => {
    const page = await open({ query: '?type=xml' })
    await page.getByText('xml is built in: it can have no samples').waitFor()
    expect(await page.getByRole('button', { name: 'Save as sample…' }).count()).toBe(0)
  })
})
