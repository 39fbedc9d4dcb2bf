/**
 * A product with one customer for the tests of the console: Ada, with money, a data pack and
 * included calls, two revisions and, if it charges, a call of 0.42.
 */
import type { Product } from '../product/product.ts'
import { post } from '../system/exchange.ts'
import { waitUntil } from '../wait.ts'
import {
  ADMIN_NAME,
  type ConsoleProduct,
  PASSWORD,
  startConsoleProduct,
} from './console-product.ts'

const SINCE = '2026-01-01'
const CHANGED = '2026-03-15'
const MIB = 1024 * 1024
type Fields = Record<string, unknown>

export interface CustomerScene extends ConsoleProduct {
  readonly aid: number
  readonly sid: number
  /** The same call as the console: answers with the body. */
  api(path: string, body: Fields, key?: string): Promise<Fields>
  /** Opens a data session that holds units, if the product charges; resolves with its id. */
  openSession(): Promise<string>
}

export async function startCustomerScene(charges = true): Promise<CustomerScene> {
  const started = await startConsoleProduct({ charges })
  const { product, close } = started
  try {
    const cookie = await logIn(product.adminUrl)
    const api = (path: string, body: Fields, key?: string) => {
      return call(product.adminUrl, { path, body, cookie, key })
    }
    const ada = await createAda(api)
    let sessions = 0
    const openSession = async () => {
      sessions += 1
      const id = `video-${sessions}`
      await charge(product, ada.sid, 'start', { session_id: id, usaget: 'data', usagev: 50 * MIB })
      return id
    }
    if (charges) await chargeCall(started, ada.sid)
    return { ...started, ...ada, api, openSession }
  } catch (error) {
    await close()
    throw error
  }
}

async function chargeCall({ product, catalog }: ConsoleProduct, sid: number): Promise<void> {
  await charge(product, sid, 'event', { session_id: 'call-1', usaget: 'call', usagev: 100 })
  await waitUntil('the line of the call', async () => {
    return (await catalog.lines.findOne({ session_id: 'call-1' } as object)) !== null
  })
}

/** Resolves with the cookie of the session. */
export async function logIn(url: string, username = ADMIN_NAME): Promise<string> {
  const body = new URLSearchParams({ username, password: PASSWORD })
  const response = await fetch(`${url}/auth/login`, { method: 'POST', body })
  const cookie = response.headers.getSetCookie()[0]?.split(';')[0]
  if (cookie === undefined) throw new Error(`no cookie: ${await response.text()}`)
  return cookie
}

interface Sent {
  readonly path: string
  readonly body: Fields
  readonly cookie: string
  readonly key: string | undefined
}

async function call(url: string, { path, body, cookie, key }: Sent): Promise<Fields> {
  const headers = {
    'content-type': 'application/json',
    cookie,
    ...(key !== undefined && { 'idempotency-key': key }),
  }
  const request = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(`${url}/${path}`, request)
  const answer = (await response.json()) as Fields
  if (answer['status'] === 0) throw new Error(`${path}: ${JSON.stringify(answer)}`)
  return answer
}

const price = (rate: readonly Fields[], access = 0) => ({ BASE: { access, rate } })
const endless = { to: 'UNLIMITED', interval: 1 }

async function createAda(api: CustomerScene['api']): Promise<{ aid: number; sid: number }> {
  const create = async (collection: string, update: Fields) => {
    const sent = { update: { from: SINCE, ...update } }
    return (await api(`billapi/${collection}/create`, sent))['entity'] as Fields
  }
  await create('prepaidincludes', {
    name: 'MONEY',
    external_id: 1,
    priority: 10,
    charging_by: 'total_cost',
    charging_by_usaget: 'total_cost',
    shared: false,
    unlimited: false,
  })
  await create('prepaidincludes', {
    name: 'DATA_PACK',
    external_id: 2,
    priority: 50,
    charging_by: 'usagev',
    charging_by_usaget: 'data',
    shared: false,
    unlimited: false,
  })
  const untaxed = { tax: [{ type: 'vat', taxation: 'no' }], pricing_method: 'tiered' }
  const tiers = [
    { from: 0, to: 60, interval: 1, price: 0.005 },
    { from: 60, ...endless, price: 0.01 },
  ]
  await create('rates', { key: 'CALL', ...untaxed, rates: { call: price(tiers, 0.02) } })
  await create('rates', {
    key: 'DATA',
    ...untaxed,
    rates: { data: price([{ ...endless, interval: MIB, price: 0.01 }]) },
  })
  const plan = {
    connection_type: 'prepaid',
    recurrence: { frequency: 1, start: 1 },
    upfront: false,
    price: [{ from: 0, to: 'UNLIMITED', price: 10 }],
  }
  await create('plans', {
    name: 'SILVER',
    ...plan,
    include: { groups: { CALLS: { value: 30, usage_types: { call: {} } } } },
  })
  await create('plans', {
    name: 'GOLD',
    ...plan,
    price: [{ from: 0, to: 'UNLIMITED', price: 20 }],
    include: { groups: { CALLS: { value: 30, usage_types: { call: {} } } } },
  })
  const person = { firstname: 'Ada', lastname: 'Byron', address: '1 Mill Road' }
  const place = { zip_code: 'AB1 2CD', country: 'UK', email: 'ada@example.org' }
  const { aid } = await create('accounts', { ...person, ...place })
  const numbers = { msisdn: '447700900123', imsi: ['234150000000001'] }
  await create('subscribers', { aid, plan: 'SILVER', ...person, ...numbers })
  const found = await api('billapi/subscribers/get', { query: { aid } })
  const { sid } = (found['details'] as Fields[])[0] ?? {}
  await api('billapi/subscribers/closeandnew', {
    query: { sid, effective_date: CHANGED },
    update: { from: CHANGED, plan: 'GOLD' },
  })
  const load = (include: string, value: number) => {
    const query = { sid, pp_includes_name: include }
    return api('billapi/balances/update', { query, update: { value } }, `first-${include}`)
  }
  await load('MONEY', -10)
  await load('DATA_PACK', -200 * MIB)
  return { aid: Number(aid), sid: Number(sid) }
}

async function charge(
  { realtimePort }: Product,
  sid: number,
  kind: 'start' | 'event',
  service: Fields,
): Promise<void> {
  const request = { record_type: `${kind}_request`, sid, request_num: 0, ...service }
  // Charging follows the catalogue within `catalog.pollMs`.
  let answer = ''
  const isGranted = async () => {
    const { returnCode, text } = await post(realtimePort, request)
    answer = text
    return returnCode === 1
  }
  await waitUntil('a grant', isGranted, 30_000).catch((error: Error) => {
    throw new Error(`${error.message}: ${answer}`)
  })
}
