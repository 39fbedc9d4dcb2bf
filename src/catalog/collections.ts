/** The typed collections of MongoDB, which other modules use, and their indexes. */
import type { Db, IndexDescription, Collection as UnguardedCollection } from 'mongodb'
import type { AccountDocument } from './entities/account.ts'
import type { AutorenewDocument } from './entities/autorenew.ts'
import type { ChargeDocument } from './entities/charge.ts'
import type { DiscountDocument } from './entities/discount.ts'
import { ENTITIES, type EntityCollection } from './entities/entity-table.ts'
import type { PlanDocument } from './entities/plan.ts'
import type { PrepaidGroupDocument } from './entities/prepaid-group.ts'
import type { PrepaidIncludeDocument } from './entities/prepaid-include.ts'
import type { RateDocument } from './entities/rate.ts'
import type { ReportDocument } from './entities/report.ts'
import type { ServiceDocument } from './entities/service.ts'
import type { SubscriberDocument } from './entities/subscriber.ts'
import type { TaxDocument } from './entities/tax.ts'
import type { UserDocument } from './entities/user.ts'
import {
  type Collection,
  type CollectionReads,
  type Guards,
  guardedCollection,
  guardedReads,
} from './guarded.ts'
import {
  AUDIT_INDEXES,
  type AuditChainDocument,
  type AuditDocument,
} from './records/audit-document.ts'
import { CARD_INDEXES, type CardDocument } from './records/card.ts'
import type { ConfigDocument } from './records/config-document.ts'
import { CONFIG_HISTORY_INDEXES, type ConfigVersionDocument } from './records/config-document.ts'
import { CUSTOMER_INDEXES, type CustomerDocument } from './records/customer-document.ts'
import { EVENT_INDEXES, type NotificationDocument } from './records/events/event-document.ts'
import type { HeadDocument } from './records/head-document.ts'
import type { ImportDocument } from './records/import-document.ts'
import { JOB_INDEXES, type JobDocument } from './records/job-document.ts'
import {
  BILL_INDEXES,
  BILLRUN_INDEXES,
  type BillDocument,
  type BillrunDocument,
} from './records/money/bill.ts'
import {
  CYCLE_PAGE_INDEXES,
  type CyclePageDocument,
  type CycleRunDocument,
  PARKED_ACCOUNT_INDEXES,
  type ParkedAccountDocument,
  VOID_INVOICE_INDEXES,
  type VoidInvoiceDocument,
} from './records/money/cycle-documents.ts'
import {
  IDEMPOTENCY_INDEXES,
  type IdempotencyDocument,
} from './records/money/idempotency-document.ts'
import {
  type BooksDocument,
  JOURNAL_INDEXES,
  type PostingDocument,
} from './records/money/journal-document.ts'
import {
  type ChargeLeaseDocument,
  GATEWAY_CHARGE_INDEXES,
  type GatewayChargeDocument,
  type SandboxDocument,
  TOKENIZATION_INDEXES,
  type TokenizationDocument,
} from './records/money/payment-documents.ts'
import { OUTBOX_INDEXES, type OutboxDocument } from './records/outbox-document.ts'
import type { SecondFactorDocument } from './records/second-factor.ts'
import { STATISTICS_INDEXES, type StatisticsDocument } from './records/statistics-document.ts'
import type { TariffSetDocument } from './records/tariff-set-document.ts'
import type { BalanceDocument } from './records/usage/balance-document.ts'
import type { LineDocument } from './records/usage/documents.ts'
import {
  EXPORT_STREAM_INDEXES,
  EXPORT_WAITING_INDEXES,
  type ExportDocument,
  type ExportStreamDocument,
  type ExportWaitingDocument,
} from './records/usage/export-documents.ts'
import {
  INTAKE_FILE_INDEXES,
  INTAKE_REJECTED_INDEXES,
  type IntakeFileDocument,
  type IntakeRejectedDocument,
} from './records/usage/intake-documents.ts'
import type { CarriedDocument } from './records/usage/line-sums.ts'
import { REBALANCE_INDEXES, type RebalanceDocument } from './records/usage/rebalance-document.ts'
import { RERATE_INDEXES, type RerateDocument } from './records/usage/rerate-documents.ts'
import { LATE_LINE_INDEXES } from './records/usage/uninvoiced.ts'

export type {
  AggregationCursor,
  AnyBulkWriteOperation,
  BulkWriteResult,
  ClientSession,
  Collection as UnguardedCollection,
  Filter,
  FindCursor,
  UpdateFilter,
  WithId,
} from 'mongodb'
export { Binary, Decimal128, ObjectId } from 'mongodb'
export type { Collection, CollectionReads } from './guarded.ts'

/** An increasing number: of accounts and subscribers (sequence.ts); state of the demo (demo.ts). */
export interface CounterDocument {
  _id: string
  seq: number
}

/**
 * `ledger`: the epoch of its data (installation.ts). `clock`: see installation-clock.ts. `cards`:
 * see sealing/card-secrets.ts. `writable`: see write-watch.ts.
 */
export interface InstallationDocument {
  _id: string
  epoch?: string
  /** The setting with which the clock was set; null if there was none. */
  start?: string | null
  /** Milliseconds by which the clock of the installation is ahead of the system clock. */
  ahead_ms?: number
  /** Sealed. */
  key?: string
  /** Number of checks that it can be written. */
  checks?: number
}

export interface Collections {
  /** Subscribers and accounts, distinguished by `type`. */
  readonly subscribers: Collection<SubscriberDocument | AccountDocument>
  readonly plans: Collection<PlanDocument>
  readonly services: Collection<ServiceDocument>
  readonly rates: Collection<RateDocument>
  readonly taxes: Collection<TaxDocument>
  readonly prepaidincludes: Collection<PrepaidIncludeDocument>
  readonly prepaidgroups: Collection<PrepaidGroupDocument>
  readonly charges: Collection<ChargeDocument>
  readonly discounts: Collection<DiscountDocument>
  readonly reports: Collection<ReportDocument>
  readonly users: Collection<UserDocument>
  readonly autorenew: Collection<AutorenewDocument>
  /** Written by the recorder and billing. */
  readonly lines: Collection<LineDocument>
  /** Sums of the lines that retention has removed, by owner. */
  readonly carried: Collection<CarriedDocument>
  /** Notifications; those of balances are inserted by the recorder. */
  readonly events: Collection<NotificationDocument>
  /** Projection of the live balances; written only by the recorder. */
  readonly balances: Collection<BalanceDocument>
  /** Invoices, payments and refunds. */
  readonly bills: Collection<BillDocument>
  /** Postings of bills, and the totals of each account (billing/books). */
  readonly journal: Collection<PostingDocument>
  readonly books: Collection<BooksDocument>
  /** The invoice of each account and cycle. */
  readonly billrun: Collection<BillrunDocument>
  /** Runs of billing cycles, their pages of accounts, and accounts that failed. */
  readonly cycleruns: Collection<CycleRunDocument>
  readonly cyclepages: Collection<CyclePageDocument>
  readonly cycleparked: Collection<ParkedAccountDocument>
  /** Numbers of invoices that are not needed any more. */
  readonly voidinvoices: Collection<VoidInvoiceDocument>
  readonly cards: Collection<CardDocument>
  /** Customers of the customer system, kept for a short time. */
  readonly customers: Collection<CustomerDocument>
  /** Answers of money actions by idempotency key. */
  readonly idempotency: Collection<IdempotencyDocument>
  readonly counters: Collection<CounterDocument>
  readonly installation: Collection<InstallationDocument>
  readonly config: Collection<ConfigDocument>
  readonly confighistory: Collection<ConfigVersionDocument>
  /** The head, which each transaction reads first and writes last (transactions/). */
  readonly transactions: Collection<HeadDocument>
  /** Work in other stores that follows from transactions (transactions/). */
  readonly outbox: Collection<OutboxDocument>
  /** Progress of imports, and their failed rows. */
  readonly imports: Collection<ImportDocument>
  /** Erasure and retention jobs, and their progress. */
  readonly jobs: Collection<JobDocument>
  /** Charges of accounts through payment gateways. */
  readonly gatewaycharges: Collection<GatewayChargeDocument>
  /** Accounts that are being charged. */
  readonly chargeleases: Collection<ChargeLeaseDocument>
  /** Hosted pages on which customers enter a card. */
  readonly tokenizations: Collection<TokenizationDocument>
  /** The memory of the simulated payment gateway. */
  readonly sandbox: Collection<SandboxDocument>
  /** Second factors of users who log in. */
  readonly secondfactors: Collection<SecondFactorDocument>
  /** Statistics that clients store. */
  readonly statistics: Collection<StatisticsDocument>
  /** Requests to rate lines again. */
  readonly rebalance: Collection<RebalanceDocument>
  /** Accounts of runs of rerating. */
  readonly rerates: Collection<RerateDocument>
  /** Files of usage records, and their records that were rejected (intake). */
  readonly intakefiles: Collection<IntakeFileDocument>
  readonly intakerejected: Collection<IntakeRejectedDocument>
  /** Progress of the export of lines, and lines that it exports out of order. */
  readonly exports: Collection<ExportDocument>
  readonly exportwaiting: Collection<ExportWaitingDocument>
  /** Lines that wait to be sent as a stream. */
  readonly exportstream: Collection<ExportStreamDocument>
  /** Changes of the catalogue that take effect together. */
  readonly tariffsets: Collection<TariffSetDocument>
  /** Audit records (audit/). */
  readonly audit: Collection<AuditDocument>
  /** Removed ranges of the audit chain, and how far it was forwarded. */
  readonly auditchain: Collection<AuditChainDocument>
}

type DocumentIn<Name extends keyof Collections> =
  Collections[Name] extends Collection<infer D> ? D : never

/** The collections of the driver. */
export type UnguardedCollections = {
  readonly [Name in keyof Collections]: UnguardedCollection<DocumentIn<Name>>
}

export interface GuardedCollections extends Collections {
  /** For reads that may scan many documents. */
  readonly reads: { readonly [Name in keyof Collections]: CollectionReads<DocumentIn<Name>> }
}

/** Collections of records other than entities. */
type RecordCollection =
  | 'lines'
  | 'carried'
  | 'events'
  | 'balances'
  | 'bills'
  | 'journal'
  | 'billrun'
  | 'cyclepages'
  | 'cycleparked'
  | 'voidinvoices'
  | 'cards'
  | 'customers'
  | 'idempotency'
  | 'audit'
  | 'jobs'
  | 'confighistory'
  | 'gatewaycharges'
  | 'tokenizations'
  | 'outbox'
  | 'statistics'
  | 'rebalance'
  | 'rerates'
  | 'intakefiles'
  | 'intakerejected'
  | 'exportwaiting'
  | 'exportstream'

const RECORD_INDEXES: Readonly<Record<RecordCollection, readonly IndexDescription[]>> = {
  lines: [
    { key: { stamp: 1 }, unique: true },
    // Pages of lines by time and id; without the id the store sorts all lines of a subscriber.
    { key: { sid: 1, urt: 1, _id: 1 } },
    // The latest lines of a plan, which a changed price is tried on.
    { key: { plan: 1, type: 1, urt: 1 } },
    // Windows of usage patterns.
    { key: { urt: 1 } },
    { key: { aid: 1, billrun: 1 } },
    // Lines of runs, which may be few beside the usage of an account.
    { key: { aid: 1, source: 1, billrun: 1 }, partialFilterExpression: { source: 'billrun' } },
    ...LATE_LINE_INDEXES,
  ],
  carried: [{ key: { aid: 1 } }],
  events: EVENT_INDEXES,
  balances: [
    { key: { aid: 1, sid: 1, bucket_id: 1 }, unique: true },
    { key: { pp_includes_external_id: 1 } },
    // Debts of owners, which are few.
    { key: { bucket_id: 1, spent: 1 }, partialFilterExpression: { bucket_id: 0 } },
  ],
  bills: BILL_INDEXES,
  journal: JOURNAL_INDEXES,
  billrun: BILLRUN_INDEXES,
  cyclepages: CYCLE_PAGE_INDEXES,
  cycleparked: PARKED_ACCOUNT_INDEXES,
  voidinvoices: VOID_INVOICE_INDEXES,
  cards: CARD_INDEXES,
  customers: CUSTOMER_INDEXES,
  idempotency: IDEMPOTENCY_INDEXES,
  audit: AUDIT_INDEXES,
  jobs: JOB_INDEXES,
  confighistory: CONFIG_HISTORY_INDEXES,
  gatewaycharges: GATEWAY_CHARGE_INDEXES,
  tokenizations: TOKENIZATION_INDEXES,
  outbox: OUTBOX_INDEXES,
  statistics: STATISTICS_INDEXES,
  rebalance: REBALANCE_INDEXES,
  rerates: RERATE_INDEXES,
  intakefiles: INTAKE_FILE_INDEXES,
  intakerejected: INTAKE_REJECTED_INDEXES,
  exportwaiting: EXPORT_WAITING_INDEXES,
  exportstream: EXPORT_STREAM_INDEXES,
}

export function collectionsOf(db: Db): UnguardedCollections {
  return {
    subscribers: db.collection('subscribers'),
    plans: db.collection('plans'),
    services: db.collection('services'),
    rates: db.collection('rates'),
    taxes: db.collection('taxes'),
    prepaidincludes: db.collection('prepaidincludes'),
    prepaidgroups: db.collection('prepaidgroups'),
    charges: db.collection('charges'),
    discounts: db.collection('discounts'),
    reports: db.collection('reports'),
    users: db.collection('users'),
    autorenew: db.collection('autorenew'),
    lines: db.collection('lines'),
    carried: db.collection('carried'),
    events: db.collection('events'),
    balances: db.collection('balances'),
    bills: db.collection('bills'),
    journal: db.collection('journal'),
    books: db.collection('books'),
    billrun: db.collection('billrun'),
    cycleruns: db.collection('cycleruns'),
    cyclepages: db.collection('cyclepages'),
    cycleparked: db.collection('cycleparked'),
    voidinvoices: db.collection('voidinvoices'),
    cards: db.collection('cards'),
    customers: db.collection('customers'),
    idempotency: db.collection('idempotency'),
    counters: db.collection('counters'),
    installation: db.collection('installation'),
    config: db.collection('config'),
    confighistory: db.collection('confighistory'),
    transactions: db.collection('transactions'),
    outbox: db.collection('outbox'),
    imports: db.collection('imports'),
    jobs: db.collection('jobs'),
    gatewaycharges: db.collection('gatewaycharges'),
    chargeleases: db.collection('chargeleases'),
    tokenizations: db.collection('tokenizations'),
    sandbox: db.collection('sandbox'),
    secondfactors: db.collection('secondfactors'),
    statistics: db.collection('statistics'),
    rebalance: db.collection('rebalance_queue'),
    rerates: db.collection('rerates'),
    intakefiles: db.collection('intake_files'),
    intakerejected: db.collection('intake_rejected'),
    exports: db.collection('exports'),
    exportwaiting: db.collection('export_waiting'),
    exportstream: db.collection('export_stream'),
    tariffsets: db.collection('tariff_sets'),
    audit: db.collection('audit'),
    auditchain: db.collection('auditchain'),
  }
}

export function guardedCollections(
  unguarded: UnguardedCollections,
  { run, read }: Guards,
): GuardedCollections {
  const all = Object.entries(unguarded) as unknown as [string, UnguardedCollection][]
  const guarded = all.map(([name, one]) => [name, guardedCollection(name, one, run)])
  const reads = all.map(([name, one]) => [name, guardedReads(name, one, read)])
  return { ...Object.fromEntries(guarded), reads: Object.fromEntries(reads) }
}

/**
 * Creates the missing indexes, with one time-limited operation per collection. `identifiers`:
 * further identifying fields of subscribers.
 */
export async function ensureIndexes(
  collections: Collections,
  identifiers: readonly string[],
): Promise<void> {
  const create = (name: keyof Collections, indexes: readonly IndexDescription[]) =>
    (collections[name] as unknown as Collection).createIndexes([...indexes])
  for (const [name, definitions] of Object.entries(ENTITIES)) {
    const indexes = definitions.flatMap((definition) => definition.indexes)
    await create(name as EntityCollection, indexes)
  }
  if (identifiers.length > 0) {
    await create(
      'subscribers',
      identifiers.map((field) => ({ key: { [field]: 1 } })),
    )
  }
  for (const [name, indexes] of Object.entries(RECORD_INDEXES)) {
    await create(name as RecordCollection, indexes)
  }
}
