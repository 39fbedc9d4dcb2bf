/** `tollgate audit`: whether every unit is accounted for, while everything runs. */
import { loadConfig } from '../config/load.ts'
import { print } from '../runtime/terminal.ts'
import { type AuditStores, checkAccount } from './audit/account.ts'
import { findAccounts } from './audit/accounts.ts'
import { type Difference, differenceText } from './audit/difference.ts'
import { watchRecording } from './audit/recording.ts'
import { CommandError } from './errors.ts'
import type { OptionValues } from './parse.ts'
import { LEDGER_LOST, withStores } from './stores.ts'

export interface AuditReport {
  ok: boolean
  accounts: number
  owners: number
  buckets: number
  /** Open ones. */
  sessions: number
  lines: number
  differences: Difference[]
  /** Differences beyond those listed. */
  differencesLeftOut: number
  /** Each of the lists below has a bounded length. Accounts that kept changing. */
  moving: number[]
  /** Accounts whose records could not be checked, because the recorder did not come to the end. */
  notRecorded: number[]
  /** Owners that cannot be read. */
  damaged: string[]
}

const LISTED_MAX = 1_000

export async function audit(options: OptionValues, file: string | undefined): Promise<0 | 1> {
  const config = loadConfig(file === undefined ? {} : { file })
  const report = await withStores(config, ({ ledger, catalog, lost }) => {
    // An empty Redis has nothing that could be wrong.
    if (lost.length > 0) throw new CommandError(LEDGER_LOST)
    return auditStores({ ledger, catalog, recording: watchRecording(ledger) })
  })
  if (options['json'] === true) print(JSON.stringify(report))
  else for (const line of reportLines(report)) print(line)
  return report.ok ? 0 : 1
}

/**
 * Checks all accounts, one after the other. Throws `StoreDownError` or
 * `CatalogUnavailableError`.
 */
export async function auditStores(stores: AuditStores): Promise<AuditReport> {
  const report: AuditReport = {
    ...{ ok: true, accounts: 0, owners: 0, buckets: 0, sessions: 0, lines: 0 },
    ...{ differences: [], differencesLeftOut: 0, moving: [], notRecorded: [], damaged: [] },
  }
  for await (const account of findAccounts(stores.ledger)) {
    report.accounts += 1
    const findings = await checkAccount(stores, account)
    report.owners += findings.owners
    report.buckets += findings.buckets
    report.sessions += findings.sessions
    report.lines += findings.lines
    for (const owner of findings.damaged) list(report.damaged, owner)
    if (!findings.isRecorded) list(report.notRecorded, account.aid)
    if (findings.isMoving) list(report.moving, account.aid)
    else for (const difference of findings.differences) add(report, difference)
  }
  const { differences, moving, notRecorded, damaged } = report
  report.ok = [differences, moving, notRecorded, damaged].every(({ length }) => length === 0)
  return report
}

function add(report: AuditReport, difference: Difference): void {
  if (report.differences.length < LISTED_MAX) report.differences.push(difference)
  else report.differencesLeftOut += 1
}

function list<T>(into: T[], item: T): void {
  if (into.length < LISTED_MAX) into.push(item)
}

export function reportLines(report: AuditReport): string[] {
  const { accounts, owners, buckets, sessions, lines } = report
  const left = report.differencesLeftOut
  return [
    `accounts ${accounts}, owners ${owners}, buckets ${buckets}, open sessions ${sessions}, ` +
      `lines ${lines}`,
    ...report.differences.map(differenceText),
    ...(left > 0 ? [`and ${left} more`] : []),
    ...report.damaged,
    ...report.moving.map((aid) => `account ${aid}: kept changing, and was not checked`),
    ...report.notRecorded.map((aid) => `account ${aid}: its entries are not recorded yet`),
    report.ok ? 'every unit is accounted for' : 'the audit has failed',
  ]
}
