/** What the caller may do: the API decides, the page only says so before. */
import { missingRoles, sessionUser } from '../../api/session.ts'
import { t } from '../../words/words.ts'

/** Why the caller may not do an action; null if it may. */
export function whyNot(action: 'balances/update' | 'api/releasesessions' | 'api/report') {
  const needed = missingRoles(action)
  if (needed === null) return null
  const own = sessionUser.value?.roles ?? []
  return t('customer.needsRole', { needed: needed.join(', '), roles: own.join(', ') })
}
