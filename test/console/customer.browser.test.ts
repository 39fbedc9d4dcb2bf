/** The customer page in a browser, as an operator uses it. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { CHROMIUM } from '../support/console/browser.ts'
import { ADMIN_NAME, READER_NAME } from '../support/console/console-product.ts'
import { expectAccessible, useVisits } from '../support/console/visits.ts'

const MSISDN = '447700900123'
type Fields = Record<string, unknown>

const visits = useVisits({ charges: true })
const { visit } = visits
const adaPage = () => `#/customer/sid/${visits.scene().sid}`

async function search(page: Page, text: string): Promise<void> {
  await page.keyboard.press('/')
  await page.keyboard.insertText(text)
  await page.keyboard.press('Enter')
}

const balance = (page: Page, name: string) => page.locator('li.balance').filter({ hasText: name })

async function overview(): Promise<Page> {
  const page = await visit()
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.waitForURL('**/#/overview')
  return page
}

/** An amount of a balance as the page shows it. */
function amountOf(page: Page, name: string, amount: string) {
  return balance(page, name).locator(`.amounts .${amount} dd`).textContent()
}

async function storedBalance(name: string): Promise<Fields> {
  const { details } = await visits
    .scene()
    .api('billapi/balances/get', { query: { sid: visits.scene().sid } })
  const found = (details as Fields[]).find((each) => each['pp_includes_name'] === name)
  if (found === undefined) throw new Error(`no balance ${name}`)
  return found
}

async function topUpLines(value: number): Promise<number> {
  const expected = { sid: visits.scene().sid, type: 'balance', aprice: value }
  return visits.scene().catalog.lines.countDocuments(expected as object)
}

describe.skipIf(CHROMIUM === undefined)('a customer', () => {
  it('is found by a phone number, with what is left', async () => {
    const page = await overview()
    await search(page, MSISDN)
    await balance(page, 'DATA_PACK').waitFor()
    expect(page.url()).toContain(adaPage())
    const { free } = await storedBalance('DATA_PACK')
    expect(await amountOf(page, 'DATA_PACK', 'free')).toBe(Number(free).toLocaleString('en-GB'))
    expect(await page.getByRole('heading', { name: 'Units of data' }).count()).toBe(1)
    expect(await amountOf(page, 'MONEY', 'used')).toBe('0.42')
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Ada Byron')
    await expectAccessible(page)
  })

  it('is found by each of its numbers, and by its name', async () => {
    const page = await overview()
    for (const text of [String(visits.scene().sid), '234150000000001', '+44 7700 900-123']) {
      await search(page, text)
      await page.waitForURL(`**/${adaPage()}`)
      await page.getByRole('heading', { level: 1, name: 'Ada Byron' }).waitFor()
      await page.getByRole('link', { name: 'Overview' }).click()
    }
    await search(page, String(visits.scene().aid))
    await page.waitForURL(`**/#/customer/aid/${visits.scene().aid}`)
    await page.getByText('Show the account').waitFor({ state: 'detached' })
    await page.keyboard.press('/')
    await page.keyboard.insertText('byr')
    await page.getByRole('option').first().waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/customer/)
    await page.getByRole('heading', { level: 1, name: 'Ada Byron' }).waitFor()
  })

  it('that does not exist is said to be searched by which fields', async () => {
    const page = await overview()
    await search(page, '999999')
    await page
      .getByRole('status')
      .getByText(/msisdn/)
      .waitFor()
    await page.goto(`${visits.scene().url}#/customer/sid/999999`)
    await page.getByText('There is no subscriber 999999.').waitFor()
    await page.goto(`${visits.scene().url}#/customer/sid/x`)
    await page.getByText('“x” is not the number of a customer.').waitFor()
    await expectAccessible(page)
  })

  it('was charged 0.42, and the page says why', async () => {
    const page = await visit()
    await page.getByRole('button', { name: 'Why call 0.42' }).click()
    const sentence = () => page.locator('.why-sentence').textContent()
    await expect
      .poll(sentence)
      .toBe(
        '70 units of call at rate CALL (retail, base price) cost 0.42: ' +
          'tier 1: 60 units: 60 × 0.005 = 0.3; tier 2: 10 units: 10 × 0.01 = 0.1; ' +
          'access price 0.02. ' +
          '30 units from group CALLS of GOLD (the subscriber), 0 of 30 left; ' +
          '0.42 paid from MONEY of the subscriber.',
      )
    const lit = page.locator('.steps-band .lit')
    // The pointer is where the button was.
    await page.mouse.move(0, 0)
    await page.getByRole('group', { name: /Price of the line/ }).focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    // The first tier in units and in money, and who paid it.
    await expect.poll(() => lit.count()).toBe(3)
    await expectAccessible(page)
  })

  it('was charged 0.42: by keyboard alone', async () => {
    const page = await overview()
    await search(page, MSISDN)
    await page.locator('.lines tbody tr').first().waitFor()
    await page.getByRole('group', { name: 'Lines' }).focus()
    const rows = page.locator('.lines tbody tr')
    for (let row = 0; row < (await rows.count()); row += 1) {
      await page.keyboard.press('j')
      if ((await page.locator('tr:focus').textContent())?.includes('0.42')) break
    }
    await page.keyboard.press('w')
    await page.locator('.why-sentence').waitFor()
    expect(await page.locator('h2:focus').textContent()).toBe('Why call 0.42')
  })

  it.each([1280, 700])(
    'says why in view of the line, until Esc, at a width of %d',
    async (width) => {
      const page = await visit({ viewport: { width, height: 420 } })
      const why = page.getByRole('button', { name: 'Why call 0.42' })
      await why.waitFor()
      // The parts above move the lines while they are read.
      const busy = page.locator('main :is(.skeleton, [aria-busy="true"])')
      await expect.poll(() => busy.count()).toBe(0)
      await why.click()
      const heading = page.locator('h2:focus')
      expect(await heading.textContent()).toBe('Why call 0.42')
      const isInView = async () => {
        const row = await page.locator('tr[aria-current]').boundingBox()
        const title = await heading.boundingBox()
        if (row === null || title === null) return false
        const isCovered = title.x < row.x + row.width && title.y < row.y + row.height
        const isInside = [row, title].every(({ y, height }) => y > -1 && y + height <= 420)
        return isInside && !isCovered
      }
      await expect.poll(isInView).toBe(true)
      await page.keyboard.press('Escape')
      await page.locator('.why-sentence').waitFor({ state: 'detached' })
      expect(await why.evaluate((each) => each === document.activeElement)).toBe(true)
    },
  )

  it('shows what was valid on a day', async () => {
    const page = await visit()
    await page.getByLabel(/As of/).fill('2026-03-03')
    const terms = page.locator('.terms')
    await terms.getByRole('row', { name: 'SILVER 10' }).waitFor()
    expect(await terms.textContent()).toContain('CALL call')
    expect(page.url()).toContain('at=2026-03-03')
    expect(await page.locator('.timeline [aria-current]').textContent()).toContain('SILVER')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Now' }).click()
    await expect
      .poll(() => page.locator('.timeline [aria-current]').textContent())
      .toContain('GOLD')
  })

  it('shows who changed it: before, after, user and time with zone', async () => {
    const page = await visit()
    const tabs = page.getByRole('navigation', { name: 'Records' })
    await tabs.getByRole('link', { name: 'Audit' }).click()
    const entry = page.locator('.audit > li').filter({ hasText: 'closeandnew' })
    await entry.getByRole('row', { name: 'plan SILVER GOLD' }).waitFor()
    expect(await entry.textContent()).toContain(ADMIN_NAME)
    expect(await entry.textContent()).toContain('(UTC)')
    await expectAccessible(page)
  })
})

describe.skipIf(CHROMIUM === undefined)('contact data that two operators edit', () => {
  const firstName = (page: Page) => page.getByRole('textbox', { name: 'First name' })
  const openEdit = async (options: Parameters<typeof visit>[0] = {}) => {
    const page = await visit(options)
    await page.getByRole('button', { name: 'Edit' }).waitFor()
    await page.keyboard.press('e')
    await firstName(page).waitFor()
    return page
  }
  const stored = async () => {
    const { sid } = visits.scene()
    const { details } = await visits.scene().api('billapi/subscribers/get', { query: { sid } })
    return (details as Fields[]).at(-1)
  }

  it('are overwritten by neither: the second sees whose they are, and chooses', async () => {
    const [first, second] = [await openEdit(), await openEdit()]
    await firstName(first).fill('Augusta')
    await first.getByRole('textbox', { name: 'Country' }).fill('England')
    await first.getByRole('button', { name: 'Save' }).click()
    await first.getByRole('heading', { level: 1, name: 'Augusta Byron' }).waitFor()
    await firstName(second).fill('Adele')
    await second.getByRole('textbox', { name: 'Address' }).fill('2 Mill Road')
    await second.keyboard.press('Control+Enter')
    const conflict = second.getByRole('region', { name: `${ADMIN_NAME} has saved` })
    await conflict.getByText('Country: – → England (stays)').waitFor()
    await expectAccessible(second)
    expect(await stored()).toMatchObject({ firstname: 'Augusta', address: '1 Mill Road' })
    // Without a choice nothing is saved.
    await second.keyboard.press('Control+Enter')
    await conflict.getByRole('radio', { name: 'Saved: Augusta' }).check()
    expect(await firstName(second).inputValue()).toBe('Augusta')
    await conflict.getByRole('radio', { name: 'Yours: Adele' }).press('Space')
    await second.keyboard.press('Control+Enter')
    await second.getByRole('heading', { level: 1, name: 'Adele Byron' }).waitFor()
    expect(await stored()).toMatchObject({
      firstname: 'Adele',
      address: '2 Mill Road',
      country: 'England',
    })
  })

  it('are shown to the role read only', async () => {
    const page = await visit({ user: READER_NAME })
    const button = page.getByRole('button', { name: 'Edit' })
    await expect.poll(() => button.getAttribute('aria-disabled')).toBe('true')
    await page.keyboard.press('e')
    expect(await page.getByRole('dialog').count()).toBe(0)
  })
})

describe.skipIf(CHROMIUM === undefined)('a session that reserves', () => {
  it('is released with a reason, and the bar falls', async () => {
    const id = await visits.scene().openSession()
    const page = await visit()
    const reserved = () => amountOf(page, 'DATA_PACK', 'reserved')
    await expect.poll(reserved).not.toBe('0')
    await page.getByRole('button', { name: `Release session ${id}` }).click()
    await expectAccessible(page)
    await page.getByLabel('Reason').fill('The phone was stolen')
    await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click()
    await expect.poll(reserved).toBe('0')
    const { details } = await visits.scene().api('billapi/audit/get', { query: { key: id } })
    expect((details as Fields[])[0]).toMatchObject({ new: { reason: 'The phone was stolen' } })
    await page.getByText('No open sessions').waitFor()
  })

  it('is released by keyboard alone', async () => {
    const id = await visits.scene().openSession()
    const page = await visit()
    const button = page.getByRole('button', { name: `Release session ${id}` })
    await button.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.insertText('stuck')
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => amountOf(page, 'DATA_PACK', 'reserved')).toBe('0')
  })
})

describe.skipIf(CHROMIUM === undefined)('a top-up', () => {
  const path = '**/billapi/balances/update'

  it('is done by keyboard alone, and seen at once', async () => {
    const page = await visit()
    await balance(page, 'MONEY').waitFor()
    const { credited } = await storedBalance('MONEY')
    await page.keyboard.press('t')
    await page.getByLabel('Amount (money)').waitFor()
    await expectAccessible(page)
    await page.keyboard.insertText('5.01')
    await page.keyboard.press('Enter')
    await page.getByText('5.01 added to MONEY.').first().waitFor()
    expect(await storedBalance('MONEY')).toMatchObject({ credited: Number(credited) + 5_010_000 })
    await expect.poll(() => topUpLines(-5.01)).toBe(1)
  })

  it('of a double click is one', async () => {
    const page = await visit()
    await page.getByRole('button', { name: 'Top up' }).click()
    await page.getByLabel('Amount (money)').fill('5.02')
    await page.getByRole('dialog').getByRole('button', { name: 'Top up' }).dblclick()
    await page.getByText('5.02 added to MONEY.').first().waitFor()
    await expect.poll(() => topUpLines(-5.02)).toBe(1)
  })

  it('whose answer is lost is one, also after a reload', async () => {
    const page = await visit()
    await page.getByRole('button', { name: 'Top up' }).click()
    await page.getByLabel('Amount (money)').fill('5.03')
    await page.getByLabel('Reason').fill('goodwill')
    await page.route(path, async (route) => {
      await route.fetch()
      await route.abort()
    })
    await page.getByRole('dialog').getByRole('button', { name: 'Top up' }).click()
    await page.getByText('It is not known whether').waitFor()
    await expectAccessible(page)
    await page.unroute(path)
    await page.reload()
    expect(await page.getByLabel('Amount (money)').inputValue()).toBe('5.03')
    await page.getByRole('button', { name: 'Repeat the same top-up' }).click()
    await page.getByText('5.03 added to MONEY.').first().waitFor()
    await expect.poll(() => topUpLines(-5.03)).toBe(1)
    await page.reload()
    await balance(page, 'MONEY').waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  it('that is reloaded before it is answered is one', async () => {
    const page = await visit()
    await page.getByRole('button', { name: 'Top up' }).click()
    await page.getByLabel('Amount (money)').fill('5.04')
    let arrived = () => {}
    const sent = new Promise<void>((resolve) => {
      arrived = resolve
    })
    await page.route(path, async (route) => {
      await route.fetch()
      arrived()
    })
    await page.getByRole('dialog').getByRole('button', { name: 'Top up' }).click()
    await sent
    await page.unroute(path)
    await page.reload()
    await page.getByRole('button', { name: 'Repeat the same top-up' }).click()
    await page.getByText('5.04 added to MONEY.').first().waitFor()
    await expect.poll(() => topUpLines(-5.04)).toBe(1)
  })

  it('without a valid amount is refused at its field, and nothing is lost', async () => {
    const page = await visit()
    await page.getByRole('button', { name: 'Top up' }).click()
    await page.getByLabel('Amount (money)').fill('-5')
    await page.getByLabel('Reason').fill('goodwill')
    await page.keyboard.press('Enter')
    await page.locator('.field .error').getByText('The amount must be').waitFor()
    expect(await page.getByLabel('Reason').inputValue()).toBe('goodwill')
    await expect.poll(() => page.locator('input:focus').inputValue()).toBe('-5')
  })
})

describe.skipIf(CHROMIUM === undefined)('a caller with the role read', () => {
  it('sees writes disabled with the reason, and the API refuses them too', async () => {
    const page = await visit({ user: READER_NAME })
    const button = page.getByRole('button', { name: 'Top up' })
    await expect.poll(() => button.getAttribute('aria-disabled')).toBe('true')
    const missing = 'This needs one of the roles write, admin; you have: read.'
    await page.getByText(missing).first().waitFor()
    await button.click({ force: true })
    await page.keyboard.press('t')
    expect(await page.getByRole('dialog').count()).toBe(0)
    const refused = await page.request.post(`${visits.scene().url}billapi/balances/update`, {
      data: {
        query: { sid: visits.scene().sid, pp_includes_external_id: 1 },
        update: { value: -1 },
      },
    })
    expect(await refused.json()).toMatchObject({ status: 0, code: 17_575 })
    const tabs = page.getByRole('navigation', { name: 'Records' })
    await tabs.getByRole('link', { name: 'Audit' }).click()
    await page.getByText('Not permitted').waitFor()
    await expectAccessible(page)
  })
})
