/** `GET /api/balance`: XML, cached. */
import { beforeAll, describe, expect, it } from 'vitest'
import { NOW_MS } from '../../../support/admin/actions/action-server.ts'
import {
  addDeprecatedTenant,
  useDeprecated,
} from '../../../support/admin/actions/deprecated-tenant.ts'

const api = useDeprecated({ TOLLGATE_ACTIONS_BALANCE_CACHE_HOURS: '2' })
const HOUR_MS = 3_600_000
const ask = (params: Record<string, unknown>) =>
  api.ask('balance', params, { method: 'GET', as: 'query' })
const textOf = (xml: string, name: string) =>
  new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
const credit = (sid: number, aprice: number) =>
  api.ask('credit', {
    ...{ aid: 1001, sid, rate: 'FEE_A', usagev: 1, aprice, label: 'a < b & c' },
    credit_time: '2026-06-14 10:00:00',
  })
async function expectedTotal(): Promise<unknown> {
  const { details } = await api.ask('generateexpected', { aid: 1001 })
  return (details as { totals: { exact: { after_vat: string } } }).totals.exact.after_vat
}

beforeAll(async () => {
  await addDeprecatedTenant(api.catalog())
  expect(await credit(7, 10)).toMatchObject({ status: 1 })
  expect(await credit(8, 5)).toMatchObject({ status: 1 })
})

describe('GET /api/balance', () => {
  it('has the total of the account in the current cycle', async () => {
    const { http, text, headers } = await ask({ account_id: 1001 })
    expect(http).toBe(200)
    expect(headers.get('content-type')).toContain('application/xml')
    expect(text).toMatch(/^<\?xml version="1.0" encoding="UTF-8"\?>\n<balance>/)
    expect(textOf(text, 'account_id')).toBe('1001')
    expect(textOf(text, 'billrun_key')).toBe('202607')
    expect(Number(textOf(text, 'total'))).toBeGreaterThan(17.5)
    expect(textOf(text, 'total')).toBe(await expectedTotal())
    expect(text).not.toContain('<subscriber>')
  })

  it('has the lines of subscribers, whatever the total', async () => {
    const [none, one, all] = [
      await ask({ aid: 1001 }),
      await ask({ aid: 1001, subscribers: '7' }),
      await ask({ aid: 1001, subscribers: 0 }),
    ]
    const sids = (text: string) => [...text.matchAll(/<sid>(\d+)<\/sid>/g)].map((each) => each[1])
    expect(sids(one.text)).toEqual(['7'])
    expect(sids(all.text)).toEqual(expect.arrayContaining(['7', '8']))
    expect(one.text.match(/<line>/g)).toHaveLength(1)
    expect(all.text.match(/<line>/g)).toHaveLength(2)
    expect(textOf(one.text, 'final_charge')).toBe('11.7')
    const totals = [none, one, all].map(({ text }) => textOf(text, 'total'))
    expect(new Set(totals).size).toBe(1)
  })

  it('is the same for the configured hours', async () => {
    const before = await ask({ account_id: 1001, subscribers: '8' })
    await credit(8, 100)
    expect((await ask({ account_id: 1001, subscribers: '8' })).text).toBe(before.text)
    api.at(NOW_MS + 2 * HOUR_MS)
    const after = await ask({ account_id: 1001, subscribers: '8' })
    expect(after.text).not.toBe(before.text)
    expect(after.text.match(/<line>/g)).toHaveLength(2)
    api.at(NOW_MS)
  })

  it('error: aid is not numeric', async () => {
    for (const params of [
      {},
      { account_id: '' },
      { aid: 'x' },
      { account_id: '1,2' },
      { aid: -1 },
    ]) {
      const desc = 'aid field is not numeric'
      expect(await ask(params)).toMatchObject({ http: 200, status: 0, desc, message: desc })
    }
  })

  it.each([
    [{ aid: 4711 }, 'there is no account 4711'],
    [{ aid: 1001, subscribers: 'x' }, 'subscribers field is not numeric'],
  ])('refuses %j', async (params, desc) => {
    expect(await ask(params)).toMatchObject({ http: 200, status: 0, desc })
  })
})
