/** `tollgate cycle preview`: what a run would store, also with a supposed change. */
import { readFileSync } from 'node:fs'
import { computeAccount } from '../billing/cycle/compute.ts'
import { keyAfter } from '../billing/cycle-key.ts'
import { type Assumed, assumedAccounts, readAssumed } from '../billing/run/assumed.ts'
import type { ChangedLine } from '../billing/run/changed-lines.ts'
import { type AccountPreview, previewAccounts } from '../billing/run/preview.ts'
import type { PriceChange } from '../billing/run/price-changes.ts'
import { type CycleState, readCycleState } from '../billing/run/status.ts'
import type { Catalog } from '../catalog/connection.ts'
import { Exact } from '../catalog/records/exact-amount.ts'
import type { Config } from '../config/schema.ts'
import { FieldError } from '../domain/fields.ts'
import { print } from '../runtime/terminal.ts'
import { inCycle } from './cycle.ts'
import { CommandError, UsageError } from './errors.ts'
import { type OptionValues, optionalText } from './parse.ts'

const WITH_INVOICES: readonly string[] = ['running', 'finished', 'to_rerun', 'confirmed']

/** Returns 1 if an account cannot be computed. */
export function previewCycle(options: OptionValues, file: string | undefined): Promise<0 | 1> {
  const aid = accountIn(options)
  const back = backIn(options)
  const path = optionalText(options, 'assume')
  const change = path === undefined ? null : jsonIn(path)
  return inCycle(options, file, async ({ catalog, config, clock, state, openAccounts }) => {
    const { isExternal } = await openAccounts()
    const assumed = change === null ? null : await assumedIn(catalog, config, path ?? '', change)
    if (isExternal) refuseAssumed(path ?? '', assumed)
    else await checkAccounts(catalog, aid, assumed)
    const { cycle, status } = state
    const nowMs = clock.nowMs()
    const previous = await previousOf(catalog, state, nowMs)
    const comparedKey = WITH_INVOICES.includes(status) ? cycle.key : previous.key
    const isJson = options['json'] === true
    const head = { key: cycle.key, status, previous, compared: comparedKey }
    print(isJson ? JSON.stringify(head) : headText(head))
    const sums = new Sums()
    const request = { cycle, aid, assumed, comparedKey, back, nowMs }
    const isSame = comparedKey === cycle.key
    const deps = { catalog, config, compute: computeAccount, openAccounts }
    for await (const account of previewAccounts(deps, request)) {
      sums.add(account)
      if (aid === null && !isShown(account, isSame)) continue
      if (isJson) print(JSON.stringify(account))
      else for (const line of accountLines(account)) print(line)
    }
    print(isJson ? JSON.stringify(sums.document()) : sums.text())
    return sums.failed === 0 ? 0 : 1
  })
}

function accountIn(options: OptionValues): number | null {
  const text = optionalText(options, 'aid')
  if (text === undefined) return null
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new UsageError('--aid must be the number of an account')
  return Number(text)
}

const BACK = 2
const BACK_MAX = 24

function backIn(options: OptionValues): number {
  const text = optionalText(options, 'back') ?? String(BACK)
  if (!/^\d{1,2}$/.test(text) || Number(text) > BACK_MAX) {
    throw new UsageError(`--back must be a number of cycles from 0 to ${BACK_MAX}`)
  }
  return Number(text)
}

/** Usage differs from one cycle to the next for nearly all accounts. */
function isShown(account: AccountPreview, isSameCycle: boolean): boolean {
  const { changes, others, price_changes: prices, not_returned: lost, failed } = account
  if (failed !== undefined || changes.length + prices.length + lost.length > 0) return true
  return isSameCycle && (others.wanted !== others.stored || account.total !== account.stored)
}

function jsonIn(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new UsageError(`--assume ${path}: ${(error as Error).message}`)
  }
}

async function assumedIn(
  catalog: Catalog,
  { rating }: Config,
  path: string,
  change: unknown,
): Promise<Assumed> {
  try {
    return await readAssumed(catalog, change, rating.timeZone)
  } catch (error) {
    if (error instanceof FieldError) throw new UsageError(`--assume ${path}: ${error.message}`)
    throw error
  }
}

/** Revisions of customers are supposed in addition to stored ones. */
function refuseAssumed(path: string, assumed: Assumed | null): void {
  if (assumed === null || assumedAccounts(assumed).length === 0) return
  throw new UsageError(
    `--assume ${path}: account and subscribers cannot be supposed: the customer system has them`,
  )
}

async function checkAccounts(
  catalog: Catalog,
  aid: number | null,
  assumed: Assumed | null,
): Promise<void> {
  const wanted = [...(aid === null ? [] : [aid]), ...(assumed ? assumedAccounts(assumed) : [])]
  const found = await catalog.run('find the accounts', () =>
    catalog.subscribers.distinct('aid', { aid: { $in: wanted }, deleted: { $ne: true } } as never),
  )
  const missing = wanted.find((one) => !(found as number[]).includes(one))
  if (missing !== undefined) throw new CommandError(`the account ${missing} does not exist`)
}

interface Previous {
  readonly key: string
  readonly status: CycleState['status']
  /** The lines from which charges that were paid ahead are known. */
  readonly assumption: string
}

async function previousOf(
  catalog: Catalog,
  { cycle }: CycleState,
  nowMs: number,
): Promise<Previous> {
  const key = keyAfter(cycle.key, -1)
  const { invoicingDay, installedDay, calendar } = cycle
  const installed = { ...calendar, cycleDay: installedDay }
  const name = { key, invoicingDay }
  const { status } = await readCycleState(catalog, name, installed, nowMs)
  const isRun = WITH_INVOICES.includes(status)
  const assumption = isRun ? 'its lines as stored' : 'not run: only lines that are stored already'
  return { key, status, assumption }
}

function headText(head: { key: string; status: string; previous: Previous; compared: string }) {
  const { key, status, previous, compared } = head
  return [
    `preview of the cycle ${key} (${status}); nothing is stored`,
    `previous cycle ${previous.key} (${previous.status}): ${previous.assumption}`,
    `compared with the invoices of ${compared}`,
  ].join('\n')
}

function accountLines(account: AccountPreview): string[] {
  const { aid, total, stored, changes, others, failed } = account
  if (failed !== undefined) return [`account ${aid}: failed: ${failed}`]
  const difference = new Exact(total ?? 0).minus(stored ?? 0)
  const totals = `${total ?? 'no invoice'}, stored ${stored ?? 'none'}, difference ${difference}`
  const ofOthers = new Exact(others.wanted).minus(others.stored)
  return [
    `account ${aid}: ${totals}`,
    ...changes.map((change) => `  ${changeText(change)}`),
    ...(ofOthers.isZero()
      ? []
      : [`  usage and credits: ${others.stored} -> ${others.wanted} (${ofOthers})`]),
    ...account.price_changes.map((change) => `  ${priceChangeText(change)}`),
    ...account.not_returned.map(
      (line) => `  not corrected in cycle ${line.cycle}: ${changeText(line)}`,
    ),
  ]
}

function changeText({ line, from, to, stored, wanted, difference }: ChangedLine): string {
  const days = `${from.slice(0, 10)} to ${to.slice(0, 10)}`
  return `${line} ${days}: ${stored ?? 'none'} -> ${wanted ?? 'none'} (${difference})`
}

function priceChangeText({ sid, kind, name, cycle, since, ...price }: PriceChange): string {
  const { rule, amount, other_amount: other } = price
  const otherRule = rule === 'at_end' ? 'by_day' : 'at_end'
  const alternative = other === null ? '' : `, otherwise ${other} (${otherRule})`
  return (
    `price of ${kind} ${name} changes on ${since.slice(0, 10)} in cycle ${cycle}: ` +
    `subscriber ${sid} pays ${amount} (${rule})${alternative}`
  )
}

class Sums {
  failed = 0
  #accounts = 0
  #changed = 0
  #invoices = 0
  #total = new Exact(0)
  #stored = new Exact(0)
  #priceChanges = 0
  #notReturned = new Exact(0)

  add(account: AccountPreview): void {
    const { total, stored, changes, failed } = account
    if (account.price_changes.length > 0) this.#priceChanges += 1
    for (const { difference } of account.not_returned) {
      this.#notReturned = this.#notReturned.plus(difference)
    }
    this.#accounts += 1
    if (failed !== undefined) this.failed += 1
    if (changes.length > 0) this.#changed += 1
    if (total !== null) this.#invoices += 1
    this.#total = this.#total.plus(total ?? 0)
    this.#stored = this.#stored.plus(stored ?? 0)
  }

  document() {
    return {
      accounts: this.#accounts,
      invoices: this.#invoices,
      changed: this.#changed,
      failed: this.failed,
      total: this.#total.toString(),
      stored: this.#stored.toString(),
      difference: this.#total.minus(this.#stored).toString(),
      price_changes: this.#priceChanges,
      not_returned: this.#notReturned.toString(),
    }
  }

  text(): string {
    const { accounts, invoices, changed, failed, total, stored, difference, ...more } =
      this.document()
    return (
      `accounts ${accounts}, invoices ${invoices}, with differences ${changed}, ` +
      `failed ${failed}\n` +
      `total ${total}, stored ${stored}, difference ${difference}\n` +
      `with changed prices ${more.price_changes}, not corrected ${more.not_returned}`
    )
  }
}
