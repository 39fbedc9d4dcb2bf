/** Limit of RFC 5321. */
const LENGTH_MAX = 254

/** `local@domain.tld`. Only the syntax is checked, not whether the address exists. */
export function isEmail(text: string): boolean {
  if (text.length > LENGTH_MAX || /[\s<>(),;:"\\]/.test(text)) return false
  const [local = '', domain = '', ...rest] = text.split('@')
  if (local === '' || rest.length > 0) return false
  const parts = domain.split('.')
  return parts.length > 1 && parts.every((part) => part !== '')
}
