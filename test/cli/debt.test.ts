/** Debt of an account and of a subscriber, as an operator sees it in the running product. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createProduct, type Product, type Started } from '../support/cli/product.ts'
import { postJson } from '../support/post-json.ts'

type Fields = Record<string, unknown>
interface SubscriberRef {
  aid: number
  sid: number
}
const WALLET = 71

let product: Product
let tollgate: Started
/** One subscriber that uses only shared balances of its account, and one with its own money. */
let sharing: SubscriberRef
let alone: SubscriberRef

beforeAll(async () => {
  product = createProduct()
  tollgate = await product.start()
  const wallet = { charging_by: 'total_cost', charging_by_usaget: 'total_cost', unlimited: false }
  const from = '2020-01-01'
  const shared = { ...wallet, name: 'WALLET', external_id: WALLET, priority: 5, shared: true, from }
  await billapi('prepaidincludes/create', { update: shared })
  sharing = await createdSubscriber()
  alone = await createdSubscriber()
})
afterAll(() => product.close())

async function billapi(path: string, params: Fields): Promise<Fields & { details: unknown }> {
  const answer = await postJson(`${tollgate.admin}/billapi/${path}`, params)
  const found = (await answer.json()) as Fields & { details: unknown }
  expect(found, `${path}: ${JSON.stringify(found)}`).toMatchObject({ status: 1 })
  return found
}

async function createdSubscriber(): Promise<SubscriberRef> {
  const place = { address: '1 Mill Road', zip_code: 'AB1 2CD', country: 'UK' }
  const who = { firstname: 'Ada', lastname: 'Byron', email: 'ada@example.org', from: '2020-01-01' }
  const account = await billapi('accounts/create', { update: { ...who, ...place } })
  const { aid } = account['entity'] as SubscriberRef
  const update = { ...who, ...place, aid, plan: 'DEMO_PREPAID' }
  const { sid } = (await billapi('subscribers/create', { update }))['entity'] as SubscriberRef
  return { aid, sid }
}

async function charge(session_id: string, request_num: number, more: Fields): Promise<Fields> {
  const record_type = request_num === 0 ? 'start_request' : 'release_request'
  const body = { record_type, session_id, request_num, usaget: 'sms', ...more }
  const answer = await postJson(`${tollgate.realtime}/realtime`, body)
  return (await answer.json()) as Fields
}

async function outputOf(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await product.run(...args)
  expect([code, stderr], args.join(' ')).toEqual([0, ''])
  return stdout
}

const balancesOf = async (query: Fields) =>
  (await billapi('balances/get', { query })).details as Fields[]

const topUp = (query: Fields, value: number) =>
  billapi('balances/update', { query, update: { value } })

async function metric(name: string): Promise<number | undefined> {
  const text = await (await fetch(`${tollgate.admin}/metrics`)).text()
  const found = text.split('\n').find((one) => one.startsWith(`${name.slice(0, -1)},`))
  return found === undefined ? undefined : Number(found.split(' ').at(-1))
}

it('over-use of shared money is debt of the account, and its next top-ups repay it', async () => {
  const shared = { aid: sharing.aid, pp_includes_external_id: WALLET }
  await topUp(shared, -0.2)
  await charge('a', 0, { sid: sharing.sid, usagev: 5 })
  const ended = await charge('a', 1, { used_usagev: 20, balances: true })
  expect(ended).toMatchObject({
    returnCode: 1,
    balances: [{ pp_includes_external_id: WALLET, balance: 0, reserved: 0, debt: 0.6 }],
  })
  expect(await balancesOf({ aid: sharing.aid })).toMatchObject([{ sid: 0, free: 0, debt: 0.6 }])
  const shown = JSON.parse(
    await outputOf('balance', 'show', '--sid', String(sharing.sid), '--json'),
  )
  expect(shown).toMatchObject({ debt: 0, shared_debt: 0.6, shared: [{ free: 0 }] })
  expect(await outputOf('balance', 'show', '--aid', String(sharing.aid))).toContain('debt 0.6 GBP')
  await expect.poll(() => metric('tollgate_debt{owner="account"}'), { timeout: 30_000 }).toBe(0.6)
  expect(await metric('tollgate_debtors{owner="account"}')).toBe(1)
  expect(await metric('tollgate_debt{owner="subscriber"}')).toBe(0)

  const add = ['--aid', String(sharing.aid), '--include', String(WALLET), '--amount', '0.1']
  expect(await outputOf('balance', 'add', ...add)).toContain('0.1 GBP of it repaid debt')
  const { line } = await topUp(shared, -1)
  expect(line).toMatchObject({ repaid_micros: 500_000, balance_after: -0.5 })
  expect(await balancesOf({ aid: sharing.aid })).toMatchObject([{ free: 500_000, debt: 0 }])
  expect(await outputOf('audit')).toContain('every unit is accounted for')
})

it('debt of a subscriber outlives its balances, and its own top-ups repay it', async () => {
  const money = { sid: alone.sid, pp_includes_external_id: 1 }
  const { entity } = await topUp(money, -0.2)
  await charge('b', 0, { sid: alone.sid, usagev: 5 })
  await charge('b', 1, { used_usagev: 20 })
  expect(await balancesOf({ sid: alone.sid })).toMatchObject([{ bucket_id: 1, free: 0, debt: 0.6 }])
  const { _id } = entity as { _id: { $id: string } }
  await billapi('balances/delete', { query: { _id: _id.$id } })
  const owed = { bucket_id: 0, counter: 'debt', balance: { cost: 0.6 }, debt: 0.6 }
  expect(await balancesOf({ sid: alone.sid })).toMatchObject([owed])
  const refused = await charge('c', 0, { sid: alone.sid, usagev: 1, balances: true })
  expect(refused).toMatchObject({ returnCode: -1, balances: [{ group: 'debt', debt: 0.6 }] })
  expect(await outputOf('balance', 'show', '--sid', String(alone.sid))).toContain('debt 0.6 GBP')
  await expect
    .poll(() => metric('tollgate_debt{owner="subscriber"}'), { timeout: 30_000 })
    .toBe(0.6)
  expect((await topUp(money, -1)).line).toMatchObject({ repaid_micros: 600_000 })
  expect(await balancesOf({ sid: alone.sid })).toMatchObject([
    { bucket_id: 2, free: 400_000, debt: 0 },
  ])
  expect(await outputOf('audit')).toContain('every unit is accounted for')
})

it('an expired balance shows its forfeited units, until it is prolonged', async () => {
  const { sid } = alone
  const pack = ['--sid', String(sid), '--include', '2', '--amount', '77']
  await outputOf('balance', 'add', ...pack, '--from', '2025-01-01', '--to', '2025-02-01')
  const [ended] = await balancesOf({ sid, pp_includes_external_id: 2 })
  const nothing = { totals: { data: { usagev: 0 } } }
  expect(ended).toMatchObject({ free: 0, lapsed: 77, credited: 77, balance: nothing })
  const shown = JSON.parse(await outputOf('balance', 'show', '--sid', String(sid), '--json'))
  expect(shown.buckets.slice(-1)).toMatchObject([{ free: 0, lapsed: 77, credited: 77 }])
  const text = await outputOf('balance', 'show', '--sid', String(sid))
  expect(text).toMatch(/DATA_PACK +data +0 +0 +0 +77 +2025-0.*, 77 lapsed/)
  const asked = { sid, usaget: 'data', usagev: 1, balances: true }
  const { balances } = await charge('d', 0, asked)
  expect(balances).toMatchObject([{ pp_includes_external_id: 1 }])
  const { _id } = ended as { _id: { $id: string } }
  const { entity } = await topUp({ _id: _id.$id, expiration_date: '2099-01-01' }, -3)
  expect(entity).toMatchObject({ free: 80, balance: { totals: { data: { usagev: -80 } } } })
  expect(entity).not.toHaveProperty('lapsed')
})
