/** Pages of sessions and of usage files in a browser: both need a product that charges. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM } from '../support/console/browser.ts'
import { READER_NAME } from '../support/console/console-product.ts'
import { installFileTypes } from '../support/console/file-type-page.ts'
import { expectAccessible, useVisits } from '../support/console/visits.ts'
import { tollgate } from '../support/product/command.ts'
import { post } from '../support/system/exchange.ts'

const visits = useVisits({ charges: true })
const HOSTILE = '<img src=x onerror=alert(1)>'

const open = (more: { user?: string; query?: string } = {}) => {
  const { query = '', ...options } = more
  return visits.visit({ ...options, hash: `#/sessions${query}` })
}
const rows = (page: Page) => page.getByRole('group', { name: 'Open sessions' }).locator('tbody tr')
const rowOf = (page: Page, id: string) => rows(page).filter({ hasText: id })
const select = (page: Page, id: string) => rowOf(page, id).getByRole('checkbox').check()
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })

/** The reasons of the releases of a session in the audit. */
async function reasonsOf(id: string): Promise<unknown[]> {
  const records = visits.scene().catalog.audit.find({ collection: 'sessions', key: id } as object)
  return (await records.toArray()).map((record) => (record as { new?: unknown }).new)
}

async function openMarked(): Promise<void> {
  const { product, sid } = visits.scene()
  const usage = { record_type: 'start_request', usaget: 'data', usagev: 1024, request_num: 0 }
  await post(product.realtimePort, { ...usage, session_id: HOSTILE, sid })
}

describe.skipIf(CHROMIUM === undefined)('open sessions', () => {
  it('are listed with their customer and what they hold', async () => {
    const id = await visits.scene().openSession()
    const page = await open()
    const row = rowOf(page, id)
    await row.waitFor()
    expect(await row.textContent()).toContain('52,428,800')
    await expectAccessible(page)
    await row.getByRole('link', { name: String(visits.scene().sid) }).click()
    await page.waitForURL(/#\/customer\/sid\//)
  })

  it('are filtered in the address, which another page opens as it is', async () => {
    const id = await visits.scene().openSession()
    const page = await open()
    await rowOf(page, id).waitFor()
    await page.getByLabel('Service').fill('call')
    await page.keyboard.press('Enter')
    await page.getByText('No open session matches the filter.').waitFor()
    expect(page.url()).toContain('#/sessions?usaget=call')
    await page.goBack()
    await rowOf(page, id).waitFor()
    const { sid, aid } = visits.scene()
    const other = await open({ query: `?sid=${sid}&aid=${aid}&usaget=data&origin=http` })
    await rowOf(other, id).waitFor()
    expect(await other.getByLabel('Subscriber (sid)').inputValue()).toBe(String(sid))
    await other.getByLabel('Open for at least (minutes)').fill('600')
    await button(other, 'Filter').click()
    await other.getByText('No open session matches the filter.').waitFor()
    expect(other.url()).toContain('open_for=600')
    await button(other, 'Show all').click()
    await rowOf(other, id).waitFor()
    expect(other.url()).not.toContain('sid=')
  })

  it('of a customer that does not exist are refused with the text of the API', async () => {
    const page = await open({ query: '?sid=999999' })
    await page.getByText('there is no subscriber 999999 now: give its aid').waitFor()
    await expectAccessible(page)
  })

  it('show what comes from outside as text', async () => {
    await openMarked()
    const page = await open()
    await rowOf(page, HOSTILE).waitFor()
    await select(page, HOSTILE)
    await button(page, 'Release 1 selected…').click()
    await page.getByRole('dialog', { name: `Release session ${HOSTILE}` }).waitFor()
    expect(await page.locator('img').count()).toBe(0)
  })
})

describe.skipIf(CHROMIUM === undefined)('the release of sessions', () => {
  it('names the session and the effect, needs a reason, and does nothing by Enter', async () => {
    const id = await visits.scene().openSession()
    const page = await open()
    await select(page, id)
    await button(page, 'Release 1 selected…').click()
    const dialog = page.getByRole('dialog', { name: `Release session ${id}` })
    await dialog.getByText('its reservations are free again').waitFor()
    expect(await dialog.getByRole('button', { name: 'Release 1' }).isEnabled()).toBe(false)
    await dialog.getByLabel('Reason').fill('stuck')
    await page.keyboard.press('Enter')
    await expectAccessible(page)
    expect(await reasonsOf(id)).toEqual([])
    await dialog.getByRole('button', { name: 'Keep open' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await rowOf(page, id).count()).toBe(1)
    await button(page, 'Release 1 selected…').click()
    await dialog.getByLabel('Reason').fill('the phone was stolen')
    await dialog.getByRole('button', { name: 'Release 1' }).click()
    await dialog.getByText('1 ended, 0 asked to end, 0 refused.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await rowOf(page, id).waitFor({ state: 'detached' })
    expect(await reasonsOf(id)).toEqual([{ reason: 'the phone was stolen' }])
  })

  it('ends many at once, by keyboard alone', async () => {
    const ids = [await visits.scene().openSession(), await visits.scene().openSession()]
    const page = await open()
    await rowOf(page, ids[1] ?? '').waitFor()
    const count = await rows(page).count()
    await page.getByRole('group', { name: 'Open sessions' }).first().focus()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await button(page, 'Release 1 selected…').waitFor()
    await page.keyboard.press('Enter')
    await button(page, 'Release 0 selected…').waitFor()
    await page.keyboard.press('a')
    await button(page, `Release ${count} selected…`).waitFor()
    await page.keyboard.press('r')
    await page.getByRole('dialog', { name: `Release ${count} sessions` }).waitFor()
    await page.keyboard.insertText('maintenance')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('dialog').getByText(`${count} ended, 0 asked to end, 0 refused.`).waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('No session is open.').waitFor()
    for (const id of ids) expect(await reasonsOf(id)).toEqual([{ reason: 'maintenance' }])
  })

  it('says which sessions were refused, and why', async () => {
    const id = await visits.scene().openSession()
    const page = await open()
    await select(page, id)
    await visits.scene().api('api/sessions/release', {
      sessions: [{ session_id: id, origin: 'http' }],
      reason: 'somebody else was faster',
      now: true,
    })
    await button(page, 'Release 1 selected…').click()
    await page.getByLabel('Reason').fill('late')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('dialog').getByText('0 ended, 0 asked to end, 1 refused.').waitFor()
    await page.getByText(`session ${id} is closed already`).waitFor()
  })

  it('is shown, but needs a role', async () => {
    const id = await visits.scene().openSession()
    const page = await open({ user: READER_NAME })
    await select(page, id)
    const release = button(page, 'Release 1 selected…')
    await page.getByText('This needs one of the roles write, admin; you have: read.').waitFor()
    expect(await release.getAttribute('aria-disabled')).toBe('true')
    await release.click({ force: true })
    await page.keyboard.press('r')
    expect(await page.getByRole('dialog').count()).toBe(0)
    await expectAccessible(page)
  })
})

describe.skipIf(CHROMIUM === undefined)('network elements', () => {
  it('that are denied are seen on the overview, with the reasons', async () => {
    const page = await visits.visit({ hash: '#/overview' })
    const table = page.getByRole('group', { name: 'Requests per second by network element' })
    const denied = { record_type: 'event_request', usaget: 'call', usagev: 1, sid: 999_999 }
    let sent = 0
    const deny = async () => {
      sent += 1
      const request = { ...denied, session_id: `denied-${sent}`, request_num: 0 }
      await post(visits.scene().product.realtimePort, request)
      return table.getByRole('row', { name: 'not listed' }).textContent()
    }
    await expect.poll(deny, { interval: 100 }).toMatch(/Denied -?\d+: [\d.]+\/s/)
  })

  it('are shown with their requests by outcome', async () => {
    await visits.scene().openSession()
    const page = await open()
    await page.getByText('No Diameter peer is connected.').waitFor()
    await page.getByRole('region', { name: 'Requests per second by network element' }).waitFor()
    await expectAccessible(page)
  })
})

it.skipIf(CHROMIUM === undefined)('the page fits on a phone, without sideways scroll', async () => {
  await visits.scene().openSession()
  const page = await visits.visit({ hash: '#/sessions', viewport: { width: 360, height: 740 } })
  await rows(page).first().waitFor()
  const width = await page.evaluate(() => document.documentElement.scrollWidth)
  expect(width).toBeLessThanOrEqual(360)
})

const CDR = {
  file_type: 'CDR',
  type: 'usage',
  parser: { type: 'json' },
  processor: {
    date_field: 'at',
    stamp_fields: 'id',
    default_usaget: 'call',
    default_volume_src: 'used',
  },
}
const AT = new Date(Date.now() - 60_000).toISOString()
const recordOf = (id: string, msisdn = '447700900123') =>
  JSON.stringify({ id, used: 60, msisdn, at: AT })

describe.skipIf(CHROMIUM === undefined)('files of usage records', () => {
  const table = (page: Page, name: string) => page.getByRole('group', { name }).locator('tbody tr')
  const queue = (page: Page) => table(page, 'Rejected records, newest first')
  const files = (page: Page) => table(page, 'Files of usage records, newest first')

  beforeAll(async () => {
    await installFileTypes(visits, [CDR])
    const { product } = visits.scene()
    const path = join(product.folder, 'calls.jsonl')
    const texts = [recordOf('a'), recordOf('b', '1'), recordOf('c', '1'), recordOf('d', HOSTILE)]
    writeFileSync(path, texts.join('\n'))
    const environment = { TOLLGATE_LEDGER_PARTITIONS: '1' }
    const { stdout } = await tollgate(product, ['intake', path, '--file-type', 'CDR'], environment)
    expect(stdout).toContain('4 records, 1 charged, 3 rejected')
  })

  it('open to their report and their rejected records, one of which is corrected', async () => {
    const { catalog, sid } = visits.scene()
    const count = () => catalog.lines.countDocuments({ sid, usaget: 'call' })
    await expect.poll(count).toBe(2)
    const page = await visits.visit({ hash: '#/usage-files' })
    const cells = files(page).first().locator('td')
    await expect
      .poll(async () => (await cells.allTextContents()).slice(0, 8))
      .toEqual(['calls.jsonl', 'CDR', 'done', '4', '1', '0', '0', '3'])
    await expectAccessible(page)
    await page.getByRole('link', { name: 'calls.jsonl' }).click()
    const report = page.getByRole('dialog', { name: 'Report of a file' })
    await report.getByRole('row', { name: 'call 1 60 0.32' }).waitFor()
    await report.getByRole('row', { name: '2 Subscriber not found' }).waitFor()
    await expectAccessible(page)
    await report.getByRole('link', { name: '2', exact: true }).click()
    const record = page.getByRole('dialog', { name: 'Rejected record' })
    const text = record.getByRole('textbox', { name: 'Record' })
    expect(await text.inputValue()).toBe(recordOf('b', '1'))
    await expectAccessible(page)
    await text.fill('{')
    await record.getByRole('button', { name: 'Submit again' }).click()
    await record.getByText('Rejected again: is not JSON').waitFor()
    await text.fill(recordOf('b'))
    await text.press('Control+Enter')
    await record.getByText('Charged.', { exact: true }).waitFor()
    await record.getByText('corrected', { exact: true }).waitFor()
    await expect.poll(() => queue(page).count()).toBe(2)
    await expect.poll(count).toBe(3)
  })

  it('have records that are submitted again or dropped together, by their reason', async () => {
    const page = await visits.visit({ hash: '#/usage-files?tab=rejected' })
    await page.getByRole('link', { name: 'Subscriber not found' }).first().click()
    await page.waitForURL(/reason=Subscriber\+not\+found/)
    await button(page, 'Select all of this page').click()
    await button(page, 'Submit 2 selected again…').click()
    await expectAccessible(page)
    await button(page, 'Submit 2 again').click()
    await page.getByText('2 rejected again').first().waitFor()
    await button(page, 'Select all of this page').click()
    await button(page, 'Drop 2 selected…').click()
    await button(page, 'Cancel').click()
    expect(await queue(page).count()).toBe(2)
    const reader = await visits.visit({ user: READER_NAME, hash: '#/usage-files?tab=rejected' })
    await queue(reader).first().getByRole('checkbox').check()
    const refused = button(reader, 'Drop 1 selected…')
    expect(await refused.getAttribute('aria-disabled')).toBe('true')
    await button(page, 'Drop 2 selected…').click()
    await page.getByRole('button', { name: 'Drop 2', exact: true }).click()
    await page.getByText('No rejected record matches.').waitFor()
    await page.getByLabel('State').selectOption('dropped')
    await button(page, 'Filter').click()
    await expect.poll(() => queue(page).count()).toBe(2)
    await button(page, 'Select all of this page').click()
    const nothing = button(page, 'Drop 0 selected…')
    expect(await nothing.getAttribute('aria-disabled')).toBe('true')
    await page.goto(new URL('#/usage-files?tab=rejected', page.url()).href)
    await page.getByText('No rejected record is waiting.').waitFor()
  })

  it('show their progress with the time left, until they are done', async () => {
    const { intakefiles } = visits.scene().catalog
    const [given] = await intakefiles.find().toArray()
    if (given === undefined) throw new Error('there is no file')
    const _id = 'running'
    const at = (offset: number) => ({ ...given.position, offset })
    const running = { ...given, _id, name: 'long.csv', size: 1_000, position: at(100) }
    await intakefiles.insertOne({ ...running, state: 'running', read: 10 } as never)
    const page = await visits.visit({ hash: '#/usage-files?state=running' })
    const progress = page.getByRole('progressbar', { name: 'Progress of long.csv' })
    await progress.waitFor()
    const text = () => files(page).first().textContent()
    expect(await text()).toContain('10 %')
    await expectAccessible(page)
    await intakefiles.updateOne({ _id }, { $set: { position: at(500), read: 50 } } as never)
    await expect.poll(text).toMatch(/50 %, [\d.]+ records\/s, \d+ secs? left/)
    await intakefiles.updateOne({ _id }, { $set: { state: 'done' } })
    await page.getByText('No file is in this state.').waitFor()
    await intakefiles.deleteOne({ _id })
  })
})
