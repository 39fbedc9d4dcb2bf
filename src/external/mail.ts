/** E-mails by SMTP. */
import { setTimeout as pause } from 'node:timers/promises'
import { createTransport, type SendMailOptions, type Transporter } from 'nodemailer'
import type { Config } from '../config/schema.ts'

export type MailSettings = Config['mail']

export interface Mail extends Pick<SendMailOptions, 'subject' | 'text' | 'attachments'> {
  to: string | { name: string; address: string }
  /** Identifies the message, so that a receiver recognises a repetition. */
  id: string
}

/** Connections to the server. */
const CONNECTIONS_MAX = 5
/** Answers of the server to one message, whose time limits add up. */
const ANSWERS_MAX = 6

let transport: { readonly url: string; readonly transporter: Transporter } | null = null

/** Rejects if the server has not accepted the e-mail within the limits. */
export function sendMail(settings: MailSettings, { id, ...mail }: Mail): Promise<void> {
  const { from, timeoutMs } = settings
  const message = {
    ...mail,
    from,
    messageId: `<${id}@${domainOf(from)}>`,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  return sendWithin(transportOf(settings), message, ANSWERS_MAX * timeoutMs)
}

/** A server that answers byte by byte exceeds no timeout of a socket. */
async function sendWithin(
  transporter: Transporter,
  message: SendMailOptions,
  limitMs: number,
): Promise<void> {
  const abort = new AbortController()
  const timeUp = pause(limitMs, true, { signal: abort.signal }).catch(() => false)
  const sending = transporter.sendMail(message).then(() => false)
  sending.catch(() => undefined)
  try {
    if (!(await Promise.race([sending, timeUp]))) return
  } finally {
    abort.abort()
  }
  // Its connection is not used again.
  if (transport?.transporter === transporter) closeMail()
  throw new MailTimeoutError(`the mail server has not accepted the e-mail within ${limitMs} ms`)
}

/** The mail server is too slow. */
class MailTimeoutError extends Error {
  override name = 'MailTimeoutError'
}

/** Whether the server refuses the receiver for good (a code of 5xx), and not only for now. */
export function isAddressRefused(error: unknown): boolean {
  const { command, responseCode } = (error ?? {}) as { command?: unknown; responseCode?: unknown }
  return command === 'RCPT TO' && typeof responseCode === 'number' && responseCode >= 500
}

/** Whether a failure is no answer of the server, so that another e-mail would fail as well. */
export function isServerDown(error: unknown): boolean {
  return error instanceof Error && !('responseCode' in error && error.responseCode !== undefined)
}

function domainOf(from: string): string {
  return /@([^@\s>]+)>?$/.exec(from)?.[1] ?? 'localhost'
}

/** Connections are kept and shared. */
function transportOf({ url, timeoutMs }: MailSettings): Transporter {
  if (transport?.url === url) return transport.transporter
  const times = {
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
  }
  const transporter = createTransport({
    url,
    pool: true,
    maxConnections: CONNECTIONS_MAX,
    ...times,
  })
  transport = { url, transporter: transporter as unknown as Transporter }
  return transport.transporter
}

/** Ends idle connections to the mail server. */
export function closeMail(): void {
  transport?.transporter.close()
  transport = null
}
