/** `tollgate rerate --dry-run`: what recorded usage would cost by today's catalogue. */
import { type MoneyFormat, moneyFormat } from '../billing/currency.ts'
import { readLiveRules } from '../billing/quote/live.ts'
import { createLiveCatalogue } from '../billing/quote/live-catalogue.ts'
import { settingsOf } from '../billing/quote/settings.ts'
import {
  type ChangedPrice,
  NO_AMOUNTS,
  previewRerate,
  type RerateAmounts,
  type ReratedAccount,
  type RerateSelection,
  sumOfAmounts,
} from '../billing/rerate/preview.ts'
import { createAccounts } from '../billing/run/open-accounts.ts'
import { Exact } from '../catalog/records/money/exact-amount.ts'
import { parseInstant } from '../domain/time.ts'
import { ORIGIN } from '../intake/prepared-chunk.ts'
import { createLogger } from '../runtime/log.ts'
import { CommandError, UsageError } from './errors.ts'
import { type OptionValues, optionalNumber, optionalText, requiredText } from './options.ts'
import type { Shell } from './shell.ts'
import { patienceIn, withCatalog } from './stores.ts'

const LARGEST = 10

/** Returns 1 if lines cannot be priced again. Throws `CommandError` or `UsageError`. */
export async function rerate(shell: Shell, options: OptionValues): Promise<0 | 1> {
  if (options['dry-run'] !== true) {
    throw new UsageError('--dry-run is missing: only the preview of rerating is supported')
  }
  const isJson = options['json'] === true
  const config = shell.config()
  const settings = settingsOf(config.rating)
  const money = moneyFormat(config.rating.currencyCode)
  const selectionAt = selectionIn(options, settings.timeZone)
  let totals = NO_TOTALS
  await withCatalog(
    config,
    async (catalog, clock) => {
      const selection = checked(selectionAt(clock.nowMs()), settings.cycleAt, clock.nowMs())
      const accounts = createAccounts(catalog, config, clock)
      const { isExternal } = await accounts.openAccounts().finally(() => accounts.close())
      if (isExternal) {
        throw new CommandError('the customer system has the subscribers: usage is not rerated')
      }
      const log = createLogger({ name: 'cli', level: 'silent' })
      const catalogue = createLiveCatalogue({ catalog, log, settings })
      try {
        const rules = await readLiveRules({ catalog, catalogue }, config)
        for await (const account of previewRerate({ catalog, rules, settings }, selection)) {
          totals = withAccount(totals, account)
          for (const line of accountLines(account, money, isJson)) shell.print(line)
        }
      } finally {
        await catalogue.stop()
      }
    },
    patienceIn(shell, config),
  )
  if (isJson) shell.print(JSON.stringify(totals))
  else for (const line of totalsLines(totals, money)) shell.print(line)
  return totals.refused === 0 ? 0 : 1
}

/** Checked before the clock is known. Throws `UsageError`. */
function selectionIn(options: OptionValues, timeZone: string): (nowMs: number) => RerateSelection {
  const instantOf = (name: string, text: string) => {
    const atMs = parseInstant(text, timeZone)
    if (atMs === null) throw new UsageError(`--${name} must be a date, not '${text}'`)
    return atMs
  }
  const fromMs = instantOf('from', requiredText(options, 'from'))
  const to = optionalText(options, 'to')
  const toMs = to === undefined ? null : instantOf('to', to)
  const rateKey = optionalText(options, 'rate') ?? ''
  const plan = optionalText(options, 'plan') ?? ''
  const sid = optionalNumber(options, 'sid') ?? 0
  const fileType = optionalText(options, 'file-type')
  const origin = fileType === undefined ? '' : `${ORIGIN}/${fileType}`
  // The line of a request of this millisecond is included.
  return (nowMs) => ({ fromMs, toMs: toMs ?? nowMs + 1, rateKey, plan, sid, origin })
}

/** Throws `UsageError`. */
function checked(
  selection: RerateSelection,
  cycleAt: (atMs: number, nowMs: number) => { readonly oldestMs: number },
  nowMs: number,
): RerateSelection {
  const { fromMs, toMs } = selection
  if (toMs <= fromMs) throw new UsageError('--to must be after --from')
  const { oldestMs } = cycleAt(nowMs, nowMs)
  if (fromMs >= oldestMs) return selection
  const oldest = new Date(oldestMs).toISOString()
  throw new UsageError(`--from must not be before ${oldest}: older cycles are closed`)
}

interface RerateTotals {
  readonly accounts: number
  /** Accounts that cannot be rerated. */
  readonly refused: number
  readonly lines: number
  readonly changed: number
  readonly difference: RerateAmounts
  readonly on_confirmed: RerateAmounts
  readonly largest: readonly ChangedPrice[]
}

const NO_TOTALS: RerateTotals = {
  ...{ accounts: 0, refused: 0, lines: 0, changed: 0 },
  ...{ difference: NO_AMOUNTS, on_confirmed: NO_AMOUNTS, largest: [] },
}

function withAccount(sum: RerateTotals, account: ReratedAccount): RerateTotals {
  const { lines, changed, difference, on_confirmed, refused } = account
  return {
    accounts: sum.accounts + 1,
    refused: sum.refused + (refused.length > 0 ? 1 : 0),
    lines: sum.lines + lines,
    changed: sum.changed + changed.length,
    difference: sumOfAmounts(sum.difference, difference),
    on_confirmed: sumOfAmounts(sum.on_confirmed, on_confirmed),
    largest: [...sum.largest, ...changed].sort(largestFirst).slice(0, LARGEST),
  }
}

function largestFirst({ difference: a }: ChangedPrice, { difference: b }: ChangedPrice): number {
  const size = (amount: string) => new Exact(amount).abs()
  return (
    size(b.final_charge).comparedTo(size(a.final_charge)) ||
    size(b.aprice).comparedTo(size(a.aprice))
  )
}

/** Without JSON only accounts that would change, or are refused. */
function accountLines(account: ReratedAccount, money: MoneyFormat, isJson: boolean): string[] {
  const { aid, cycle, lines, changed, difference, refused } = account
  if (isJson) return [JSON.stringify({ ...account, changed: changed.length })]
  const name = `account ${aid}, cycle ${cycle}`
  if (refused.length > 0) {
    return [`${name}: refused`, ...refused.map(({ stamp, text }) => `  line ${stamp}: ${text}`)]
  }
  if (changed.length === 0) return []
  const count = `${changed.length} of ${lines} lines`
  return [`${name}: ${count}, ${amountsText(difference, money)}${needText(account, money)}`]
}

function needText({ invoice, on_confirmed }: ReratedAccount, money: MoneyFormat): string {
  if (invoice?.state === 'computed') return `; invoice ${invoice.id} would be computed again`
  const amount = new Exact(on_confirmed.final_charge)
  if (invoice === null || amount.isZero()) return ''
  const kind = amount.isNegative() ? 'a credit' : 'a charge'
  const of = money(amount.abs())
  return `; the confirmed invoice ${invoice.id} would need ${kind} of ${of} with tax`
}

function totalsLines(totals: RerateTotals, money: MoneyFormat): string[] {
  const { accounts, refused, lines, changed, difference, on_confirmed, largest } = totals
  return [
    `${changed} of ${lines} lines would change: ${amountsText(difference, money)}`,
    `on confirmed invoices: ${amountsText(on_confirmed, money)}`,
    `${refused} of ${accounts} accounts cannot be rerated`,
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
