/** As RFC 5321 bounds it. */
const LENGTH_MAX = 254

/** `local@domain.tld`. Whether anybody reads what is sent there, only sending tells. */
export function isEmail(text: string): boolean {
  if (text.length > LENGTH_MAX || /[\s<>(),;:"\\]/.test(text)) return false
  const [local = '', domain = '', ...rest] = text.split('@')
  if (local === '' || rest.length > 0) return false
  const parts = domain.split('.')
  return parts.length > 1 && parts.every((part) => part !== '')
}
