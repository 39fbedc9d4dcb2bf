/**
 * E-mails with confirmed invoices. Each is an entry of the outbox: it is sent after the commit, and
 * again later if the mail server is not available.
 */
import { createTransport, type Transporter } from 'nodemailer'
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { InvoiceDocument } from '../../catalog/records/invoice-document.ts'
import type { OutboxHandler } from '../../catalog/transactions/dispatcher.ts'
import { enqueueOutbox } from '../../catalog/transactions/outbox.ts'
import type { OutboxDocument } from '../../catalog/transactions/outbox-document.ts'
import type { Config } from '../../config/schema.ts'

export const MAIL_KIND = 'invoice mail'

export type MailConfig = Pick<Config, 'mail'>

/** Payload of an entry. */
export interface InvoiceMail {
  readonly aid: number
  readonly key: string
  readonly invoiceId: number
}

/** Entries sent at the same time. */
const AT_ONCE = 5

/**
 * Adds the entry of an invoice to the transaction that confirms it; none without a mail server, or
 * if the customer wants no e-mail.
 */
export function enqueueMail(
  { mail }: MailConfig,
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
  return [enqueueOutbox(session, { kind: MAIL_KIND, payload, isHeld: true })]
}

function isAddress(text: unknown): boolean {
  return typeof text === 'string' && /^[^@\s,;<>]{1,64}@[^@\s,;<>]{1,255}$/.test(text)
}

/** Sends the e-mails of a transaction; those that fail are sent later by any control plane. */
export async function sendMails(
  { catalog, config }: { readonly catalog: Catalog; readonly config: MailConfig },
  entries: readonly OutboxDocument[],
): Promise<void> {
  for (let at = 0; at < entries.length; at += AT_ONCE) {
    const some = entries.slice(at, at + AT_ONCE)
    await Promise.all(some.map((entry) => sendNow(catalog, config, entry)))
  }
}

async function sendNow(catalog: Catalog, config: MailConfig, entry: OutboxDocument): Promise<void> {
  try {
    await catalog.dispatcher.perform(entry, async () => {
      await send(catalog, config, entry.payload as InvoiceMail)
      await catalog.run('remove an outbox entry', () =>
        catalog.outbox.deleteOne({ _id: entry._id }),
      )
    })
  } catch {
    // The dispatcher has left the entry to a later attempt.
  }
}

/** The handler of later attempts. */
export function mailHandler(catalog: Catalog, config: MailConfig): OutboxHandler {
  return (payload: InvoiceMail) => send(catalog, config, payload)
}

async function send(
  catalog: Catalog,
  config: MailConfig,
  { aid, key, invoiceId }: InvoiceMail,
): Promise<void> {
  const found = await catalog.run('read an invoice', () =>
    catalog.billrun.findOne({ aid, billrun_key: key, invoice_id: invoiceId }),
  )
  // Erased meanwhile.
  if (found === null) return
  const invoice = found as unknown as InvoiceDocument & { due_date?: Date; currency?: string }
  const { email, fullname } = invoice.attributes
  if (!isAddress(email)) return
  await transportOf(config).sendMail({
    from: config.mail.from,
    to: { name: fullname, address: email },
    subject: `Invoice ${invoiceId}`,
    text: textOf(invoice, invoiceId),
    // A repetition is recognised by the receiver.
    messageId: `<invoice-${invoiceId}@${domainOf(config.mail.from)}>`,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

function textOf(invoice: InvoiceDocument & { due_date?: Date }, invoiceId: number): string {
  const day = (date: Date | undefined) => date?.toISOString().slice(0, 10) ?? ''
  return [
    `Invoice ${invoiceId} of ${day(invoice.invoice_date)}`,
    `Amount: ${invoice.totals.after_vat_rounded.toFixed(2)}`,
    `Due: ${day(invoice.due_date)}`,
    '',
  ].join('\n')
}

function domainOf(from: string): string {
  return /@([^@\s>]+)>?$/.exec(from)?.[1] ?? 'localhost'
}

let transport: { readonly url: string; readonly transporter: Transporter } | null = null

/** Connections are kept and shared. */
function transportOf({ mail: { url, timeoutMs } }: MailConfig): Transporter {
  if (transport?.url === url) return transport.transporter
  const times = {
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
  }
  const transporter = createTransport({ url, pool: true, maxConnections: AT_ONCE, ...times })
  transport = { url, transporter: transporter as unknown as Transporter }
  return transport.transporter
}

/** Ends idle connections to the mail server. */
export function closeMail(): void {
  transport?.transporter.close()
  transport = null
}
