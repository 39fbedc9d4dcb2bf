/** German texts about documents: their changes, conflicts, editor and revisions. */
import type { DOCUMENTS as EN } from '../en/documents.ts'

export const DOCUMENTS: Readonly<Record<keyof typeof EN, string>> = {
  'audit.none': 'Keine Änderungen aufgezeichnet.',
  'audit.field': 'Feld',
  'audit.before': 'Vorher',
  'audit.after': 'Nachher',
  'audit.more': '{count} weitere Felder',
  'conflict.title': 'Jemand anderes hat diese Revision inzwischen gespeichert.',
  'conflict.titleBy': '{author} hat diese Revision inzwischen gespeichert.',
  'conflict.choose': 'Wählen Sie zu jedem Feld den Wert, der bleibt, und speichern Sie erneut.',
  'conflict.noClash':
    'Keines Ihrer Felder ist betroffen: Speichern Sie erneut, um Ihre Änderungen hinzuzufügen.',
  'conflict.mine': 'Ihr Wert',
  'conflict.theirs': 'Gespeichert',
  'conflict.kept': '{field}: {before} → {after} (bleibt)',
}
