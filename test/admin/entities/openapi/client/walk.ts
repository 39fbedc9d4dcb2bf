/**
 * The walk of docs/TUTORIAL.md by a client with types generated from `/openapi.json`. The types are
 * are made by the test that compiles this file (../client.test.ts): nothing generated is kept.
 */
import createClient from 'openapi-fetch'
import type { components, paths } from 'tollgate-api'
import type { Walked, WalkOptions } from '../../../../support/admin/entities/openapi/walk-types.ts'

type Account = components['schemas']['accounts.create.update']

const PERSON: Account = {
  firstname: 'Ada',
  lastname: 'Byron',
  email: 'ada@example.org',
  address: '1 Mill Road',
  zip_code: 'AB1 2CD',
  country: 'UK',
}

type Tier = components['schemas']['priceTier']

const tier = (price: number): Tier => ({ from: 0, to: 'UNLIMITED', interval: 60, price })

interface Answer {
  readonly status: number
}

/** The answer that did what was asked; with the types of that one alone. */
function done<T extends Answer>(data: T | undefined, error: unknown): Extract<T, { status: 1 }> {
  if (data?.status !== 1) throw new Error(`refused: ${JSON.stringify(data ?? error)}`)
  return data as Extract<T, { status: 1 }>
}

async function tokenOf({ admin, client }: WalkOptions): Promise<string> {
  const open = createClient<paths>({ baseUrl: admin })
  const body = {
    grant_type: 'client_credentials',
    client_id: client.id,
    client_secret: client.secret,
  }
  const { data, error } = await open.POST('/oauth2/token', { body })
  if (data === undefined) throw new Error(`refused: ${JSON.stringify(error)}`)
  return data.access_token
}

type Api = ReturnType<typeof createClient<paths>>

/** An account with a plan, a price and a subscriber. */
async function customer(api: Api, { suffix }: WalkOptions, usaget: string) {
  const account = await api.POST('/billapi/accounts/create', { body: { update: PERSON } })
  const aid = done(account.data, account.error).entity?.aid ?? 0
  const plan = await api.POST('/billapi/plans/create', {
    body: {
      update: {
        name: `VIEWER${suffix}`,
        connection_type: 'prepaid',
        price: [{ from: 0, to: 'UNLIMITED', price: 0 }],
        recurrence: { frequency: 1, start: 1 },
        upfront: false,
      },
    },
  })
  const name = done(plan.data, plan.error).entity?.name ?? ''
  const key = `VIDEO${suffix}`
  const rates = { [usaget]: { BASE: { rate: [tier(0.02)] } } }
  const rate = await api.POST('/billapi/rates/create', {
    body: { update: { key, pricing_method: 'tiered', rates } },
  })
  done(rate.data, rate.error)
  const { firstname, lastname, address } = PERSON
  const subscriber = await api.POST('/billapi/subscribers/create', {
    body: { update: { aid, plan: name, firstname, lastname, address } },
  })
  const sid = done(subscriber.data, subscriber.error).entity?.sid ?? 0
  return { aid, sid, key }
}

export async function walk(options: WalkOptions): Promise<Walked> {
  const { admin, suffix } = options
  const headers = { Authorization: `Bearer ${await tokenOf(options)}` }
  const api = createClient<paths>({ baseUrl: admin, headers })
  const usaget = `video${suffix.toLowerCase()}`
  const { aid, sid, key } = await customer(api, options, usaget)

  const topUp = await api.POST('/billapi/balances/update', {
    params: { header: { 'Idempotency-Key': `first-five${suffix}` } },
    body: { query: { sid, pp_includes_name: 'MONEY' }, update: { value: -5 } },
  })
  const loaded = done(topUp.data, topUp.error).line?.balance_after
  await options.charge(sid, usaget)

  const balances = await api.GET('/billapi/balances/get', {
    params: { query: { query: JSON.stringify({ sid }) } },
  })
  const [left] = done(balances.data, balances.error).details
  const linesOf = async () => {
    const { data, error } = await api.POST('/billapi/lines/get', { body: { query: { sid } } })
    return done(data, error).details
  }
  const isRecorded = async () => (await linesOf()).some(({ type }) => type === 'realtime')
  await options.until('the usage is recorded', isRecorded)
  const recorded = await linesOf()

  const next = await api.POST('/billapi/rates/closeandnew', {
    body: {
      query: { key, effective_date: 'now' },
      update: { rates: { [usaget]: { BASE: { rate: [tier(0.03)] } } } },
    },
  })
  done(next.data, next.error)
  const rates = await api.POST('/billapi/rates/get', {
    body: { query: { key }, sort: { from: 1 } },
  })
  const balance = left?.balance
  const credit = balance !== undefined && 'cost' in balance ? balance.cost : undefined
  return {
    aid,
    sid,
    credit: [loaded, credit],
    lines: recorded.map(({ type }) => type),
    revisions: done(rates.data, rates.error).details.length,
    refused: await refusal(api),
  }
}

/** What an account without its mandatory fields is refused with. */
async function refusal(api: Api): Promise<string> {
  const update = { firstname: 'Ada' } as Account
  const { data } = await api.POST('/billapi/accounts/create', { body: { update } })
  return data?.status === 0 && 'message' in data ? data.message : ''
}
