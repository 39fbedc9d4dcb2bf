/** Addresses of e-mails: one receiver, which no mail header can read as two. */

const PART = '[^\\s@<>(),;:"\\\\\\u0000-\\u001f\\u007f-\\u009f]'

/** `local@host`, as a pattern of a schema; the host may be a name of the own network. */
export const MAILBOX_PATTERN = `^${PART}{1,64}@${PART}{1,189}$`

const MAILBOX = new RegExp(MAILBOX_PATTERN)

/** `local@domain.tld`. Only the syntax is checked, not whether the address exists. */
export function isEmail(text: string): boolean {
  if (!MAILBOX.test(text)) return false
  const parts = text.slice(text.indexOf('@') + 1).split('.')
  return parts.length > 1 && parts.every((part) => part !== '')
}
