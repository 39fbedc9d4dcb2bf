/** The hosted page of the sandbox in a browser, as a customer uses it. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { NOW_MS, usePaymentServer } from '../../support/admin/payment-server.ts'
import { CHROMIUM } from '../../support/tools.ts'

const world = usePaymentServer()
let browser: Browser | undefined
let page: Page
let shop: Server
let shopUrl: string

beforeAll(async () => {
  await world.call('/api/settings', {
    action: 'set',
    category: 'payment_gateways',
    data: [{ name: 'sandbox' }],
  })
  shop = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end('<h1>Shop</h1>')
  })
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve))
  const data = { return_origins: [`http://127.0.0.1:${(shop.address() as AddressInfo).port}`] }
  await world.call('/api/settings', { action: 'set', category: 'payments', data })
  world.now += 60_000
  shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/account`
  if (CHROMIUM === undefined) return
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  page = await browser.newPage()
})
afterAll(async () => {
  await browser?.close()
  shop.closeAllConnections()
  shop.close()
})
beforeEach(() => {
  world.now = NOW_MS + 60_000
})

async function open(params: Record<string, unknown> = {}) {
  const aid = await world.account()
  const answer = await world.call('/api/cards', { aid, ...params })
  const { url } = answer['details'] as { url: string }
  return { aid, url, response: await page.goto(url) }
}

async function enter(number: string) {
  await page.getByLabel('Card number').fill(number)
  await page.getByLabel('Expires').fill('12/28')
  await page.getByLabel('Number of the holder').fill('4711')
  await page.getByRole('button', { name: 'Save card' }).click()
}

async function stored(aid: number): Promise<unknown> {
  const accounts = world.stores().catalog.subscribers
  const found = await accounts.find({ type: 'account', aid } as object).toArray()
  return (found.at(-1) as Record<string, unknown> | undefined)?.['payment_gateway']
}

describe.skipIf(CHROMIUM === undefined)('the hosted page', () => {
  it('saves a card and leads back to the page of the caller', async () => {
    const { aid } = await open({ return_url: shopUrl })
    await enter('4242 4242 4242 4242')
    await page.waitForURL(`${shopUrl}?status=1`)
    expect(await page.textContent('h1')).toBe('Shop')
    expect(await stored(aid)).toMatchObject({
      active: {
        name: 'sandbox',
        four_digits: '4242',
        transaction_exhausted: true,
        card_expiration: new Date('2028-12-31T23:59:59Z'),
        card_token: expect.stringMatching(/^v2:/),
        personal_id: expect.stringMatching(/^v2:/),
        auth_number: expect.stringMatching(/^v2:/),
      },
    })
  })

  it('says that the card was saved if there is no page to return to', async () => {
    await open()
    await enter('4242424242424242')
    await expect
      .poll(() => page.textContent('body'))
      .toContain('The card ending in 4242 was saved.')
  })

  it('leads back without a card after a refusal', async () => {
    const { aid } = await open({ return_url: shopUrl })
    await enter('4000000000000002')
    await page.waitForURL(`${shopUrl}?status=0&code=refused`)
    expect(await stored(aid)).toBeUndefined()
  })

  it('leads back after the customer has cancelled', async () => {
    await open({ return_url: shopUrl, fail_page: `${shopUrl}/failed` })
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.waitForURL(`${shopUrl}/failed?status=0&code=cancelled`)
  })

  it('names a mistake, and may be corrected', async () => {
    await open({ return_url: shopUrl })
    await enter('4111111111111111')
    expect(await page.getByRole('alert').textContent()).toContain('not one of the test cards')
    await enter('4242424242424242')
    await page.waitForURL(`${shopUrl}?status=1`)
  })

  it('expires after 4 hours, also while it is open', async () => {
    const { url } = await open({ return_url: shopUrl })
    world.now += 4 * 3_600_000
    await enter('4242424242424242')
    await expect.poll(() => page.textContent('h1')).toBe('Page expired')
    const again = await page.goto(url)
    expect([again?.status(), await page.textContent('h1')]).toEqual([410, 'Page expired'])
    expect(await page.textContent('p')).toContain('Too much time passed')
  })

  it('can be used once', async () => {
    const { url } = await open({ return_url: shopUrl })
    await enter('4242424242424242')
    await page.waitForURL(`${shopUrl}?status=1`)
    await page.goto(url)
    expect(await page.textContent('h1')).toBe('Page used')
  })

  it('is not believed when its return is forged', async () => {
    const { aid, url } = await open({ return_url: shopUrl })
    const reference = url.split('/').at(-1) ?? ''
    const forged = new URL('/paymentgateways/OkPage', world.url)
    forged.search = String(
      new URLSearchParams({ name: 'sandbox', reference, result: 'saved', sig: '0'.repeat(64) }),
    )
    const response = await page.goto(forged.href)
    expect([response?.status(), await page.textContent('h1')]).toEqual([403, 'Refused'])
    expect(await stored(aid)).toBeUndefined()
  })

  it('has no script, loads nothing, and cannot be framed', async () => {
    const { response } = await open({ return_url: shopUrl })
    const policy = response?.headers()['content-security-policy'] ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(await page.content()).not.toMatch(/<script|<link|<img|src=/i)
  })
})

describe('an unknown page', () => {
  it.each(['/paymentgateways/sandbox/none', '/paymentgateways/OkPage?name=sandbox&reference=none'])(
    '%s is not found',
    async (path) => {
      const response = await fetch(`${world.url}${path}`)
      expect(response.status).toBe(404)
      expect(await response.text()).toContain('There is no such page.')
    },
  )
})
