/** `tollgate rerate`: recorded usage by today's catalogue, as a preview or charged. */
import { setTimeout as delay } from 'node:timers/promises'
import { queuedFilter } from '../admin/actions/resetlines.ts'
import { type MoneyFormat, moneyFormat } from '../billing/currency.ts'
import { createLiveCatalogue } from '../billing/quote/live-catalogue.ts'
import { settingsOf } from '../billing/quote/settings.ts'
import { NO_SUMS, openRerateSource, sumOfSums } from '../billing/rerate/account-prices.ts'
import {
  previewRerate,
  type ReratedAccount,
  type RerateSelection,
  type RerateTotals,
  selectionFault,
} from '../billing/rerate/preview.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { JobDocument } from '../catalog/records/job-document.ts'
import { Exact } from '../catalog/records/money/exact-amount.ts'
import type { RerateAmounts, RerateDocument } from '../catalog/records/usage/rerate-documents.ts'
import type { Config } from '../config/schema.ts'
import { ORIGIN } from '../intake/prepared-chunk.ts'
import { isRunning } from '../jobs/jobs.ts'
import {
  beginRerate,
  EXTERNAL_SUBSCRIBERS,
  type RerateRequest,
  rerateHandler,
} from '../jobs/rerate-job.ts'
import { runJob } from '../jobs/runner.ts'
import { createLogger } from '../runtime/log.ts'
import { CommandError, UsageError } from './errors.ts'
import { operator } from './operator.ts'
import {
  instantFrom,
  type OptionValues,
  optionalInstant,
  optionalNumber,
  optionalText,
  requiredText,
} from './options.ts'
import type { Shell } from './shell.ts'
import { LEDGER_LOST, patienceIn, type Stores, withStores } from './stores.ts'

const POLL_MS = 500

/**
 * Returns 1 if lines cannot be priced again, or if not all are done. Throws `CommandError` or
 * `UsageError`.
 */
export async function rerate(shell: Shell, options: OptionValues): Promise<0 | 1> {
  const [isDry, isApplied] = [options['dry-run'] === true, options['yes'] === true]
  if (isDry && isApplied) throw new UsageError('--dry-run and --yes exclude each other')
  const config = shell.config()
  const order = orderIn(options, config.rating.timeZone)
  const act = async (stores: Stores) => {
    const nowMs = stores.clock.nowMs()
    const selection = { ...order, toMs: order.toMs ?? nowMs + 1 }
    const { cycleAt } = settingsOf(config.rating)
    const fault = selectionFault(selection, cycleAt(nowMs, nowMs))
    if (fault !== null) throw new UsageError(`--${fault.path} ${fault.text}`)
    const { isExternal } = await stores.accounts.openAccounts()
    if (isExternal) throw new CommandError(EXTERNAL_SUBSCRIBERS)
    const output = outputOf(shell, config, options['json'] === true)
    if (isApplied) return apply(stores, config, order, output)
    const totals = await preview(stores, config, selection, output)
    if (!isDry) output.say('nothing has changed: --yes charges it')
    return totals.refused === 0 ? 0 : 1
  }
  return withStores(config, act, patienceIn(shell, config))
}

/** Checked before the clock is known. Throws `UsageError`. */
function orderIn(options: OptionValues, timeZone: string): RerateRequest {
  const fromMs = instantFrom(requiredText(options, 'from'), '--from', timeZone)
  const toMs = optionalInstant(options, 'to', timeZone) ?? null
  const rateKey = optionalText(options, 'rate') ?? ''
  const plan = optionalText(options, 'plan') ?? ''
  const sid = optionalNumber(options, 'sid') ?? 0
  const fileType = optionalText(options, 'file-type')
  const origin = fileType === undefined ? '' : `${ORIGIN}/${fileType}`
  return { fromMs, toMs, rateKey, plan, sid, origin }
}

interface Output {
  account(account: ReratedAccount, isDone: boolean): void
  totals(totals: Omit<RerateTotals, 'largest'> & Partial<RerateTotals>, isDone: boolean): void
  /** Not in JSON. */
  say(text: string): void
}

function outputOf(shell: Shell, { rating }: Config, isJson: boolean): Output {
  const money = moneyFormat(rating.currencyCode)
  const say = (text: string) => {
    if (!isJson) shell.print(text)
  }
  return {
    say,
    account(account, isDone) {
      if (isJson) shell.print(JSON.stringify(account))
      for (const line of accountLines(account, money, isDone)) say(line)
    },
    totals(totals, isDone) {
      if (isJson) shell.print(JSON.stringify(totals))
      for (const line of totalsLines(totals, money, isDone)) say(line)
    },
  }
}

async function preview(
  { catalog, ledger, clock }: Stores,
  config: Config,
  selection: RerateSelection,
  output: Output,
): Promise<RerateTotals> {
  const log = createLogger({ name: 'cli', level: 'silent' })
  const catalogue = createLiveCatalogue({ catalog, log, settings: settingsOf(config.rating) })
  try {
    const source = await openRerateSource({ catalog, catalogue, nowMs: clock.nowMs() }, config)
    const show = (account: ReratedAccount) => {
      output.account(account, false)
      return true
    }
    const totals = await previewRerate({ ...source, ledger }, selection, show)
    output.totals(totals, false)
    return totals
  } finally {
    await catalogue.stop()
  }
}

/** The job is done by this process, or by an admin process if this one ends. */
async function apply(
  { catalog, ledger, clock, accounts, lost }: Stores,
  config: Config,
  order: RerateRequest,
  output: Output,
): Promise<0 | 1> {
  if (lost.length > 0) throw new CommandError(LEDGER_LOST)
  const stores = { catalog, clock }
  const job = await beginRerate(stores, order, operator())
  if (job === null) {
    throw new CommandError('other usage is being rerated: see tollgate job list')
  }
  const log = createLogger({ name: 'cli', level: 'silent' })
  const { openAccounts } = accounts
  const filterOf = queuedFilter({ config, clock })
  const handler = rerateHandler({ ...stores, ledger, config, openAccounts, filterOf })
  const runner = { ...stores, config, log, handlers: { rerate: handler } }
  if (!isRunning(job, clock)) await runJob(runner, job, new AbortController().signal)
  const after = await ended(catalog, job)
  let totals = { ...NO_SUMS, accounts: 0, refused: 0, lines: 0 }
  const rows = catalog.reads.rerates.find({ job: job._id }).sort({ aid: 1, cycle: 1 })
  for (const row of await rows.project<RerateDocument>({ chunk: 0 }).toArray()) {
    const { aid, cycle, invoice, lines, changed, difference, on_confirmed, refused } = row
    output.account({ aid, cycle, invoice, lines, changed, difference, on_confirmed, refused }, true)
    totals = {
      ...sumOfSums(totals, row),
      accounts: totals.accounts + 1,
      refused: totals.refused + (refused.length > 0 ? 1 : 0),
      lines: totals.lines + lines,
    }
  }
  output.totals(totals, true)
  if (after?.state === 'done' && after.error === '') return totals.refused === 0 ? 0 : 1
  throw new CommandError(`it is not done, and is continued by a node: ${after?.error ?? ''}`)
}

/** Waits for another process that has claimed the job, until it ends or fails. */
async function ended(catalog: Catalog, { _id }: JobDocument): Promise<JobDocument | null> {
  for (;;) {
    const job = await catalog.jobs.findOne({ _id })
    const isEnded = job === null || job.state === 'done' || job.error !== ''
    if (isEnded) return job
    await delay(POLL_MS)
  }
}

/** Only accounts that change, or are refused. */
function accountLines(account: ReratedAccount, money: MoneyFormat, isDone: boolean): string[] {
  const { aid, cycle, lines, changed, difference, refused } = account
  const name = `account ${aid}, cycle ${cycle}`
  if (refused.length > 0) {
    const some = changed === 0 ? '' : ` after ${changed} of ${lines} lines`
    return [
      `${name}: refused${some}`,
      ...refused.map(({ stamp, text }) => `  line ${stamp}: ${text}`),
    ]
  }
  if (changed === 0) return []
  const count = `${changed} of ${lines} lines`
  return [`${name}: ${count}, ${amountsText(difference, money)}${needText(account, money, isDone)}`]
}

function needText(
  { invoice, on_confirmed }: ReratedAccount,
  money: MoneyFormat,
  isDone: boolean,
): string {
  if (invoice?.state === 'computed') {
    const text = isDone ? 'has to be computed again' : 'would be computed again'
    return `; invoice ${invoice.id} ${text}`
  }
  const amount = new Exact(on_confirmed.final_charge)
  if (invoice === null || amount.isZero()) return ''
  const kind = amount.isNegative() ? 'a credit' : 'a charge'
  const of = money(amount.abs())
  return isDone
    ? `; the next run has ${kind} of ${of} with tax for the confirmed invoice ${invoice.id}`
    : `; the confirmed invoice ${invoice.id} would need ${kind} of ${of} with tax`
}

function totalsLines(
  totals: Parameters<Output['totals']>[0],
  money: MoneyFormat,
  isDone: boolean,
): string[] {
  const { accounts, refused, lines, changed, difference, on_confirmed, largest = [] } = totals
  const [change, cannot] = isDone
    ? ['have changed', 'were not rerated']
    : ['would change', 'cannot be rerated']
  return [
    `${changed} of ${lines} lines ${change}: ${amountsText(difference, money)}`,
    `on confirmed invoices: ${amountsText(on_confirmed, money)}`,
    `${refused} of ${accounts} accounts ${cannot}`,
    ...(largest.length > 0 ? ['largest differences:'] : []),
    ...largest.map(
      ({ stamp, sid, before, after }) =>
        `  subscriber ${sid}, line ${stamp}: ` +
        `${money(before.final_charge)} -> ${money(after.final_charge)}`,
    ),
  ]
}

function amountsText({ aprice, final_charge }: RerateAmounts, money: MoneyFormat): string {
  return `${money(aprice)}, with tax ${money(final_charge)}`
}
