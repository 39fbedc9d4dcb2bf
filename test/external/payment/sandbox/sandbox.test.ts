import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { SANDBOX_CARDS } from '../../../../src/external/payment/sandbox/cards.ts'
import { cardPage } from '../../../../src/external/payment/sandbox/page.ts'
import {
  createSandbox,
  type SandboxRecord,
  type SandboxStore,
} from '../../../../src/external/payment/sandbox/sandbox.ts'
import { useMadeEach } from '../../../support/opened.ts'

const NOW = Date.UTC(2026, 5, 15, 12)
const HOUR = 3_600_000
const SETTINGS = { secret: 'key-1', pendingMs: 600_000, slowMs: 60_000, timeoutMs: 30 }
const store: SandboxStore = {
  async add(id, record) {
    if (!records().has(id)) records().set(id, record)
    return records().get(id) ?? record
  },
  find: async (id) => records().get(id) ?? null,
  async replace(id, state, record) {
    if (records().get(id)?.state !== state) return false
    records().set(id, record)
    return true
  },
}
const records = useMadeEach(() => new Map<string, SandboxRecord>())

const gateway = createSandbox('sandbox', SETTINGS, store)

async function openPage(reference = 'ref-1') {
  return gateway.startTokenization({
    reference,
    aid: 17,
    returnUrl: `https://node.example.org/OkPage?name=sandbox&reference=${reference}`,
    baseUrl: 'https://node.example.org',
    language: 'en',
    nowMs: NOW,
    expiresMs: NOW + 4 * HOUR,
  })
}

const entry = (number: string, more: Record<string, string> = {}) =>
  new Map(Object.entries({ number, expiry: '12/28', personal_id: '4711', ...more }))

async function enter(number: string, more: Record<string, string> = {}) {
  const done = await gateway.submit('ref-1', entry(number, more), NOW)
  return 'url' in done ? new URL(done.url).searchParams : done.problem
}

const finish = (parameters: URLSearchParams) =>
  gateway.finishTokenization({
    reference: 'ref-1',
    session: 'ref-1',
    parameters: new Map(parameters),
    nowMs: NOW,
  })

/** A card as the gateway returns it. */
async function cardOf(number: string) {
  await openPage()
  const parameters = await enter(number)
  if (typeof parameters === 'string') throw new Error(parameters)
  const outcome = await finish(parameters)
  if (outcome.stage !== 'completed') throw new Error(outcome.stage)
  return outcome.card
}

describe('the hosted page', () => {
  it('saves a card, and its return carries no token', async () => {
    await openPage()
    const parameters = await enter('4242 4242 4242 4242')
    expect([...(parameters as URLSearchParams).keys()].sort()).toEqual([
      'name',
      'reference',
      'result',
      'sig',
    ])
    expect(await finish(parameters as URLSearchParams)).toMatchObject({
      stage: 'completed',
      card: {
        fourDigits: '4242',
        personalId: '4711',
        expiresMs: Date.UTC(2028, 11, 31, 23, 59, 59),
        cardToken: expect.stringMatching(/^sbx_[\w-]{24}$/),
      },
    })
  })

  it.each([
    ['refused', '4000000000000002', {}],
    ['cancelled', '', { choice: 'cancel' }],
  ])('returns that the card was %s', async (result, number, more) => {
    await openPage()
    const parameters = (await enter(number, more as Record<string, string>)) as URLSearchParams
    expect(parameters.get('result')).toBe(result)
    expect(await finish(parameters)).toEqual({ stage: 'rejected', code: result })
  })

  it.each([
    ['4111111111111111', {}, 'not one of the test cards'],
    ['4242424242424242', { expiry: '13/28' }, 'month and a year'],
    ['4242424242424242', { expiry: '05/26' }, 'has expired'],
  ])('refuses %s %o', async (number, more, problem) => {
    await openPage()
    expect(await enter(number, more as Record<string, string>)).toContain(problem)
    expect(await gateway.page('ref-1', NOW)).toEqual({ state: 'open', aid: 17 })
  })

  it('expires after 4 hours and is used once', async () => {
    await openPage()
    expect((await gateway.page('ref-1', NOW + 4 * HOUR - 1))?.state).toBe('open')
    expect((await gateway.page('ref-1', NOW + 4 * HOUR))?.state).toBe('expired')
    const late = await gateway.submit('ref-1', entry('4242424242424242'), NOW + 4 * HOUR)
    expect(late).toHaveProperty('problem')
    await enter('4242424242424242')
    expect((await gateway.page('ref-1', NOW))?.state).toBe('used')
    expect(await enter('4242424242424242')).toContain('no longer')
  })

  it.each([
    ['another result', { result: 'saved' }],
    ['no signature', { sig: '' }],
    ['a longer signature', { sig: 'a'.repeat(65) }],
  ])('refuses a return with %s', async (_case, forged) => {
    await openPage()
    const parameters = (await enter('4000000000000002')) as URLSearchParams
    for (const [name, value] of Object.entries(forged)) parameters.set(name, value)
    await expect(finish(parameters)).rejects.toMatchObject({ name: 'ForgedReturnError' })
  })

  it('has no script and escapes what it shows', () => {
    const html = cardPage({ reference: 'a"b', aid: 1, problem: '<script>&' })
    expect(html).not.toContain('<script')
    expect(html).toContain('&#60;script&#62;&#38;')
    expect(html).toContain('action="/paymentgateways/sandbox/a%22b"')
  })
})

describe('a charge', () => {
  const charge = async (number: string) =>
    gateway.charge({ key: 'tg_1', aid: 17, amount: '10', card: await cardOf(number), nowMs: NOW })
  const query = (key: string, atMs: number) =>
    gateway.query({
      key,
      reference: '',
      card: { cardToken: '', customerId: '' },
      sentMs: NOW,
      nowMs: atMs,
    })

  it.each([
    ['4242424242424242', { stage: 'completed' }],
    ['4000000000000341', { stage: 'rejected', code: 'insufficient_funds', isFinal: false }],
    ['4000000000000069', { stage: 'rejected', code: 'expired_card', isFinal: true }],
    ['4000000000003220', { stage: 'pending' }],
    ['4000000000003063', { stage: 'pending' }],
  ])('of %s is answered with %o', async (number, expected) => {
    expect(await charge(number)).toMatchObject(expected)
  })

  it.each([
    ['4000000000003220', 'completed'],
    ['4000000000003063', 'rejected'],
  ])('of %s is pending for a time, then %s', async (number, stage) => {
    await charge(number)
    expect(await query('tg_1', NOW + 599_999)).toMatchObject({ stage: 'pending' })
    expect(await query('tg_1', NOW + 600_000)).toMatchObject({ stage })
  })

  it('of the slow card is made, but not answered in time', async () => {
    await expect(charge('4000000000006975')).rejects.toMatchObject({
      name: 'GatewayUnansweredError',
    })
    expect(await query('tg_1', NOW)).toMatchObject({ stage: 'completed' })
  })

  it('of the card that is lost never arrives', async () => {
    await expect(charge('4000000000009235')).rejects.toMatchObject({
      name: 'GatewayUnansweredError',
    })
    expect(await query('tg_1', NOW)).toBe('absent')
  })

  it('with the same key is made once, and refused for another amount', async () => {
    const card = await cardOf('4242424242424242')
    const again = (amount: string) =>
      gateway.charge({ key: 'tg_1', aid: 17, amount, card, nowMs: NOW })
    expect(await again('10')).toEqual(await again('10'))
    expect([...records().keys()].filter((id) => id.startsWith('charge/'))).toEqual(['charge/tg_1'])
    await expect(again('11')).rejects.toMatchObject({ code: 'idempotency_error' })
  })

  it('of an unknown card is refused', async () => {
    const card = { cardToken: 'sbx_none', customerId: '' }
    const charged = gateway.charge({ key: 'k', aid: 1, amount: '1', card, nowMs: NOW })
    await expect(charged).rejects.toMatchObject({ name: 'GatewayRefusedError' })
  })

  it('has the card numbers of the document', () => {
    const file = new URL('../../../../docs/PAYMENT-GATEWAYS.md', import.meta.url)
    const documented = readFileSync(file, 'utf8').match(/(?<=^\| `)\d{16}(?=`)/gm)
    expect(documented).toEqual(SANDBOX_CARDS)
  })
})
