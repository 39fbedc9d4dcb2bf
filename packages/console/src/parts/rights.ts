/** Permissions of the user: the API decides, pages only say so before. */
import { missingRoles, sessionUser } from '../api/session.ts'
import { t } from '../words/words.ts'

/** Why the user may not do an action, such as `api/credit`; null if it may. */
export function missingText(action: string): string | null {
  const needed = missingRoles(action)
  if (needed === null) return null
  const own = sessionUser.value?.roles ?? []
  return t('rights.missing', { needed: needed.join(', '), own: own.join(', ') })
}
