/** The page of file types in a browser: an operator pastes a message of a network element. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM } from '../support/console/browser.ts'
import { READER_NAME } from '../support/console/console-product.ts'
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
const HOSTILE = '<img src=x onerror=alert(1)>'

const BROKEN = { ...ACME, file_type: 'BROKEN', parser: { type: 'csv' } }

beforeAll(() => installFileTypes(visits, [ACME, GY, BROKEN]))

const open = (more: Parameters<typeof visits.visit>[0] & { query?: string } = {}) => {
  const { query = '', ...options } = more
  return visits.visit({ ...options, hash: `#/file-types${query}` })
}
const typeOf = (page: Page) => page.getByLabel('File type', { exact: true })
const button = (page: Page) => page.getByRole('button', { name: 'Check', exact: true })

/** Opens the page of a type, and checks a message. */
async function checked(type: string, message: string, query = '') {
  const page = await open({ query: `?type=${type}${query}` })
  return { page, states: await check(page, message) }
}

/** The sign that is marked, and where it says that it is. */
async function markOf(page: Page) {
  await page.locator('mark').waitFor()
  const marks = await page.locator('mark').allTextContents()
  const place = await page.getByText(/First wrong byte|ends too early/).textContent()
  return { marks, place }
}

describe.skipIf(CHROMIUM === undefined)('the check of a message', () => {
  it('takes three actions by mouse, and shows four steps', async () => {
    const page = await open()
    await page.getByText('Nothing has been checked yet.').waitFor()
    await page.getByText('Nothing is stored or charged.').waitFor()
    await expectAccessible(page)
    await typeOf(page).selectOption('ACME')
    await messageOf(page).fill(START)
    await button(page).click()
    const { sid, aid } = visits.scene()
    await stage(page, '4. Answer').getByText('{"code":1,"quota":1048576}').waitFor()
    expect(await stages(page).allTextContents()).toEqual([
      '✓1. Parsedone',
      '✓2. Mapdone',
      '✓3. Ratedone',
      '✓4. Answerdone',
    ])
    const parsed = stage(page, '1. Parse').getByRole('row', { name: 'user 447700900123' })
    expect(await parsed.count()).toBe(1)
    const mapped = stage(page, '2. Map').getByRole('row', { name: /Session.*session_id.*c-1/ })
    expect(await mapped.count()).toBe(1)
    const rate = stage(page, '3. Rate')
    expect(await rate.textContent()).toContain(
      `Subscriber ${sid}, Account ${aid}, found by msisdn 447700900123, plan GOLD`,
    )
    const [, row] = await rate.getByRole('row').allTextContents()
    expect(row).toBe('dataSuccess (1)1,048,5761,048,576DATA0.000.00')
    expect(page.url()).toContain('#/file-types?type=ACME')
    expect(page.url()).not.toContain('447700900123')
    await expectAccessible(page)
  })

  it('takes three actions by keyboard alone', async () => {
    const page = await visits.visit({ hash: '#/sessions' })
    await page.getByRole('heading', { name: 'Sessions and peers' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('f')
    await typeOf(page).waitFor()
    await page.waitForFunction(() => document.activeElement?.textContent === 'File types')
    await page.keyboard.press('Tab')
    await page.keyboard.type('ACME')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.insertText(START)
    await page.keyboard.press('Control+Enter')
    await stage(page, '4. Answer').getByText('{"code":1,"quota":1048576}').waitFor()
    expect(await page.evaluate(() => document.activeElement?.getAttribute('id'))).toBe(
      await messageOf(page).getAttribute('id'),
    )
    await page.getByRole('status').filter({ hasText: '3. Rate: done.' }).waitFor()
  })

  it('moves nothing', async () => {
    const { catalog, api, sid } = visits.scene()
    const balances = () => api('billapi/balances/get', { query: { sid } })
    const [before, lines] = [await balances(), await catalog.lines.countDocuments()]
    const { states } = await checked('ACME', START)
    expect(states).toEqual(['done', 'done', 'done', 'done'])
    expect(await balances()).toEqual(before)
    expect(await catalog.lines.countDocuments()).toBe(lines)
    const sessions = await api('api/sessions', { sid })
    expect(JSON.stringify(sessions['details'])).not.toContain('c-1')
  })

  it('says when the message has changed, and what is missing', async () => {
    const page = await open()
    await button(page).click()
    await page.getByText('Choose a file type.').waitFor()
    await page.getByText('Paste a message.').waitFor()
    expect(await typeOf(page).getAttribute('aria-invalid')).toBe('true')
    await expectAccessible(page)
    await typeOf(page).selectOption('ACME')
    await check(page, START)
    await messageOf(page).fill('op:O')
    await page.getByText('The message or the file type has changed since').waitFor()
  })
})

describe.skipIf(CHROMIUM === undefined)('the first wrong byte', () => {
  it.each([
    ['JSON', 'GY', '{"op":"O",\n "name":é}', 'é', 'line 2, column 9 (offset 19 bytes)'],
    ['JSON after é and 😀', 'GY', '{"name":"é😀"x}', 'x', 'line 1, column 13 (offset 16 bytes)'],
    ['a field after €', 'ACME', 'name:€😀;want:-;op:O;call:c;svc:net', '-', 'line 1, column 14'],
    ['XML', 'xml', '<request>\n <a>ü</b>\n</request>', 'b', 'line 2, column 8'],
  ])('of %s is marked', async (_, type, message, sign, place) => {
    const { page, states } = await checked(type, message)
    expect(states.slice(0, 2)).toContain('failed')
    expect(states[2]).toBe('not reached')
    const found = await markOf(page)
    expect(found.marks).toEqual([sign])
    expect(found.place).toContain(place)
    expect(await page.locator('pre.source').textContent()).toBe(message)
    await expectAccessible(page)
  })

  it('of a message that is cut off is its end', async () => {
    const { page, states } = await checked('GY', '{"name":"é"')
    expect(states).toEqual(['failed', 'not reached', 'not reached', 'done'])
    expect(await markOf(page)).toEqual({
      marks: ['end'],
      place: 'The message ends too early: line 1, column 12 (offset 12 bytes)',
    })
  })

  it('of bytes that are not UTF-8 is marked in the bytes', async () => {
    const { page, states } = await checked('GY', '7b 22 ff 22', '&as=hex')
    expect(states[0]).toBe('failed')
    await page.getByText('is not UTF-8', { exact: true }).waitFor()
    expect(await markOf(page)).toEqual({
      marks: ['ff'],
      place: 'First wrong byte: offset 2 bytes',
    })
    await expectAccessible(page)
    await messageOf(page).fill('7b 2x')
    await button(page).click()
    await page.getByText('“x” is not a hexadecimal digit.').waitFor()
  })

  it('is not marked where a field is missing', async () => {
    const { page, states } = await checked('ACME', 'op:O;svc:net')
    expect(states).toEqual(['done', 'failed', 'not reached', 'done'])
    expect(await page.locator('.stage .refused').allTextContents()).toHaveLength(1)
    expect(await page.locator('mark').count()).toBe(0)
  })
})

describe.skipIf(CHROMIUM === undefined)('the step rate', () => {
  it('refuses an unknown subscriber, with what was looked for', async () => {
    const { page, states } = await checked('ACME', START.replace('447700900123', '4411'))
    expect(states).toEqual(['done', 'done', 'failed', 'done'])
    const rate = stage(page, '3. Rate')
    await rate.getByText('Looked for: msisdn 4411').waitFor()
    expect(await rate.locator('.refused').textContent()).toBe('Subscriber not foundCode -2')
    await stage(page, '4. Answer').getByText('{"code":-2').waitFor()
    await expectAccessible(page)
  })

  it('refuses usage without a rate', async () => {
    const { page, states } = await checked('ACME', START.replace('svc:net', 'svc:roam'))
    expect(states[2]).toBe('failed')
    const rate = stage(page, '3. Rate')
    expect(await rate.locator('.refused').textContent()).toContain('No rate')
    expect(await rate.getByRole('row', { name: /^roaming No rate/ }).count()).toBe(1)
  })

  it('is not reached by an update, and says why', async () => {
    const { page, states } = await checked('ACME', START.replace('op:O', 'op:U'))
    expect(states).toEqual(['done', 'done', 'not reached', 'done'])
    await stage(page, '3. Rate').getByText('is rated with its open session').waitFor()
    await page.getByText('Sample answer, without credit').waitFor()
  })
})

describe.skipIf(CHROMIUM === undefined)('messages and states', () => {
  it('shows what comes from outside as text', async () => {
    const { page } = await checked('ACME', `${START};name:${HOSTILE};${HOSTILE}:1`)
    await stage(page, '1. Parse').getByText(HOSTILE).first().waitFor()
    await stage(page, '4. Answer').getByText(HOSTILE).waitFor()
    await check(page, `${HOSTILE};op:${HOSTILE}`)
    await page.locator('.stage .refused').first().waitFor()
    expect(await page.locator('img').count()).toBe(0)
  })

  it('of thousands of values keeps the page small', async () => {
    const many = Array.from({ length: 3_000 }, (_, index) => `f${index}:1`).join(';')
    const { page } = await checked('ACME', `${START};${many}`)
    await page.getByText(/and 2,80\d more values/).waitFor()
    expect(await page.locator('*').count()).toBeLessThan(3_000)
  })

  it('says what is wrong with a file type', async () => {
    const { page, states } = await checked('BROKEN', START)
    expect(states[0]).toBe('failed')
    await page.getByText('It is unusable: file_types.BROKEN.parser.type').waitFor()
    expect(await stage(page, '1. Parse').textContent()).toContain('parser.type')
  })

  it('passes on the refusal of the API', async () => {
    const page = await open({ query: '?type=NONE' })
    await messageOf(page).fill(START)
    await button(page).click()
    await page.getByText('Field file_type names no installed file type: NONE').waitFor()
    await expectAccessible(page)
  })

  it('keeps the message while the server does not answer', async () => {
    const page = await open({ query: '?type=ACME' })
    await messageOf(page).fill(START)
    await page.route('**/api/filetype/check', (route) => route.abort())
    await button(page).click()
    await page.getByText('No answer', { exact: true }).waitFor()
    expect(await messageOf(page).inputValue()).toBe(START)
    await page.unroute('**/api/filetype/check')
    await page.getByRole('button', { name: 'Try again' }).click()
    await stages(page).last().waitFor()
    await page.route('**/api/filetype/check', (route) => {
      return route.fulfill({ status: 503, body: '{"status":0,"message":"no formats here"}' })
    })
    await button(page).click()
    await page.getByText('no formats here').waitFor()
    await page.getByText('Unavailable').waitFor()
  })

  it('is for readers too, but rates only for those who may quote', async () => {
    const page = await open({ user: READER_NAME, query: '?type=ACME' })
    expect(await check(page, START)).toEqual(['done', 'done', 'done', 'done'])
    await permit('quote')
    const other = await open({ user: READER_NAME, query: '?type=ACME' })
    expect(await check(other, START)).toEqual(['done', 'done', 'not reached', 'done'])
    await stage(other, '3. Rate').getByText('This needs one of the roles').waitFor()
    await permit('filetypecheck')
    const third = await open({ user: READER_NAME, query: '?type=ACME' })
    await third.getByText('This needs one of the roles admin; you have: read.').first().waitFor()
    expect(await button(third).getAttribute('aria-disabled')).toBe('true')
    await button(third).click({ force: true })
    expect(await third.getByText('Nothing has been checked yet.').count()).toBe(1)
    await expectAccessible(third)
    await permit(null)
  })

  it('fits on a phone, in German, and from right to left', async () => {
    const viewport = { width: 360, height: 740 }
    const page = await open({ viewport, query: '?type=GY' })
    await page.getByLabel('Language').selectOption('de')
    await page.getByRole('heading', { name: 'Dateitypen' }).waitFor()
    await page.getByLabel('Nachricht', { exact: true }).fill(`{"name":"${'x'.repeat(300)}"é}`)
    await page.keyboard.press('Control+Enter')
    await page.locator('mark').waitFor()
    const width = () => page.evaluate(() => document.documentElement.scrollWidth)
    expect(await width()).toBeLessThanOrEqual(360)
    await expectAccessible(page)
    await page.getByLabel('Dateityp', { exact: true }).selectOption('ACME')
    await page.getByLabel('Nachricht', { exact: true }).fill(`${START};name:${'y'.repeat(300)}`)
    await page.keyboard.press('Control+Enter')
    await page.getByText('Preis vor Steuern').waitFor()
    expect(await width()).toBeLessThanOrEqual(360)
    await page.evaluate(() => {
      document.documentElement.dir = 'rtl'
    })
    expect(await width()).toBeLessThanOrEqual(360)
    await expectAccessible(page)
  })
})

/** Takes an action of `/api` from all but admins; null gives it back. */
async function permit(name: string | null): Promise<void> {
  const rules = name === null ? [] : [{ collection: 'api', actions: [name], roles: ['admin'] }]
  const sent = { category: 'permissions', action: 'set', data: { rules } }
  await visits.scene().api('api/settings', sent)
}
