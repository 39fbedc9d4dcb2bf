/** `tollgate cycle …`: runs the billing cycle, directly on the store. */
import { calendarOf } from '../billing/credit/credits.ts'
import type { RunName } from '../billing/cycle/run-cycle.ts'
import { createDocuments } from '../billing/documents/documents.ts'
import { BillingError } from '../billing/errors.ts'
import type { OpenAccounts } from '../billing/run/account-source.ts'
import { confirmInvoices, hasUnconfirmed } from '../billing/run/confirm.ts'
import { documentThreads } from '../billing/run/document-threads.ts'
import { MAIL_KIND, mailHandler } from '../billing/run/invoice-mail.ts'
import { createAccounts } from '../billing/run/open-accounts.ts'
import { readParked, skipParked } from '../billing/run/parked.ts'
import { type PageWorkers, participate, type RunDeps } from '../billing/run/participate.ts'
import { retryParked } from '../billing/run/run-accounts.ts'
import { beginRun, resetRun } from '../billing/run/runs.ts'
import {
  type CycleState,
  completionPercent,
  countInvoices,
  readCycleState,
} from '../billing/run/status.ts'
import { threadWorkers } from '../billing/run/thread-workers.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { CycleCounts, CycleRunDocument } from '../catalog/records/money/cycle-documents.ts'
import { BILLRUN } from '../catalog/settings/money/billrun-settings.ts'
import { readCategory } from '../catalog/settings/stored-config.ts'
import type { Config } from '../config/schema.ts'
import { isCycleKey } from '../domain/cycle.ts'
import { CustomerSystemError } from '../external/customers/errors.ts'
import { closeMail } from '../external/mail.ts'
import { type Clock, monotonicMs } from '../runtime/clock.ts'
import { createLogger, type Logger } from '../runtime/log.ts'
import { type StatusLine, WorkRate } from '../runtime/terminal.ts'
import { CommandError, UsageError } from './errors.ts'
import { operator } from './operator.ts'
import { type OptionValues, optionalList, optionalText } from './options.ts'
import { aligned } from './owners.ts'
import type { Shell } from './shell.ts'
import { patienceIn, withCatalog, withStoreUrls } from './stores.ts'

/** Parts that the commands have in common. */
export interface Context {
  readonly catalog: Catalog
  readonly config: Config
  readonly state: CycleState
  readonly options: OptionValues
  readonly clock: Clock
  readonly openAccounts: OpenAccounts
}

/** Refusals of the billing become `CommandError`. */
export async function inCycle<T>(
  shell: Shell,
  options: OptionValues,
  act: (context: Context) => Promise<T>,
): Promise<T> {
  const key = keyIn(options)
  const day = dayIn(options)
  const config = withStoreUrls(shell.config())
  const inCatalog = async (catalog: Catalog, clock: Clock) => {
    const name = await nameOf(catalog, key, day)
    const state = await readCycleState(catalog, name, calendarOf(config), clock.nowMs())
    const accounts = createAccounts(catalog, config, clock)
    const { openAccounts } = accounts
    try {
      return await act({ catalog, config, state, options, clock, openAccounts })
    } catch (error) {
      const isNamed = error instanceof BillingError || error instanceof CustomerSystemError
      if (isNamed) throw new CommandError(error.message, { cause: error })
      throw error
    } finally {
      await accounts.close()
    }
  }
  return withCatalog(config, inCatalog, patienceIn(shell, config))
}

function keyIn(options: OptionValues): string {
  const key = optionalText(options, 'key')
  if (key === undefined) throw new UsageError('--key is missing: the cycle, such as 202611')
  if (!isCycleKey(key)) throw new UsageError(`--key must be a cycle such as 202611, not '${key}'`)
  return key
}

function dayIn(options: OptionValues): number | null {
  const text = optionalText(options, 'invoicing-day')
  if (text === undefined) return null
  const day = /^\d{1,2}$/.test(text) ? Number(text) : 0
  if (day < 1 || day > 28) throw new UsageError('--invoicing-day must be a day from 1 to 28')
  return day
}

async function nameOf(catalog: Catalog, key: string, day: number | null): Promise<RunName> {
  const { value } = await readCategory(catalog, 'billrun')
  const { multi_day_cycle: isMultiDay } = BILLRUN.read(value)
  if (isMultiDay && day === null)
    throw new UsageError('--invoicing-day is missing: accounts have different days')
  if (!isMultiDay && day !== null)
    throw new UsageError('--invoicing-day requires the setting billrun.multi_day_cycle')
  return { key, invoicingDay: day }
}

/** Returns 1 if the run is paused. */
export function runCycle(shell: Shell, options: OptionValues): Promise<0 | 1> {
  const threads = threadsIn(options)
  return inCycle(shell, options, async ({ catalog, config, state, clock, openAccounts }) => {
    const { cycle, status } = state
    if (status === 'current' || status === 'future') {
      throw new CommandError(`the cycle ${cycle.key} has not ended yet`)
    }
    if (status === 'confirmed') throw new CommandError(`the cycle ${cycle.key} is confirmed`)
    const rerun = options['rerun'] === true
    if ((status === 'finished' || status === 'to_rerun') && !rerun) {
      throw new CommandError(`the cycle ${cycle.key} has invoices: replace them by --rerun`)
    }
    const stores = { catalog, clock, openAccounts }
    const isContinued = status === 'running'
    await beginRun(stores, {
      cycle,
      rerun: rerun && !isContinued,
      generatePdf: options['pdf'] === true,
      actor: operator(),
    })
    const workers = threadWorkers(config, clock, { threads, log: warnings(shell) })
    const ended = await watched(shell, workers, stores, config, cycle)
    if (options['json'] === true) shell.print(JSON.stringify(runJson(ended)))
    else for (const line of runLines(ended)) shell.print(line)
    return ended?.state === 'finished' ? 0 : 1
  })
}

function threadsIn(options: OptionValues): number | undefined {
  const text = optionalText(options, 'threads')
  if (text === undefined) return undefined
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > 128) throw new UsageError('--threads must be a number from 1 to 128')
  return count
}

/** Progress is shown; the first signal ends the work of this process after its pages. */
async function watched(
  shell: Shell,
  workers: PageWorkers,
  stores: Pick<RunDeps, 'catalog' | 'clock' | 'openAccounts'>,
  config: Config,
  cycle: CycleState['cycle'],
): Promise<CycleRunDocument | null> {
  const abort = new AbortController()
  const stop = () => abort.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  const progress = new Progress(shell.statusLine())
  const log = createLogger({ name: 'cli', level: 'silent' })
  try {
    return await participate({ ...stores, config, log, workers }, cycle, abort.signal, {
      onProgress: (run, waiting) => progress.show(run, waiting),
    })
  } finally {
    progress.end()
    process.off('SIGINT', stop).off('SIGTERM', stop)
    await workers.close()
  }
}

const TERMINAL_MS = 200
const LOG_MS = 10_000

/** A bar on a terminal, otherwise a line from time to time. */
class Progress {
  readonly #line: StatusLine
  #shownMs = Number.NEGATIVE_INFINITY
  #waiting = ''
  #rate: WorkRate | null = null

  constructor(line: StatusLine) {
    this.#line = line
  }

  show(run: CycleRunDocument, waiting: string): void {
    const nowMs = monotonicMs()
    const isDue = nowMs - this.#shownMs >= (this.#line.isTerminal ? TERMINAL_MS : LOG_MS)
    if (!isDue && waiting === this.#waiting) return
    this.#shownMs = nowMs
    this.#waiting = waiting
    const { accounts: done } = run.counts
    this.#rate ??= new WorkRate(nowMs, done)
    const rate = this.#rate.text({ done, total: run.total === 0 ? null : run.total }, nowMs)
    const share = run.total === 0 ? undefined : completionPercent(run) / 100
    this.#line.show(progressText(run, waiting, rate), share)
  }

  end(): void {
    this.#line.clear()
  }
}

/** Percent of the accounts; if their number is not known yet, those processed so far. */
export function shareText(run: CycleRunDocument | null): string {
  const isUnknown = run !== null && run.total === 0 && run.state !== 'finished'
  return isUnknown ? `${run.counts.accounts} accounts` : `${completionPercent(run).toFixed(2)} %`
}

/** `rate`: the rate and the time left, with a leading comma; empty if they are unknown. */
export function progressText(run: CycleRunDocument, waiting: string, rate = ''): string {
  const { counts, total } = run
  const share = total === 0 ? '' : `${completionPercent(run).toFixed(2)} %, `
  const accounts = total === 0 ? String(counts.accounts) : `${counts.accounts} of ${total}`
  return withReason(`${share}${accounts} accounts${rate}${failedText(counts)}`, waiting)
}

function failedText({ failed }: CycleCounts): string {
  return failed === 0 ? '' : `, ${failed} failed`
}

function withReason(text: string, waiting: string): string {
  return waiting === '' ? text : `${text}; paused: ${waiting}`
}

function runJson(run: CycleRunDocument | null) {
  if (run === null) return null
  const { key, state, reason, total, counts, started, ended } = run
  return { key, state, reason, total, counts, started, ended }
}

function runLines(run: CycleRunDocument | null): string[] {
  if (run === null) return ['the run was reset meanwhile']
  const { key, state, reason, counts } = run
  const text = `cycle ${key} ${state}: ${countsText(counts)}`
  return reason === '' ? [text] : [text, `paused: ${reason}`]
}

function countsText({ accounts, invoices, empty, confirmed, failed }: CycleCounts): string {
  const parts = [`accounts ${accounts}`, `invoices ${invoices}`, `nothing to invoice ${empty}`]
  if (confirmed > 0) parts.push(`confirmed before ${confirmed}`)
  if (failed > 0) parts.push(`failed ${failed}`)
  return parts.join(', ')
}

export function showCycle(shell: Shell, options: OptionValues): Promise<0> {
  return inCycle(shell, options, async ({ catalog, state: { cycle, status, run } }) => {
    const { invoices, confirmed } = await countInvoices(catalog, cycle)
    const parked = await readParked({ catalog }, { run: cycle.id, state: 'parked' })
    const view = {
      key: cycle.key,
      status,
      percent: completionPercent(run),
      invoices,
      confirmed,
      parked: parked.length,
      reason: run?.reason ?? '',
      ...(run !== null && { accounts: { total: run.total, ...run.counts } }),
    }
    if (options['json'] === true) shell.print(JSON.stringify(view))
    else {
      shell.print(`cycle ${view.key} ${status}, ${shareText(run)}`)
      shell.print(`invoices ${invoices}, confirmed ${confirmed}, failed accounts ${view.parked}`)
      if (run !== null) shell.print(countsText(run.counts))
      if (view.reason !== '') shell.print(`paused: ${view.reason}`)
    }
    return 0 as const
  })
}

/** Warnings of this command, on standard error. */
function warnings(shell: Shell): Logger {
  const destination = { write: (line: string) => shell.printError(line.trimEnd()) }
  return createLogger({ name: 'cli', level: 'warn', destination })
}

/** Returns 1 if an invoice was refused. */
export function confirmCycle(shell: Shell, options: OptionValues): Promise<0 | 1> {
  const invoices = numbersIn(options, 'invoices')
  return inCycle(shell, options, async ({ catalog, config, clock, state: { cycle, status } }) => {
    if (status === 'running') throw new CommandError('the run of the cycle has not ended yet')
    if (!(await hasUnconfirmed(catalog, cycle, invoices))) {
      throw new CommandError('there are no invoices to confirm')
    }
    const log = warnings(shell)
    const threads = documentThreads({ catalog, config, clock })
    const documents = createDocuments(config.invoices, threads.make)
    const mail = mailHandler({ catalog, config, documents })
    catalog.dispatcher.register({ [MAIL_KIND]: mail }, log)
    const pdf = options['pdf'] === true ? { generatePdf: true } : {}
    const request = { cycle, invoices, actor: operator(), ...pdf }
    try {
      const result = await confirmInvoices({ catalog, clock, config, documents, log }, request)
      if (options['json'] === true) shell.print(JSON.stringify(result))
      else {
        shell.print(`confirmed ${result.confirmed}, not for bill ${result.not_for_bill}`)
        for (const { invoice_id, reason } of result.refused)
          shell.print(`invoice ${invoice_id}: ${reason}`)
      }
      return result.refused.length === 0 ? 0 : 1
    } finally {
      closeMail()
      await threads.close()
    }
  })
}

export function resetCycle(shell: Shell, options: OptionValues): Promise<0> {
  return inCycle(shell, options, async ({ catalog, clock, state: { cycle, status } }) => {
    const stores = { catalog, clock }
    const isReset = status === 'finished' && (await resetRun(stores, cycle, operator()))
    if (!isReset) throw new CommandError(`the cycle ${cycle.key} is not finished: it is ${status}`)
    shell.print(`cycle ${cycle.key} can be run again`)
    return 0 as const
  })
}

/** Returns 1 if an account has failed again. */
export function parkedAccounts(shell: Shell, options: OptionValues): Promise<0 | 1> {
  const aids = numbersIn(options, 'aids')
  const [retry, skip] = [options['retry'] === true, options['skip'] === true]
  if (retry && skip) throw new UsageError('give either --retry or --skip')
  if (aids !== null && !retry && !skip) throw new UsageError('--aids requires --retry or --skip')
  return inCycle(shell, options, async (context) => {
    if (retry) return retryAccounts(shell, context, aids)
    if (skip) return skipAccounts(shell, context, aids)
    const { catalog, state } = context
    const parked = await readParked({ catalog }, { run: state.cycle.id })
    if (options['json'] === true) {
      shell.print(JSON.stringify(parked.map(({ _id: _, run: __, ...view }) => view)))
    } else if (parked.length === 0) shell.print('no account has failed')
    else {
      const rows = parked.map(({ aid, state, tries, reason }) => [
        `${aid}`,
        state,
        `${tries}`,
        reason,
      ])
      for (const line of aligned([['account', 'state', 'tries', 'reason'], ...rows]))
        shell.print(line)
    }
    return 0 as const
  })
}

async function retryAccounts(
  shell: Shell,
  { catalog, config, clock, openAccounts, state: { cycle }, options }: Context,
  aids: readonly number[] | null,
): Promise<0 | 1> {
  const workers = threadWorkers(config, clock, { threads: 1, log: warnings(shell) })
  try {
    const counts = await retryParked({ catalog, config, openAccounts, workers }, cycle, aids)
    shell.print(options['json'] === true ? JSON.stringify(counts) : countsText(counts))
    return counts.failed === 0 ? 0 : 1
  } finally {
    await workers.close()
  }
}

async function skipAccounts(
  shell: Shell,
  { catalog, clock, state: { cycle }, options }: Context,
  aids: readonly number[] | null,
): Promise<0> {
  const skipped = await skipParked({ catalog, clock }, cycle.id, aids, operator())
  shell.print(options['json'] === true ? JSON.stringify({ skipped }) : `skipped ${skipped}`)
  return 0
}

function numbersIn(options: OptionValues, name: string): number[] | null {
  const list = optionalList(options, name)
  if (list === undefined) return null
  if (list.length === 0 || list.some((each) => !/^[1-9]\d{0,14}$/.test(each))) {
    throw new UsageError(`--${name} must be numbers, separated by commas`)
  }
  return list.map(Number)
}
