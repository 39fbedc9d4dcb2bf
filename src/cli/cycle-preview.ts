/** `tollgate cycle preview`: what a run would store, also with a supposed change. */
import { readFileSync } from 'node:fs'
import { type MoneyFormat, moneyFormat } from '../billing/currency.ts'
import { computeAccount } from '../billing/cycle/compute.ts'
import type { TaxChange } from '../billing/cycle/written-taxes.ts'
import { type Assumed, readAssumed } from '../billing/run/assumed.ts'
import type { ChangedLine } from '../billing/run/changed-lines.ts'
import { type AccountPreview, previewAccounts } from '../billing/run/preview.ts'
import {
  ASSUMED_ELSEWHERE,
  BACK,
  BACK_MAX,
  checkAccounts,
  isShown,
  mayAssume,
  NO_TOTALS,
  type PreviewHead,
  type PreviewTotals,
  previewHead,
  withAccount,
} from '../billing/run/preview-report.ts'
import type { PriceChange } from '../billing/run/price-changes.ts'
import type { Catalog } from '../catalog/connection.ts'
import { Exact } from '../catalog/records/exact-amount.ts'
import type { Config } from '../config/schema.ts'
import { FieldError } from '../domain/fields.ts'
import { inCycle } from './cycle.ts'
import { UsageError } from './errors.ts'
import { type OptionValues, optionalText } from './options.ts'
import type { Shell } from './shell.ts'

/** Returns 1 if an account cannot be computed. */
export function previewCycle(shell: Shell, options: OptionValues): Promise<0 | 1> {
  const aid = accountIn(options)
  const back = backIn(options)
  const path = optionalText(options, 'assume')
  const change = path === undefined ? null : jsonIn(path)
  return inCycle(shell, options, async ({ catalog, config, clock, state, openAccounts }) => {
    const { isExternal } = await openAccounts()
    const assumed = change === null ? null : await assumedIn(catalog, config, path ?? '', change)
    if (!mayAssume(assumed, isExternal)) {
      throw new UsageError(`--assume ${path ?? ''}: ${ASSUMED_ELSEWHERE}`)
    }
    if (!isExternal) await checkAccounts(catalog, aid, assumed)
    const nowMs = clock.nowMs()
    const head = await previewHead(catalog, state, nowMs)
    const isJson = options['json'] === true
    const money = moneyFormat(config.rating.currencyCode)
    shell.print(isJson ? JSON.stringify(head) : headText(head))
    let totals = NO_TOTALS
    const request = { cycle: state.cycle, aid, assumed, comparedKey: head.compared, back, nowMs }
    const deps = { catalog, config, compute: computeAccount, openAccounts }
    for await (const account of previewAccounts(deps, request)) {
      totals = withAccount(totals, account)
      if (aid === null && !isShown(account, head)) continue
      if (isJson) shell.print(JSON.stringify(account))
      else for (const line of accountLines(account, money)) shell.print(line)
    }
    shell.print(isJson ? JSON.stringify(totals) : totalsText(totals, money))
    return totals.failed === 0 ? 0 : 1
  })
}

function accountIn(options: OptionValues): number | null {
  const text = optionalText(options, 'aid')
  if (text === undefined) return null
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new UsageError('--aid must be the number of an account')
  return Number(text)
}

function backIn(options: OptionValues): number {
  const text = optionalText(options, 'back') ?? String(BACK)
  if (!/^\d{1,2}$/.test(text) || Number(text) > BACK_MAX) {
    throw new UsageError(`--back must be a number of cycles from 0 to ${BACK_MAX}`)
  }
  return Number(text)
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

function headText({ key, status, previous, compared }: PreviewHead): string {
  return [
    `preview of the cycle ${key} (${status}); nothing is stored`,
    `previous cycle ${previous.key} (${previous.status}): ${previous.assumption}`,
    `compared with the invoices of ${compared}`,
  ].join('\n')
}

function accountLines(account: AccountPreview, money: MoneyFormat): string[] {
  const { aid, total, stored, changes, others, failed } = account
  if (failed !== undefined) return [`account ${aid}: failed: ${failed}`]
  const difference = new Exact(total ?? 0).minus(stored ?? 0)
  const [now, before] = [moneyOr('no invoice', total, money), moneyOr('none', stored, money)]
  const totals = `${now}, stored ${before}, difference ${money(difference)}`
  const ofOthers = new Exact(others.wanted).minus(others.stored)
  return [
    `account ${aid}: ${totals}`,
    ...changes.map((change) => `  ${changeText(change, money)}`),
    ...(ofOthers.isZero()
      ? []
      : [
          `  usage and credits: ${money(others.stored)} -> ${money(others.wanted)} ` +
            `(${money(ofOthers)})`,
        ]),
    ...account.price_changes.map((change) => `  ${priceChangeText(change, money)}`),
    ...account.tax_changes.map((change) => `  ${taxChangeText(change, money)}`),
    ...account.not_returned.map(
      (line) => `  not corrected in cycle ${line.cycle}: ${changeText(line, money)}`,
    ),
  ]
}

function moneyOr(none: string, amount: string | null, money: MoneyFormat): string {
  return amount === null ? none : money(amount)
}

function changeText(change: ChangedLine, money: MoneyFormat): string {
  const { line, from, to, difference } = change
  const days = `${from.slice(0, 10)} to ${to.slice(0, 10)}`
  const [stored, after] = [change.stored, change.wanted].map((each) => moneyOr('none', each, money))
  return `${line} ${days}: ${stored} -> ${after} (${money(difference)})`
}

function priceChangeText(
  { sid, kind, name, cycle, since, ...price }: PriceChange,
  money: MoneyFormat,
): string {
  const { rule, amount, other_amount: other } = price
  const otherRule = rule === 'at_end' ? 'by_day' : 'at_end'
  const alternative = other === null ? '' : `, otherwise ${money(other)} (${otherRule})`
  return (
    `price of ${kind} ${name} changes on ${since.slice(0, 10)} in cycle ${cycle}: ` +
    `subscriber ${sid} pays ${money(amount)} (${rule})${alternative}`
  )
}

function taxChangeText(
  { sid, kind, name, cycle, ...amounts }: TaxChange,
  money: MoneyFormat,
): string {
  const { charged, in_force: inForce, difference } = amounts
  return (
    `tax of ${kind} ${name} has changed in cycle ${cycle}: subscriber ${sid} keeps ` +
    `${money(charged)}, by the tax in force ${money(inForce)} (${money(difference)})`
  )
}

function totalsText(totals: PreviewTotals, money: MoneyFormat): string {
  const { accounts, invoices, changed, failed, total, stored, difference, ...more } = totals
  return (
    `accounts ${accounts}, invoices ${invoices}, with differences ${changed}, ` +
    `failed ${failed}\n` +
    `total ${money(total)}, stored ${money(stored)}, difference ${money(difference)}\n` +
    `with changed prices ${more.price_changes}, not corrected ${money(more.not_returned)}`
  )
}
