/**
 * Clients that write over the entity API until it stops answering, and their record: which writes
 * were acknowledged, and which may or may not have been done.
 */
import type { Fields } from '../exchange.ts'
import type { Random } from '../random.ts'
import { type Answer, createSubscriber, type EntityClient, idOf, nowOf } from './client.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const BEGIN_MS = Date.UTC(2020, 0, 1)
export const FOREVER_FROM_MS = Date.UTC(2100, 0, 1)

/** The last revision of a rate that only one client changes. */
export interface OwnRate {
  readonly key: string
  /** Null if the last write was not answered, or there was none. */
  last: { id: string; fromMs: number; toMs: number } | null
  /** Earliest begin of the next change. */
  nextMs: number
  /** Ends of closed revisions, by time: true if acknowledged. */
  readonly closes: Map<number, boolean>
}

/** A top-up by one unit of money. */
export interface TopUp {
  readonly sid: number
  readonly key: string
}

/** The combined record of all writers. */
export interface Truth {
  /** Rates that all writers change, with the acknowledged descriptions. */
  readonly shared: ReadonlyMap<string, string[]>
  readonly own: readonly OwnRate[]
  readonly accounts: readonly number[]
  readonly sids: readonly number[]
  /** Acknowledged top-ups, by subscriber. */
  readonly credited: Map<number, number>
  /** Top-ups that were not acknowledged. */
  topUps: TopUp[]
  /** Numbers of subscribers, by what they were created with; null if not answered. */
  readonly created: Map<string, number | null>
  /** Unanswered requests of the last run. */
  unanswered: number
  written: number
}

/** Distinguishes keys and marks of one run from those of others. */
let marks = 0

/** Writes repeatedly; resolves when a write is not answered. */
export async function writeUntilCut(
  client: EntityClient,
  truth: Truth,
  random: Random,
  index: number,
): Promise<void> {
  for (;;) {
    marks += 1
    const mark = `mark-${marks}`
    const write = random.pick(WRITES)
    try {
      await write({ client, truth, random, mark, own: truth.own[index] as OwnRate })
      truth.written += 1
    } catch (error) {
      if (error instanceof TypeError || error instanceof SyntaxError) {
        // The error of fetch when the connection ends.
        truth.unanswered += 1
        return
      }
      throw error
    }
  }
}

const WRITES = [changeOwn, changeOwn, changeShared, create, topUp, topUp, topUp, topUp, move, move]

interface Write {
  client: EntityClient
  truth: Truth
  random: Random
  mark: string
  own: OwnRate
}

async function changeOwn({ client, own, random, mark }: Write): Promise<void> {
  const { last, key } = own
  own.nextMs += DAY_MS
  const at = new Date(own.nextMs).toISOString()
  const byKey = { query: { key, effective_date: at } }
  const byId = last === null ? byKey : { query: { _id: last.id } }
  const isClosed = last !== null && last.toMs < FOREVER_FROM_MS
  const action = isClosed
    ? 'reopen'
    : random.pick(['closeandnew', 'permanentchange', ...(last === null ? [] : ['move', 'close'])])
  if (action === 'close') own.closes.set(own.nextMs, false)
  const calls: Record<string, () => Promise<Answer>> = {
    closeandnew: () =>
      client.done('rates/closeandnew', { ...byKey, update: { description: mark, from: at } }),
    permanentchange: () =>
      client.done('rates/permanentchange', { ...byKey, update: { invoice_label: mark, from: at } }),
    move: () => {
      const from = new Date((last?.fromMs ?? 0) + HOUR_MS).toISOString()
      return client.done('rates/move', { ...byId, update: { from } })
    },
    close: () => client.done('rates/close', { ...byId, update: { to: at } }),
    reopen: () => client.done('rates/reopen', { ...byId, update: { from: at } }),
  }
  own.last = null
  const { entity } = await (calls[action] as () => Promise<Answer>)()
  if (action === 'close') own.closes.set(own.nextMs, true)
  own.last = { id: idOf(entity), fromMs: shownMs(entity['from']), toMs: shownMs(entity['to']) }
}

export function shownMs(value: unknown): number {
  const { sec, usec } = value as { sec: number; usec: number }
  return sec * 1000 + usec / 1000
}

/** Begins a revision at a random time within the existing ones. */
async function changeShared({ client, truth, random, mark }: Write): Promise<void> {
  const [key, acknowledged] = random.pick([...truth.shared])
  const from = new Date(BEGIN_MS + random.between(1, 2 ** 31) * 50).toISOString()
  const query = { key, effective_date: from }
  const answer = await client.call('rates/closeandnew', {
    query,
    update: { from, description: mark },
  })
  // Refused if a revision happens to begin at that time.
  if (answer.status === 1) acknowledged.push(mark)
}

async function topUp({ client, truth, random, mark }: Write): Promise<void> {
  const one = { sid: random.pick(truth.sids), key: mark }
  truth.topUps.push(one)
  await repeatTopUp(client, truth, one)
}

/** True once it is acknowledged. */
export async function repeatTopUp(
  client: EntityClient,
  truth: Truth,
  one: TopUp,
): Promise<boolean> {
  const { sid, key } = one
  const query = { sid, pp_includes_external_id: 1 }
  const { status, details } = await client.call('balances/update', {
    query,
    key,
    update: { value: -1 },
  })
  if (status !== 1 || details !== true) return false
  truth.topUps = truth.topUps.filter((other) => other !== one)
  truth.credited.set(sid, (truth.credited.get(sid) ?? 0) + 1)
  return true
}

async function move({ client, truth, random }: Write): Promise<void> {
  const sid = random.pick(truth.sids)
  const aid = random.pick(truth.accounts)
  // Refused if another change has begun a revision in the same millisecond.
  await client.call('subscribers/closeandnew', { query: nowOf({ sid }), update: { aid } })
}

async function create({ client, truth, random, mark }: Write): Promise<void> {
  const msisdn = `4471${mark.replace(/\D/g, '')}`
  truth.created.set(msisdn, null)
  const fields: Fields = { plan: 'DEMO_PREPAID', msisdn }
  const { sid } = await createSubscriber(client, random.pick(truth.accounts), fields)
  truth.created.set(msisdn, sid)
}
