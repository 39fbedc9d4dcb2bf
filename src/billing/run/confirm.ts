/** Confirms invoices: they become bills, are sent to the customer, and are not changed any more. */
import { type Actor, plainActor } from '../../catalog/actor.ts'
import type { ClientSession, Filter, WithId } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { CatalogUnavailableError, EntityConflictError } from '../../catalog/errors.ts'
import { repeated } from '../../catalog/patience.ts'
import type { BillDocument, BillrunDocument } from '../../catalog/records/money/bill.ts'
import type { InvoiceDocument } from '../../catalog/records/money/invoice-document.ts'
import type { OutboxDocument } from '../../catalog/records/outbox-document.ts'
import { repeatingReads } from '../../catalog/repeating-reads.ts'
import { BILLRUN, type BillrunSettings } from '../../catalog/settings/money/billrun-settings.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import type { Config } from '../../config/schema.ts'
import type { Logger } from '../../runtime/log.ts'
import type { BooksWriter } from '../books/store-books.ts'
import type { RunCycle } from '../cycle/run-cycle.ts'
import type { Documents } from '../documents/documents.ts'
import { type SettledLine, settleLines } from '../invoices/input-lines.ts'
import { storeInvoiceBill } from '../invoices/invoice-bill.ts'
import { invoicePartsOf, invoicesOf, UNCONFIRMED } from '../invoices/stored-invoice.ts'
import { dueDatesOf } from './due-dates.ts'
import { unchangedAccounts } from './input-digest.ts'
import { writeFiles } from './invoice-files.ts'
import { enqueueMail, sendMails } from './invoice-mail.ts'
import { readParked } from './parked.ts'
import { type RunStores, readRun } from './runs.ts'

export interface ConfirmDeps extends RunStores {
  readonly config: Pick<Config, 'rating' | 'mail' | 'invoices'>
  readonly documents: Documents
  readonly log: Pick<Logger, 'warn'>
}

export interface Confirmation {
  readonly cycle: RunCycle
  /** Numbers of the only invoices; null for all. */
  readonly invoices: readonly number[] | null
  readonly actor: Actor
  /** Whether PDF files are made; as the run, or the settings, if absent. */
  readonly generatePdf?: boolean | undefined
}

export interface ConfirmCounts {
  readonly confirmed: number
  readonly not_for_bill: number
}

export interface ConfirmResult extends ConfirmCounts {
  readonly refused: readonly { readonly invoice_id: number; readonly reason: string }[]
}

/** Invoices per transaction. */
const BATCH = 20
/** Refusals that a result lists. */
const REFUSED_MAX = 1_000

export type Open = WithId<BillrunDocument> & InvoiceDocument & { invoice_id: number }

export async function hasUnconfirmed(
  catalog: Catalog,
  cycle: RunCycle,
  invoices: readonly number[] | null,
): Promise<boolean> {
  const found = await catalog.billrun.findOne(openOf(cycle, invoices), { projection: { _id: 1 } })
  return found !== null
}

function openOf(cycle: RunCycle, invoices: readonly number[] | null): Filter<BillrunDocument> {
  const named = invoices === null ? { $exists: true } : { $in: [...invoices] }
  return { ...invoicesOf(cycle), ...UNCONFIRMED, invoice_id: named } as Filter<BillrunDocument>
}

/**
 * In the order of the accounts, until the signal is aborted. An invoice whose account failed in
 * the last run, or has got lines since it was computed, is refused. Repeating it is harmless.
 */
export async function confirmInvoices(
  deps: ConfirmDeps,
  { cycle, invoices, actor, generatePdf }: Confirmation,
  signal?: AbortSignal,
  onBatch: (counts: ConfirmCounts & { refused: number }) => Promise<void> = async () => undefined,
): Promise<ConfirmResult> {
  const catalog = repeatingReads(deps.catalog)
  const { value } = await readCategory(catalog, 'billrun')
  const parked = await readParked({ catalog }, { run: cycle.id, state: 'parked' })
  const settings = BILLRUN.read(value)
  const run = await readRun({ ...deps, catalog }, cycle.id)
  const batches = new Batches(deps, {
    settings,
    generatePdf: generatePdf ?? run?.generate_pdf ?? settings.generate_pdf,
    parked: new Set(parked.map(({ aid }) => aid)),
    cycle,
    actor,
    signal,
  })
  const refused: { invoice_id: number; reason: string }[] = []
  let total: ConfirmCounts = { confirmed: 0, not_for_bill: 0 }
  for (let afterAid = 0; signal?.aborted !== true; ) {
    const batch = await nextBatch(catalog, openOf(cycle, invoices), afterAid)
    const last = batch.at(-1)
    if (last === undefined) break
    const result = await batches.confirm(batch)
    total = {
      confirmed: total.confirmed + result.confirmed,
      not_for_bill: total.not_for_bill + result.not_for_bill,
    }
    refused.push(...result.refused.slice(0, REFUSED_MAX - refused.length))
    const { confirmed, not_for_bill } = result
    await onBatch({ confirmed, not_for_bill, refused: result.refused.length })
    afterAid = last.aid
  }
  return { ...total, refused }
}

async function nextBatch(
  catalog: Catalog,
  open: Filter<BillrunDocument>,
  afterAid: number,
): Promise<Open[]> {
  const filter = { ...open, aid: { $gt: afterAid } } as Filter<BillrunDocument>
  const found = await catalog.billrun.find(filter).sort({ aid: 1 }).limit(BATCH).toArray()
  return found as unknown as Open[]
}

interface Rules {
  readonly cycle: RunCycle
  readonly settings: BillrunSettings
  readonly generatePdf: boolean
  readonly parked: ReadonlySet<number>
  readonly actor: Actor
  /** Ends the waiting for MongoDB, as that of the catalogue does. */
  readonly signal: AbortSignal | undefined
}

const NONE: ReadonlyMap<string, Outcome> = new Map()

type Outcome = 'confirmed' | 'not_for_bill' | 'gone' | { readonly refused: string }

class Batches {
  readonly #deps: ConfirmDeps
  readonly #rules: Rules
  /** The following e-mails are left to the control plane. */
  #isMailSlow = false

  constructor(deps: ConfirmDeps, rules: Rules) {
    this.#deps = deps
    this.#rules = rules
  }

  async confirm(batch: readonly Open[]): Promise<ConfirmResult> {
    const outcomes = new Map<Open, Outcome>()
    try {
      for (const [each, outcome] of await this.#commit(batch)) outcomes.set(each, outcome)
    } catch (error) {
      if (isOfStore(error)) throw error
      // One of them cannot be billed: it is found by confirming each on its own.
      for (const each of batch) outcomes.set(each, await this.#alone(each))
    }
    const all = [...outcomes]
    return {
      confirmed: all.filter(([, outcome]) => outcome === 'confirmed').length,
      not_for_bill: all.filter(([, outcome]) => outcome === 'not_for_bill').length,
      refused: all.flatMap(([{ invoice_id }, outcome]) =>
        typeof outcome === 'string' ? [] : [{ invoice_id, reason: outcome.refused }],
      ),
    }
  }

  async #alone(invoice: Open): Promise<Outcome> {
    try {
      return (await this.#commit([invoice])).get(invoice) ?? 'gone'
    } catch (error) {
      if (isOfStore(error)) throw error
      return { refused: error instanceof Error ? error.message : String(error) }
    }
  }

  async #commit(batch: readonly Open[]): Promise<Map<Open, Outcome>> {
    const { catalog, clock } = this.#deps
    const nowMs = clock.nowMs()
    let attempts = 0
    const attempt = () => {
      attempts += 1
      return catalog.transaction('confirm invoices', async (session) => {
        // An attempt without an answer may have been committed.
        const before = attempts === 1 ? NONE : await this.#confirmedAt(session, batch, nowMs)
        return this.#decide(session, batch, nowMs, before)
      })
    }
    const signals = [catalog.patience.signal, this.#rules.signal].filter((one) => one !== undefined)
    const patience = { ...catalog.patience, signal: AbortSignal.any(signals) }
    const done = await repeated(attempt, patience, isOfStore)
    const isConfirmed = (each: Open) => typeof done.outcomes.get(each) === 'string'
    // An e-mail then has the file that is kept.
    await writeFiles(this.#deps, batch.filter(isConfirmed), this.#rules.generatePdf)
    if (this.#isMailSlow) await catalog.dispatcher.release(done.mails)
    else this.#isMailSlow = !(await sendMails(this.#deps, done.mails))
    return done.outcomes
  }

  /** All in the transaction of the session; `before`: those that are confirmed already. */
  async #decide(
    session: ClientSession,
    batch: readonly Open[],
    nowMs: number,
    before: ReadonlyMap<string, Outcome>,
  ): Promise<{ outcomes: Map<Open, Outcome>; mails: OutboxDocument[] }> {
    const { catalog, config } = this.#deps
    const outcomes = new Map<Open, Outcome>()
    const mails: OutboxDocument[] = []
    const unchanged = await unchangedAccounts(catalog, session, this.#rules.cycle, batch)
    const settled: SettledLine[] = []
    const writer = { catalog, session, currencyCode: config.rating.currencyCode, nowMs }
    for (const invoice of batch) {
      const earlier = before.get(String(invoice._id))
      const reason = earlier === undefined ? this.#refusal(invoice, unchanged) : null
      if (earlier !== undefined) outcomes.set(invoice, earlier)
      else if (reason !== null) outcomes.set(invoice, { refused: reason })
      else {
        const outcome = await this.#bill(writer, session, invoice)
        if (outcome === 'confirmed') mails.push(...enqueueMail(config, session, invoice))
        if (outcome !== 'gone') settled.push(...(unchanged.get(invoice.aid) ?? []))
        outcomes.set(invoice, outcome)
      }
    }
    await settleLines(catalog, session, settled)
    return { outcomes, mails }
  }

  /** The invoices of the batch that were confirmed at this time, by id. */
  async #confirmedAt(
    session: ClientSession,
    batch: readonly Open[],
    nowMs: number,
  ): Promise<ReadonlyMap<string, Outcome>> {
    const { catalog } = this.#deps
    const _id = { $in: batch.map((each) => each._id) }
    const filter = { _id, confirmation_time: new Date(nowMs) } as Filter<BillrunDocument>
    const found = await catalog.billrun
      .find(filter, { session, projection: { billed: 1 } })
      .toArray()
    return new Map(
      found.map((each) => [String(each._id), each['billed'] === 1 ? 'confirmed' : 'not_for_bill']),
    )
  }

  #refusal(invoice: Open, unchanged: ReadonlyMap<number, unknown>): string | null {
    if (this.#rules.parked.has(invoice.aid)) return 'the account failed in the last run'
    if (unchanged.has(invoice.aid)) return null
    return 'the account has got lines since the invoice was computed: compute it again'
  }

  async #bill(
    writer: Pick<BooksWriter, 'catalog' | 'session' | 'nowMs' | 'currencyCode'>,
    session: ClientSession,
    invoice: Open,
  ): Promise<Outcome> {
    const { catalog, nowMs } = writer
    const isForBill = invoice['allow_bill'] !== 0
    const confirmed = new Date(nowMs)
    const { timeZone: zone } = this.#deps.config.rating
    const due = dueDatesOf(invoice, confirmed, this.#rules.settings, zone)
    const { matchedCount } = await catalog.billrun.updateOne(
      { _id: invoice._id, ...UNCONFIRMED } as Filter<BillrunDocument>,
      {
        $set: {
          billed: isForBill ? 1 : 2,
          confirmation_time: confirmed,
          due_date: due.dueDate,
          charge: { not_before: due.notBefore },
        },
      },
      { session },
    )
    if (matchedCount === 0) return 'gone'
    if (!isForBill) return 'not_for_bill'
    const { actor } = this.#rules
    await storeInvoiceBill(
      { ...writer, actor: plainActor(actor) },
      {
        ...invoicePartsOf(invoice),
        aid: invoice.aid,
        invoiceId: invoice.invoice_id,
        billrunKey: invoice.billrun_key,
        ...due,
        fields: billFieldsOf(invoice),
      },
    )
    return 'confirmed'
  }
}

/** Fields of the bill that come from the invoice. */
export function billFieldsOf({
  attributes,
  invoice_date,
}: Pick<InvoiceDocument, 'attributes' | 'invoice_date'>): Partial<BillDocument> {
  return {
    invoice_date,
    invoice_type: attributes.invoice_type,
    payer_name: attributes.fullname,
  }
}

function isOfStore(error: unknown): boolean {
  return error instanceof CatalogUnavailableError || error instanceof EntityConflictError
}
