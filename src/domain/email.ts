/** Addresses of e-mails: one receiver, which no mail header can read as two. */

const PART = '[^\\s@<>(),;:"\\\\\\u0000-\\u001f\\u007f-\\u009f]'

const MAILBOX = new RegExp(`^${PART}{1,64}@${PART}{1,189}$`)

/** `local@host`; the host may be a name of the own network. */
export function isMailbox(text: string): boolean {
  return MAILBOX.test(text)
}

/** `local@domain.tld`. Only the syntax is checked, not whether the address exists. */
export function isEmail(text: string): boolean {
  if (!isMailbox(text)) return false
  const parts = text.slice(text.indexOf('@') + 1).split('.')
  return parts.length > 1 && parts.every((part) => part !== '')
}
