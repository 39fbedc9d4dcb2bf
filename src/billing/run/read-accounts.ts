/** Reads the input of several accounts with few queries per collection. */
import type { Catalog } from '../../catalog/connection.ts'
import type { CreditLineDocument } from '../../catalog/records/usage/credit-line.ts'
import type { Fields } from '../../domain/fields.ts'
import type { AccountCycle, StoredRevision } from '../cycle/compute.ts'
import { keyAfter, keyEndMs } from '../cycle/cycle-key.ts'
import { dayOf, dayStartMs } from '../cycle/days.ts'
import type { HolderRevisions } from '../cycle/input.ts'
import type { PastBalance } from '../cycle/invoice.ts'
import { withoutTaken } from '../cycle/late-usage.ts'
import { type RunCycle, runIdOf } from '../cycle/run-cycle.ts'
import type { InvoiceLine } from '../cycle/totals.ts'
import {
  type InputLine,
  type InputLines,
  lineReader,
  NO_LINES,
  readInputLines,
  readPage,
} from '../invoices/input-lines.ts'
import { currentBalances } from '../statements/balances.ts'
import type { Customers } from './account-source.ts'
import { longestPeriod, type RunData } from './run-data.ts'

/** Fields of usage and credits that an invoice depends on; the others are several times as long. */
const INVOICED_FIELDS = {
  stamp: 1,
  v: 1,
  uninvoiced: 1,
  type: 1,
  aid: 1,
  sid: 1,
  plan: 1,
  urt: 1,
  usaget: 1,
  usagev: 1,
  name: 1,
  key: 1,
  description: 1,
  label: 1,
  rate: 1,
  arate_key: 1,
  aprice: 1,
  final_charge: 1,
  tax_data: 1,
  exact: 1,
} as const satisfies Record<
  | Exclude<keyof InvoiceLine, 'before_rounding'>
  | 'stamp'
  | 'v'
  | 'uninvoiced'
  | 'aid'
  | 'plan'
  | 'urt',
  1
>

/** Lines of one account; more would not fit into an invoice. */
const LINES_PER_ACCOUNT_MAX = 100_000

/** An account whose input is too large, or not usable. */
export class AccountInputError extends Error {
  override name = 'AccountInputError'
}

export interface AccountInput {
  readonly input: AccountCycle | AccountInputError
  /** The lines as stored, with which a confirmation compares. */
  readonly lines: InputLines
  /** Balance of the account before the invoice; absent without bills. */
  readonly balance?: PastBalance
}

/**
 * By account, those of another invoicing day left out. Rejects with `CatalogUnavailableError`.
 */
export async function readAccounts(
  catalog: Catalog,
  run: RunCycle,
  data: RunData,
  { aids, customers }: { readonly aids: readonly number[]; readonly customers: Customers },
  nowMs: number,
): Promise<Map<number, AccountInput>> {
  // A customer system is asked for the cycle only: longer periods are not corrected.
  const months = customers === null ? longestPeriod(data.catalogue) : 1
  const [known, lines, prior, periods, later, previous, balances] = await Promise.all([
    customers === null ? readRevisions(catalog, run, months, aids) : customersOf(customers),
    readInputLines(lineReader(catalog), run, aids, INVOICED_FIELDS),
    readPrior(catalog, run, aids),
    months === 1 ? null : readPeriods(catalog, run, months, aids),
    readInstallments(catalog, run, aids),
    readPrevious(catalog, run, aids),
    currentBalances(catalog, aids),
  ])
  const inputs = new Map<number, AccountInput>()
  for (const aid of aids) {
    const own = known.get(aid) ?? (customers === null ? NOTHING : unknownTo(aid))
    const stored = lines.get(aid) ?? NO_LINES
    if (own.problem !== null) {
      inputs.set(aid, { input: new AccountInputError(own.problem), lines: stored })
      continue
    }
    const { account, subscribers, elsewhere = [] } = customers === null ? inWindow(run, own) : own
    if (!isOfDay(run, account)) continue
    const { own: usage, late, taken } = stored
    if (usage.length + late.length > LINES_PER_ACCOUNT_MAX) {
      const reason = `account ${aid}: has more than ${LINES_PER_ACCOUNT_MAX} lines in the cycle`
      inputs.set(aid, { input: new AccountInputError(reason), lines: stored })
      continue
    }
    const installments = (later.get(aid) ?? []) as unknown as CreditLineDocument[]
    const balance = balances.get(aid)
    const input: AccountCycle = {
      aid,
      calendar: run.calendar,
      cycle: run.cycle,
      next: run.next,
      account,
      subscribers,
      elsewhere,
      catalogue: data.catalogue,
      prior: prior.get(aid) ?? [],
      ...(periods !== null && { periods: { ...revisionsOf(own), ...periods.of(aid) } }),
      hasPreviousRun: previous.has(aid),
      lines: withoutTaken(usage, taken).sort(byTime),
      late: [...late].sort(byTime),
      laterInstallments: installments.sort(byTime),
      mergedInstallments: own.merged,
      settings: data.settings,
      ...(data.seller !== null && { seller: data.seller }),
      nowMs,
    }
    inputs.set(aid, { input, lines: stored, ...(balance !== undefined && { balance }) })
  }
  return inputs
}

/** A customer system does not tell other accounts of a subscriber. */
interface Known extends HolderRevisions {
  readonly merged: readonly number[]
  readonly problem: string | null
}

const NOTHING: Known = { account: [], subscribers: [], merged: [], problem: null }

function unknownTo(aid: number): Known {
  return { ...NOTHING, problem: `account ${aid}: the customer system does not return it` }
}

function customersOf(customers: NonNullable<Customers>): Map<number, Known> {
  return new Map(customers.map((each) => [each.aid, each]))
}

/** The revision in force at the end of the cycle decides; the last one of an account that ended. */
function isOfDay(run: RunCycle, account: readonly StoredRevision[]): boolean {
  if (run.invoicingDay === null) return true
  const begun = account.filter(({ from }) => from.getTime() < run.cycle.endMs)
  const day = begun.at(-1)?.['invoicing_day']
  const isOwn = day !== undefined && day !== null && day !== ''
  return (isOwn ? Number(day) : run.installedDay) === run.invoicingDay
}

function byTime(a: InputLine, b: InputLine): number {
  const difference = a.urt.getTime() - b.urt.getTime()
  if (difference !== 0) return difference
  return a.stamp < b.stamp ? -1 : 1
}

function revisionsOf({ account, subscribers, elsewhere = [] }: Known) {
  return { account, subscribers, elsewhere }
}

/** The revisions in force in the cycle or the next one. */
function inWindow({ cycle, next }: RunCycle, { account, subscribers, elsewhere = [] }: Known) {
  const isIn = ({ from, to }: StoredRevision) =>
    from.getTime() < next.endMs && to.getTime() > cycle.startMs
  const [own, others] = [subscribers, elsewhere].map((all) => all.filter(isIn))
  return { account: account.filter(isIn), subscribers: own ?? [], elsewhere: others ?? [] }
}

/** `months`: of the longest period, the cycle and the next one may be anywhere in it. */
async function readRevisions(
  catalog: Catalog,
  { key, calendar }: RunCycle,
  months: number,
  aids: readonly number[],
): Promise<Map<number, Known>> {
  const inTime = {
    from: { $lt: new Date(keyEndMs(keyAfter(key, months), calendar)) },
    to: { $gt: new Date(keyEndMs(keyAfter(key, -months), calendar)) },
    deleted: { $ne: true },
  }
  const find = async (filter: Fields) =>
    (await readPage(
      catalog.reads.subscribers
        .find({ ...filter, ...inTime } as never)
        .sort({ aid: 1, type: 1, from: 1, sid: 1 })
        .toArray(),
    )) as unknown as Revision[]
  const revisions = byAccount(await find({ aid: { $in: [...aids] } }))
  const sids = begunWithinDay([...revisions.values()].flat(), calendar.zone)
  const moved = sids.length === 0 ? [] : await find({ type: 'subscriber', sid: { $in: sids } })
  return new Map(
    [...revisions].map(([aid, own]) => {
      const account = own.filter(({ type }) => type === 'account')
      const subscribers = own.filter(({ type }) => type === 'subscriber')
      const known = new Set(subscribers.map(({ sid }) => sid))
      const elsewhere = moved.filter((one) => one.aid !== aid && known.has(one['sid']))
      return [aid, { ...NOTHING, account, subscribers, elsewhere }]
    }),
  )
}

type Revision = StoredRevision & { readonly aid: number }

/** Subscribers that an account gets within a day, perhaps from another one. */
function begunWithinDay(revisions: readonly Revision[], zone: string): number[] {
  const own = revisions.filter(({ type }) => type === 'subscriber')
  const ends = new Set(own.map(({ aid, sid, to }) => `${aid}/${sid}/${to.getTime()}`))
  const begun = own.filter(({ aid, sid, from }) => {
    const atMs = from.getTime()
    return dayStartMs(zone, dayOf(zone, atMs)) !== atMs && !ends.has(`${aid}/${sid}/${atMs}`)
  })
  return [...new Set(begun.map(({ sid }) => Number(sid)))]
}

async function readPrior(catalog: Catalog, { key }: RunCycle, aids: readonly number[]) {
  return findLines(catalog, aids, { billrun: keyAfter(key, -1), source: 'billrun' })
}

/**
 * The earlier runs, and the lines that they wrote for periods that contain the cycle. `months`: of
 * the longest period.
 */
async function readPeriods(
  catalog: Catalog,
  run: RunCycle,
  months: number,
  aids: readonly number[],
) {
  const [lines, runs] = await Promise.all([
    readPeriodLines(catalog, run, months, aids),
    readRuns(catalog, run, months),
  ])
  return { of: (aid: number) => ({ prior: lines.get(aid) ?? [], runs }) }
}

/** Keys of the runs before that are finished. */
async function readRuns(
  catalog: Catalog,
  { key, invoicingDay }: RunCycle,
  months: number,
): Promise<string[]> {
  const keys = Array.from({ length: months }, (_, index) => keyAfter(key, -1 - index))
  const ids = keys.map((each) => runIdOf({ key: each, invoicingDay }))
  const found = await catalog.cycleruns
    .find({ _id: { $in: ids }, state: 'finished' }, { projection: { key: 1 } })
    .toArray()
  return found.map((run) => run.key)
}

/** Lines of periods that contain the cycle; those of other systems if they may be of such. */
async function readPeriodLines(
  catalog: Catalog,
  { key, cycle }: RunCycle,
  months: number,
  aids: readonly number[],
) {
  return findLines(catalog, aids, {
    billrun: { $gte: keyAfter(key, -months), $lt: key },
    source: 'billrun',
    $or: [
      { charged_billrun: { $gte: key } },
      { charged_billrun: null, is_upfront: true, end: { $gt: new Date(cycle.startMs) } },
      { charged_billrun: null, is_upfront: true, discount_end: { $gt: new Date(cycle.startMs) } },
    ],
  })
}

async function readInstallments(catalog: Catalog, { key }: RunCycle, aids: readonly number[]) {
  const later = { billrun: { $gt: key, $regex: /^\d{6}$/ }, installment_no: { $gt: 1 } }
  return findLines(catalog, aids, { ...later, type: 'credit' })
}

async function findLines(
  catalog: Catalog,
  aids: readonly number[],
  filter: Fields,
  projection: Record<string, 1> = {},
) {
  const query = { aid: { $in: [...aids] }, ...filter }
  const found = await lineReader(catalog).lines(query, projection)
  return byAccount(found as unknown as (Fields & { aid: number })[])
}

/** The accounts whose previous cycle was run. */
async function readPrevious(
  catalog: Catalog,
  { key, invoicingDay }: RunCycle,
  aids: readonly number[],
): Promise<Set<number>> {
  const previous = keyAfter(key, -1)
  const [run, invoices] = await Promise.all([
    catalog.cycleruns.findOne({ _id: runIdOf({ key: previous, invoicingDay }) }),
    catalog.billrun
      .find({ aid: { $in: [...aids] }, billrun_key: previous }, { projection: { aid: 1 } })
      .toArray(),
  ])
  return new Set(run?.state === 'finished' ? aids : invoices.map(({ aid }) => aid))
}

function byAccount<T extends { readonly aid: number }>(documents: readonly T[]): Map<number, T[]> {
  const found = new Map<number, T[]>()
  for (const document of documents) {
    const list = found.get(document.aid)
    if (list === undefined) found.set(document.aid, [document])
    else list.push(document)
  }
  return found
}
