/**
 * The walk of docs/TUTORIAL.md by `@tollgate/client`. A test compiles this file against the packed
 * package (../client.test.ts), and another one runs it (test/cli/readme.test.ts).
 */
import {
  ApiError,
  type ChargingPaths,
  type Client,
  type components,
  createClient,
  type Paths,
} from '@tollgate/client'
import type { Walked, WalkOptions } from '../../../support/admin/openapi/walk-types.ts'

type Schemas = components['schemas']

const PERSON: Schemas['accounts.create.update'] = {
  firstname: 'Ada',
  lastname: 'Byron',
  email: 'ada@example.org',
  address: '1 Mill Road',
  zip_code: 'AB1 2CD',
  country: 'UK',
}

const tier = (price: number): Schemas['priceTier'] => {
  return { from: 0, to: 'UNLIMITED', interval: 60, price }
}

async function tokenOf({ admin, client }: WalkOptions): Promise<string> {
  const { access_token: token } = await createClient({ url: admin }).post('/oauth2/token', {
    grant_type: 'client_credentials',
    client_id: client.id,
    client_secret: client.secret,
  })
  return token
}

type Api = Client<Paths>

/** An account with a plan, a price and a subscriber. */
async function customer(api: Api, { suffix }: WalkOptions, usaget: string) {
  const account = await api.post('/billapi/accounts/create', { update: PERSON })
  const plan = await api.post('/billapi/plans/create', {
    update: {
      name: `VIEWER${suffix}`,
      connection_type: 'prepaid',
      price: [{ from: 0, to: 'UNLIMITED', price: 0 }],
      recurrence: { frequency: 1, start: 1 },
      upfront: false,
    },
  })
  const key = `VIDEO${suffix}`
  const rates = { [usaget]: { BASE: { rate: [tier(0.02)] } } }
  await api.post('/billapi/rates/create', { update: { key, pricing_method: 'tiered', rates } })
  const { firstname, lastname, address } = PERSON
  const aid = account.entity?.aid ?? 0
  const owner = { aid, plan: plan.entity?.name ?? '', firstname, lastname, address }
  const subscriber = await api.post('/billapi/subscribers/create', { update: owner })
  return { aid, sid: subscriber.entity?.sid ?? 0, key }
}

/** Charges five minutes; repeats until a new subscriber or price is in effect. */
async function charge(options: WalkOptions, sid: number, usaget: string): Promise<void> {
  const charging = createClient<ChargingPaths>({ url: options.realtime })
  let attempt = 0
  const session = () => ({ session_id: `film-${sid}-${attempt}`, sid, usaget })
  await options.until('the subscriber can be charged', async () => {
    attempt += 1
    const start = { ...session(), request_num: 0, usagev: 600 }
    const answer = await charging.post('/realtime', { record_type: 'start_request', ...start })
    return answer.returnCode === 1
  })
  const used = { ...session(), request_num: 1, used_usagev: 300 }
  const { desc, status } = await charging.post('/realtime', {
    ...used,
    record_type: 'release_request',
  })
  if (status === 0) throw new Error(desc)
}

export async function walk(options: WalkOptions): Promise<Walked> {
  const { admin, suffix } = options
  const api = createClient({ url: admin, token: () => tokenOf(options) })
  const usaget = `video${suffix.toLowerCase()}`
  const { aid, sid, key } = await customer(api, options, usaget)

  const topUp = await api.post(
    '/billapi/balances/update',
    { query: { sid, pp_includes_name: 'MONEY' }, update: { value: -5 } },
    { idempotencyKey: `first-five${suffix}` },
  )
  await charge(options, sid, usaget)

  const { details } = await api.get('/billapi/balances/get', { query: JSON.stringify({ sid }) })
  const balance = details[0]?.balance
  const credit = balance !== undefined && 'cost' in balance ? balance.cost : undefined
  const linesOf = async () => (await api.post('/billapi/lines/get', { query: { sid } })).details
  const isRecorded = async () => (await linesOf()).some(({ type }) => type === 'realtime')
  await options.until('the usage is recorded', isRecorded)
  const lines = await linesOf()

  await api.post('/billapi/rates/closeandnew', {
    query: { key, effective_date: 'now' },
    update: { rates: { [usaget]: { BASE: { rate: [tier(0.03)] } } } },
  })
  const rates = await api.post('/billapi/rates/get', { query: { key }, sort: { from: 1 } })
  const bill = await api.post('/api/bill', { aid })
  return {
    aid,
    sid,
    credit: [topUp.line?.balance_after, credit],
    lines: lines.map(({ type }) => type),
    revisions: rates.details.length,
    owed: JSON.stringify(bill.details),
    refused: await refusal(api),
  }
}

/** The refusal of an account without its mandatory fields. */
async function refusal(api: Api): Promise<string> {
  try {
    // @ts-expect-error fields are missing
    await api.post('/billapi/accounts/create', { update: { firstname: 'Ada' } })
    return ''
  } catch (error) {
    if (error instanceof ApiError) return `${error.code} ${error.message}`
    throw error
  }
}
