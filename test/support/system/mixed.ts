/**
 * Three kinds of subscribers in rotation, so that each account has some of each: plain ones of the
 * demo catalogue; prepaid ones with included units and money; postpaid ones with limits. The
 * entities, and their counters as the audit expects them.
 */
import { aidOf, type Entity, FIRST_SID } from '../product/population.ts'

export type Kind = 'plain' | 'included' | 'postpaid'

const KINDS: readonly Kind[] = ['plain', 'included', 'postpaid']

export const PLANS: Readonly<Record<Kind, string>> = {
  plain: 'DEMO_PREPAID',
  included: 'AUDIT_INCLUDED',
  postpaid: 'AUDIT_POSTPAID',
}

/** A counter by its name, and its maximum: units or micros. */
export interface ExpectedCounter {
  counter: string
  kind: 'units' | 'totalCost'
  total: number
}

export interface Mix {
  /** Usage types of groups, by kind. */
  grouped: Readonly<Record<Kind, readonly string[]>>
  /** Counters that a subscriber of a kind may have, and an account. */
  own: Readonly<Record<Kind, readonly ExpectedCounter[]>>
  shared: readonly ExpectedCounter[]
}

/** For a population of plain subscribers only. */
export const UNMIXED: Mix = {
  grouped: { plain: [], included: [], postpaid: [] },
  own: { plain: [], included: [], postpaid: [] },
  shared: [],
}

/** The names of all possible counters. */
export function countersOf({ own, shared }: Mix): Set<string> {
  return new Set([...Object.values(own).flat(), ...shared].map(({ counter }) => counter))
}

export interface Mixed {
  entities: Entity[]
  fieldsOf: (index: number) => Readonly<Record<string, unknown>>
  mix: Mix
}

/** The kind of a subscriber of a mixed population. */
export function kindOf(sid: number): Kind {
  return KINDS[(sid - FIRST_SID) % KINDS.length] as Kind
}

const MIB = 1024 * 1024
const MICROS_PER_CENT = 10_000
const CALLS = 'AUDIT_CALLS'
/** Id of the service instance that every subscriber has. */
const SERVICE_ID = 7

/** For a thousand sessions: enough for most of them, but not for all. */
const DATA_MIB = 40
const SHARED_SECONDS = 3_000
const CALL_CENTS = 80
const LIMIT_CENTS = 600
const ACCOUNT_LIMIT_CENTS = 1_800

interface Size {
  subscribers: number
  subscribersPerAccount: number
}

/** For this many thousand sessions in a cycle. */
export function mixed({ subscribers, subscribersPerAccount }: Size, thousands: number): Mixed {
  const times = (amount: number) => Math.ceil(amount * thousands)
  const money = (cents: number) => times(cents) / 100
  const accounts = subscribers / subscribersPerAccount
  const accountDocuments = Array.from({ length: accounts }, (_, index): Entity => {
    const aid = aidOf(index * subscribersPerAccount, subscribersPerAccount)
    const document = { type: 'account', aid, credit_limit: money(ACCOUNT_LIMIT_CENTS) }
    return { collection: 'subscribers', document }
  })
  const fields: Readonly<Record<Kind, Readonly<Record<string, unknown>>>> = {
    plain: {},
    included: { plan: PLANS.included, services: [{ name: CALLS, service_id: SERVICE_ID }] },
    postpaid: { plan: PLANS.postpaid, credit_limit: money(LIMIT_CENTS) },
  }
  return {
    entities: [
      ...offers(times(DATA_MIB) * MIB, times(SHARED_SECONDS), money(CALL_CENTS)),
      ...accountDocuments,
    ],
    fieldsOf: (index) => fields[kindOf(FIRST_SID + index)],
    mix: mixOf(times),
  }
}

function offers(bytes: number, seconds: number, cost: number): Entity[] {
  const data = { value: bytes, usage_types: { data: {} } }
  const calls = { usage_types: { call: {} } }
  const groups = {
    MINUTES: { ...calls, value: seconds, account_shared: true },
    MONEY: { ...calls, cost },
  }
  return [
    { collection: 'services', document: { name: CALLS, include: { groups } } },
    {
      collection: 'plans',
      document: {
        name: PLANS.included,
        connection_type: 'prepaid',
        include: { groups: { DATA: data } },
      },
    },
    { collection: 'plans', document: { name: PLANS.postpaid, connection_type: 'postpaid' } },
  ]
}

function mixOf(times: (amount: number) => number): Mix {
  const micros = (cents: number) => times(cents) * MICROS_PER_CENT
  const limit = (cents: number): ExpectedCounter => {
    return { counter: 'credit', kind: 'totalCost', total: micros(cents) }
  }
  const data = `group/${PLANS.included}/0/DATA`
  const money = `group/${CALLS}/${SERVICE_ID}/MONEY`
  const minutes = `group/${CALLS}/0/MINUTES`
  return {
    grouped: { plain: [], included: ['data', 'call'], postpaid: [] },
    own: {
      plain: [],
      included: [
        { counter: data, kind: 'units', total: times(DATA_MIB) * MIB },
        { counter: money, kind: 'totalCost', total: micros(CALL_CENTS) },
      ],
      postpaid: [limit(LIMIT_CENTS)],
    },
    shared: [
      { counter: minutes, kind: 'units', total: times(SHARED_SECONDS) },
      limit(ACCOUNT_LIMIT_CENTS),
    ],
  }
}
