/** What the caller may do: the API decides, the page only says so before. */
import { sessionUser } from '../../api/session.ts'
import { t } from '../../words/words.ts'

/** Why the caller may not write; null if it may, or if that is not known. */
export function whyNotWrite(): string | null {
  const user = sessionUser.value
  const mayWrite = user === null || user.roles.some((role) => role === 'write' || role === 'admin')
  return mayWrite ? null : t('customer.needsWrite', { roles: user.roles.join(', ') })
}
