/** `tollgate audit`: checks that every unit is accounted for while the product is running. */
import { entityStoresOf } from '../admin/entity-api.ts'
import { type MoneyFormat, moneyFormat } from '../billing/currency.ts'
import { repeatingReads } from '../catalog/repeating-reads.ts'
import { watchRecorderProgress } from '../ledger/recorder-progress.ts'
import { createLogger } from '../runtime/log.ts'
import { type AuditStores, checkAccount } from './audit/account.ts'
import { type FoundAccount, findAccounts } from './audit/accounts.ts'
import { auditBooks, type BooksReport, booksLines } from './audit/books.ts'
import { type Difference, differenceText } from './audit/difference.ts'
import { type DifferenceCause, explanationLines } from './audit/explain.ts'
import { auditNumbers, type NumbersReport, numbersLines } from './audit/invoice-numbers.ts'
import { explainAccount, type MendResult, type MendSettings, mend } from './audit/mend.ts'
import { auditRecords } from './audit/records.ts'
import { auditUninvoiced, type UninvoicedReport, uninvoicedLines } from './audit/uninvoiced.ts'
import { Unread, unreadLines } from './audit/unread.ts'
import { CommandError, UsageError } from './errors.ts'
import { type OptionValues, optionalInstant } from './options.ts'
import { Progress } from './progress.ts'
import type { Shell } from './shell.ts'
import { LEDGER_LOST, patienceIn, type Stores, withStores } from './stores.ts'

export interface AuditReport {
  ok: boolean
  accounts: number
  owners: number
  buckets: number
  /** Open sessions. */
  sessions: number
  lines: number
  differences: Difference[]
  /** Differences beyond those listed. */
  differencesLeftOut: number
  /** The lists below have a bounded length. Accounts that kept changing during the check. */
  moving: number[]
  /** Accounts whose lines could not be checked because the recorder had not caught up. */
  notRecorded: number[]
  /** Owners whose state cannot be read. */
  damaged: string[]
  /** DifferenceCause of the differences; only with `--explain` or `--mend`. */
  explained?: Explained[]
  /** Bills and balances, compared with the journal. */
  books?: BooksReport
  /** Numbers of invoices; void ones are listed. */
  numbers?: NumbersReport
  /** Lines that no invoice has. */
  uninvoiced?: UninvoicedReport
  /** Parts that MongoDB did not answer in time, with the reasons; absent if all were read. */
  unread?: string[]
  /** Further ones. */
  unreadLeftOut?: number
}

const LISTED_MAX = 1_000

export async function audit(shell: Shell, options: OptionValues): Promise<0 | 1> {
  if (options['records'] === true) return auditRecords(shell, options)
  if (options['expect'] !== undefined) throw new UsageError('--expect requires --records')
  const flags = auditOptions(options)
  const config = shell.config()
  const patience = patienceIn(shell, config)
  const money = moneyFormat(config.rating.currencyCode)
  const atMs = optionalInstant(options, 'at', config.rating.timeZone)
  const auditing = async ({ ledger, catalog, accounts, clock, lost }: Stores) => {
    // An empty Redis would look like an account without balances.
    if (lost.length > 0) throw new CommandError(LEDGER_LOST)
    const stores = { ledger, catalog, recording: watchRecorderProgress(ledger) }
    const different: FoundAccount[] = []
    const { lookup } = accounts
    const read = repeatingReads(catalog)
    const unread = new Unread()
    const books = await auditBooks(read, atMs === undefined ? null : new Date(atMs), unread)
    const numbers = await auditNumbers(read)
    const uninvoiced = await auditUninvoiced({ catalog: read, lookup }, config, unread, patience)
    const auditAll = async (onDifferent?: (account: FoundAccount) => void) => {
      const progress = new Progress(shell, 'accounts checked')
      const onAccount = (checked: number) => progress.show(checked)
      const checked = { ...stores, catalog: read }
      const report = await auditStores(checked, onDifferent, unread, onAccount).finally(() =>
        progress.end(),
      )
      const ok = report.ok && books.ok && numbers.ok && uninvoiced.ok
      return { ...report, ok, books, numbers, uninvoiced }
    }
    const first = await auditAll((account) => different.push(account))
    if (!flags.explain && !flags.mend) return first
    const settings = {
      money,
      operationKeepMs: config.ledger.operationKeepMs,
      nowMs: clock.nowMs(),
    }
    if (!flags.mend || flags.isDryRun) {
      return { ...first, explained: await explainAll(shell, stores, different, settings, flags) }
    }
    if (!flags.json) for (const line of reportLines(first, money)) shell.print(line)
    const log = createLogger({ name: 'cli', level: 'silent' })
    entityStoresOf({ catalog, ledger, clock, config, lookup, log })
    const explained = await mendAll(shell, stores, different, settings, flags)
    return { ...(await auditAll()), explained }
  }
  const report: AuditReport = await withStores(config, auditing, patience)
  if (flags.json) shell.print(JSON.stringify(report))
  else for (const line of reportLines(report, money)) shell.print(line)
  return report.ok ? 0 : 1
}

interface AuditOptions {
  explain: boolean
  mend: boolean
  isDryRun: boolean
  json: boolean
}

function auditOptions(options: OptionValues): AuditOptions {
  const [explain, mend] = [options['explain'] === true, options['mend'] === true]
  const isDryRun = options['dry-run'] === true
  if (isDryRun && !mend) throw new UsageError('--dry-run requires --mend')
  return { explain, mend, isDryRun, json: options['json'] === true }
}

/** The explanation of an account, and the result of mending it, if that was requested. */
type Explained = DifferenceCause & { result?: MendResult }

async function explainAll(
  shell: Shell,
  stores: AuditStores,
  accounts: readonly FoundAccount[],
  settings: MendSettings,
  { json }: AuditOptions,
): Promise<Explained[]> {
  const all: Explained[] = []
  for (const account of accounts) {
    const explanation = await explainAccount(stores, account, settings)
    if (explanation === null) {
      if (!json) shell.print(`account ${account.aid}: ${UNREADABLE}`)
      continue
    }
    if (json) pushBounded(all, explanation)
    else for (const line of explanationLines(explanation)) shell.print(line)
  }
  return all
}

async function mendAll(
  shell: Shell,
  stores: AuditStores,
  accounts: readonly FoundAccount[],
  settings: MendSettings,
  { json }: AuditOptions,
): Promise<Explained[]> {
  const all: Explained[] = []
  for (const account of accounts) {
    let explained: DifferenceCause = { aid: account.aid, causes: [], mends: [], unsettled: [] }
    const result = await mend(stores, account, settings, (explanation) => {
      explained = explanation
      if (!json) for (const line of explanationLines(explanation)) shell.print(line)
    })
    if (json) pushBounded(all, { ...explained, result })
    else shell.print(`account ${account.aid}: ${RESULT_TEXTS[result]}`)
  }
  return all
}

const UNREADABLE = 'it cannot be read, or is not recorded yet'

const RESULT_TEXTS: Readonly<Record<MendResult, string>> = {
  mended: 'mended',
  nothing: 'nothing to mend',
  contended: 'not mended: it kept changing; repeat the command',
  unreadable: `not mended: ${UNREADABLE}`,
}

/**
 * Checks all accounts one after the other; those that cannot be read are named in `unread`. Throws
 * `StoreDownError` or `CatalogUnavailableError`.
 */
export async function auditStores(
  stores: AuditStores,
  onDifferent: (account: FoundAccount) => void = () => undefined,
  unread = new Unread(),
  onAccount: (checked: number) => void = () => undefined,
): Promise<AuditReport> {
  const report: AuditReport = {
    ok: true,
    accounts: 0,
    owners: 0,
    buckets: 0,
    sessions: 0,
    lines: 0,
    differences: [],
    differencesLeftOut: 0,
    moving: [],
    notRecorded: [],
    damaged: [],
  }
  for await (const account of findAccounts(stores)) {
    report.accounts += 1
    onAccount(report.accounts)
    const findings = await unread.orName(`account ${account.aid}`, () =>
      checkAccount(stores, account),
    )
    if (findings === null) continue
    report.owners += findings.owners
    report.buckets += findings.buckets
    report.sessions += findings.sessions
    report.lines += findings.lines
    for (const owner of findings.damaged) pushBounded(report.damaged, owner)
    if (!findings.isRecorded) pushBounded(report.notRecorded, account.aid)
    if (findings.isMoving) pushBounded(report.moving, account.aid)
    else for (const difference of findings.differences) add(report, difference)
    if (findings.differences.length > 0 && !findings.isMoving) onDifferent(account)
  }
  const { differences, moving, notRecorded, damaged } = report
  const { parts, leftOut } = unread
  report.ok = [differences, moving, notRecorded, damaged, parts].every(({ length }) => length === 0)
  return parts.length === 0 ? report : { ...report, unread: parts, unreadLeftOut: leftOut }
}

function add(report: AuditReport, difference: Difference): void {
  if (report.differences.length < LISTED_MAX) report.differences.push(difference)
  else report.differencesLeftOut += 1
}

function pushBounded<T>(into: T[], item: T): void {
  if (into.length < LISTED_MAX) into.push(item)
}

export function reportLines(report: AuditReport, money: MoneyFormat): string[] {
  const { accounts, owners, buckets, sessions, lines } = report
  const left = report.differencesLeftOut
  return [
    `accounts ${accounts}, owners ${owners}, buckets ${buckets}, open sessions ${sessions}, ` +
      `lines ${lines}`,
    ...report.differences.map((one) => differenceText(one, money)),
    ...(left > 0 ? [`and ${left} more`] : []),
    ...report.damaged,
    ...report.moving.map((aid) => `account ${aid}: kept changing, and was not checked`),
    ...report.notRecorded.map((aid) => `account ${aid}: its entries are not recorded yet`),
    ...unreadLines({ parts: report.unread ?? [], leftOut: report.unreadLeftOut ?? 0 }),
    ...(report.books === undefined ? [] : booksLines(report.books, money)),
    ...(report.numbers === undefined ? [] : numbersLines(report.numbers)),
    ...(report.uninvoiced === undefined ? [] : uninvoicedLines(report.uninvoiced, money)),
    report.ok ? 'every unit is accounted for' : 'the audit has failed',
  ]
}
