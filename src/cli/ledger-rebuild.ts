/** `tollgate ledger rebuild`: restores a ledger that Redis has lost from the records in MongoDB. */
import { type MoneyFormat, moneyFormat } from '../billing/currency.ts'
import { epochRecordOf } from '../catalog/installation.ts'
import { repeatingReads } from '../catalog/repeating-reads.ts'
import { systemClock } from '../runtime/clock.ts'
import type { OptionValues } from './options.ts'
import { Progress } from './progress.ts'
import { type RestoredAccount, rebuild } from './rebuild/rebuild.ts'
import {
  accountJson,
  accountLines,
  addAccount,
  emptyTotals,
  type Totals,
  totalsJson,
  totalsText,
} from './rebuild/report.ts'
import type { Shell } from './shell.ts'
import { connectStores, outageAsCommandError, patienceIn } from './stores.ts'

/** Longer than the recorder's back-off between attempts to write a batch. */
const SETTLE_MS = 6_000

export async function rebuildLedger(shell: Shell, options: OptionValues): Promise<0> {
  const config = shell.config()
  const isJson = options['json'] === true
  const isDryRun = options['dry-run'] === true
  const totals = emptyTotals()
  const progress = new Progress(shell, 'accounts')
  const money = moneyFormat(config.rating.currencyCode)
  const onAccount = reporter(shell, totals, isJson ? null : money, progress)
  const patience = patienceIn(shell, config)
  const { redis, catalog, close } = await connectStores(config, patience)
  try {
    const record = epochRecordOf(catalog)
    const stores = { redis, catalog: repeatingReads(catalog), record }
    const settings = { ...config.ledger, isDryRun, settleMs: SETTLE_MS }
    const nowMs = systemClock.nowMs()
    const rebuilt = await rebuild(stores, { ...settings, nowMs }, onAccount)
    if (isJson) shell.print(JSON.stringify({ totals: totalsJson(totals), ...rebuilt }))
    else for (const line of endLines(totals, rebuilt, money)) shell.print(line)
    return 0
  } catch (error) {
    throw outageAsCommandError(error)
  } finally {
    progress.end()
    await close()
  }
}

function reporter(
  shell: Shell,
  totals: Totals,
  /** Null for JSON. */
  money: MoneyFormat | null,
  progress: Progress,
): (account: RestoredAccount) => void {
  return (account) => {
    progress.end()
    addAccount(totals, account)
    if (money === null) shell.print(JSON.stringify(accountJson(account)))
    else for (const line of accountLines(account, money)) shell.print(line)
    progress.show(totals.accounts)
  }
}

function endLines(
  totals: Totals,
  { epoch }: { epoch: string | null },
  money: MoneyFormat,
): string[] {
  const { accounts } = totals
  const what = epoch === null ? 'would be restored' : 'restored'
  return [
    `${accounts} accounts ${what}: ${totalsText(totals, money)}`,
    epoch === null ? 'nothing was written' : `the ledger is restored, epoch ${epoch}`,
  ]
}
