/** Addresses of e-mails: one receiver, which no mail header can read as two. */

/** Excludes invisible characters, which make an address look like another one. */
const PART = '[^\\s@<>(),;:"\\[\\]\\\\\\p{Cc}\\p{Cf}]'

const MAILBOX = new RegExp(`^${PART}{1,64}@${PART}{1,189}$`, 'u')

/** `local@host`; the host may be a name of the own network. */
export function isMailbox(text: string): boolean {
  return MAILBOX.test(text)
}

/** A label of a domain name, also in letters of other languages. */
const LABEL = /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?$/u

/** `local@domain.tld`. Only the syntax is checked, not whether the address exists. */
export function isEmail(text: string): boolean {
  if (!isMailbox(text)) return false
  const [local = '', domain = ''] = text.split('@')
  const labels = domain.split('.')
  return labels.length > 1 && labels.every((label) => LABEL.test(label)) && isDotted(local)
}

/** Dots stand between other characters. */
function isDotted(local: string): boolean {
  return local.split('.').every((part) => part !== '')
}
