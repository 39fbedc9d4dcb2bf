/**
 * E-mails with confirmed invoices and their PDF. Each is an entry of the outbox: it is sent after
 * the commit, and again later if the mail server is not available or the PDF cannot be made.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { BillrunDocument } from '../../catalog/records/money/bill.ts'
import { exactAmount } from '../../catalog/records/money/exact-amount.ts'
import type { InvoiceDocument } from '../../catalog/records/money/invoice-document.ts'
import type { OutboxDocument } from '../../catalog/records/outbox-document.ts'
import { type OutboxHandler, SLOW_AT_ONCE } from '../../catalog/transactions/dispatcher.ts'
import { enqueueOutbox } from '../../catalog/transactions/outbox.ts'
import type { Config } from '../../config/schema.ts'
import { isMailbox } from '../../domain/email.ts'
import { sendMail } from '../../external/mail.ts'
import { moneyText } from '../amount.ts'
import { currencyDigits, moneyFormat } from '../currency.ts'
import type { DocumentFile, Documents } from '../documents/documents.ts'
import { isoDate } from '../documents/format.ts'
import { BillingError } from '../errors.ts'

export const MAIL_KIND = 'invoice mail'

export interface MailDeps {
  readonly catalog: Catalog
  readonly config: Pick<Config, 'mail' | 'rating'>
  readonly documents: Documents
}

/** Payload of an entry. */
export interface InvoiceMail {
  readonly aid: number
  readonly key: string
  readonly invoiceId: number
}

/** Limit for which a confirmation waits for e-mails; the control plane sends the others. */
const WAIT_MS = 5_000

/**
 * Adds the entry of an invoice to the transaction that confirms it; none without a mail server, or
 * if the customer wants no e-mail.
 */
export function enqueueMail(
  { mail }: Pick<Config, 'mail'>,
  session: ClientSession,
  {
    aid,
    billrun_key: key,
    invoice_id: invoiceId,
    ...invoice
  }: InvoiceDocument & {
    readonly invoice_id: number
  },
): OutboxDocument[] {
  if (mail.url === '') return []
  const way = invoice.account['invoice_shipping_method'] ?? 'email'
  if (!isAddress(invoice.attributes.email) || way !== 'email') return []
  const payload: InvoiceMail = { aid, key, invoiceId }
  return [enqueueOutbox(session, { kind: MAIL_KIND, payload, isHeld: true, isSlow: true })]
}

function isAddress(text: unknown): boolean {
  return typeof text === 'string' && isMailbox(text)
}

/**
 * Sends the e-mails of a transaction, for a few seconds at most: the caller does not wait for a
 * slow server. The rest, and those that fail, are sent later by any control plane. Returns whether
 * all were done in time.
 */
export async function sendMails(
  deps: MailDeps,
  entries: readonly OutboxDocument[],
): Promise<boolean> {
  if (entries.length === 0) return true
  const left = [...entries]
  const sendNext = async (): Promise<void> => {
    for (let entry = left.shift(); entry !== undefined; entry = left.shift()) {
      await sendNow(deps, entry)
    }
  }
  const sending = Promise.all(Array.from({ length: SLOW_AT_ONCE }, sendNext))
  const abort = new AbortController()
  const timeUp = pause(WAIT_MS, false, { signal: abort.signal }).catch(() => false)
  const isDone = await Promise.race([sending.then(() => true), timeUp])
  abort.abort()
  await deps.catalog.dispatcher.release(left.splice(0))
  return isDone
}

async function sendNow(deps: MailDeps, entry: OutboxDocument): Promise<void> {
  const { catalog } = deps
  try {
    await catalog.dispatcher.perform(entry, async () => {
      await send(deps, entry.payload as InvoiceMail)
      await catalog.outbox.deleteOne({ _id: entry._id })
    })
  } catch {
    // The dispatcher has left the entry to a later attempt.
  }
}

/** The handler of later attempts. */
export function mailHandler(deps: MailDeps): OutboxHandler {
  return (payload: InvoiceMail) => send(deps, payload)
}

async function send(
  { catalog, config, documents }: MailDeps,
  { aid, key, invoiceId }: InvoiceMail,
): Promise<void> {
  const found = await catalog.billrun.findOne({ aid, billrun_key: key, invoice_id: invoiceId })
  // Erased meanwhile.
  if (found === null) return
  const invoice = found as unknown as InvoiceDocument & { due_date?: Date }
  const { email, fullname } = invoice.attributes
  if (!isAddress(email)) return
  const { bytes, fileName, mediaType } = await documentOf(documents, found)
  const message = {
    to: { name: fullname, address: email },
    subject: `Invoice ${invoiceId}`,
    text: textOf(invoice, invoiceId, config.rating),
    attachments: [{ filename: fileName, content: bytes, contentType: mediaType }],
    id: `invoice-${invoiceId}`,
  }
  try {
    await sendMail(config.mail, message)
  } finally {
    // An e-mail that is given up has not read it to its end: its file would stay open.
    bytes.destroy()
  }
}

/** The reason of a failure names the invoice: it is what an operator finds in log and outbox. */
async function documentOf(documents: Documents, invoice: BillrunDocument): Promise<DocumentFile> {
  try {
    return await documents.documentOf(invoice, 'pdf')
  } catch (error) {
    if (!(error instanceof BillingError)) throw error
    const text = `the e-mail of invoice ${invoice.invoice_id} has no PDF: ${error.message}`
    throw new BillingError(text, 'refused', { cause: error })
  }
}

function textOf(
  invoice: InvoiceDocument & { due_date?: Date },
  invoiceId: number,
  { currencyCode, timeZone }: Config['rating'],
): string {
  const day = (date: Date | undefined) => (date === undefined ? '' : isoDate(date, timeZone))
  const due = exactAmount(invoice.totals.after_vat_rounded)
  const amount = moneyText(due, currencyDigits(currencyCode))
  return [
    `Invoice ${invoiceId} of ${day(invoice.invoice_date)}`,
    `Amount: ${moneyFormat(currencyCode)(amount)}`,
    ...(due.isNegative() ? [] : [`Due: ${day(invoice.due_date)}`]),
    '',
  ].join('\n')
}
