/** Computes the invoice that an account would get; nothing is stored. */
import type { Catalog } from '../../catalog/connection.ts'
import { BILLRUN } from '../../catalog/settings/money/billrun-settings.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import type { Fields } from '../../domain/fields.ts'
import type { AccountInvoice } from '../cycle/compute.ts'
import { NothingToInvoiceError } from '../documents/errors.ts'
import { type Expectation, NO_NUMBER } from '../documents/expectation.ts'
import type { ExpectedSource } from '../documents/make.ts'
import { invoiceSource, SourceLines } from '../documents/read-invoice.ts'
import type { OpenAccounts } from './account-source.ts'
import { dueDatesOf } from './due-dates.ts'
import { type ComputeAccount, computeOne } from './process-page.ts'
import { readAccounts } from './read-accounts.ts'
import { type RunConfig, readRunData } from './run-data.ts'

export interface ExpectedDeps {
  readonly catalog: Catalog
  readonly config: RunConfig
  readonly openAccounts: OpenAccounts
}

/**
 * Null without anything to invoice. Throws `CycleError` or `AccountInputError` if the account
 * cannot be computed; rejects with `CustomerSystemError`.
 */
export async function expectedInvoice(
  { catalog, config, openAccounts }: ExpectedDeps,
  compute: ComputeAccount,
  { aid, cycle, ignoresLines, account, subscribers, nowMs }: Expectation,
): Promise<AccountInvoice | null> {
  const data = await readRunData(catalog, config)
  const source = await openAccounts()
  // Revisions that are all given need not be asked for.
  const customers =
    account !== null && subscribers !== null && source.isExternal
      ? [{ aid, account, subscribers, merged: [], problem: null }]
      : await source.customers(cycle, [aid])
  const accounts = { aids: [aid], customers }
  const read = (await readAccounts(catalog, cycle, data, accounts, nowMs)).get(aid)
  if (read === undefined) return null
  if (read.input instanceof Error) throw read.input
  const input = {
    ...read.input,
    ...(ignoresLines && { lines: [], laterInstallments: [] }),
    ...(account !== null && { account }),
    ...(subscribers !== null && { subscribers }),
  }
  return computeOne({ ...read, input }, compute)
}

/**
 * An expected invoice, and the source of its documents. Rejects as `expectedInvoice`, and with
 * `NothingToInvoiceError`.
 */
export async function expectedSource(
  deps: ExpectedDeps,
  compute: ComputeAccount,
  expectation: Expectation,
): Promise<ExpectedSource> {
  const { catalog, config } = deps
  const expected = await expectedInvoice(deps, compute, expectation)
  if (expected === null) throw new NothingToInvoiceError()
  const { invoice, lines, others } = expected
  const { currencyCode, timeZone } = config.rating
  const [{ value: settings }, { value }] = await Promise.all([
    readCategory(catalog, 'invoices'),
    readCategory(catalog, 'billrun'),
  ])
  const { dueDate } = dueDatesOf(invoice, invoice.creation_time, BILLRUN.read(value), timeZone)
  const document = { ...invoice, invoice_id: NO_NUMBER, due_date: dueDate }
  const all = new SourceLines()
    .add(lines as unknown as readonly Fields[])
    .add(others as unknown as readonly Fields[])
  return { invoice, source: invoiceSource(document, all, { settings, currencyCode, timeZone }) }
}
