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
  'document.add': 'Feld hinzufügen…',
  'document.addField': 'Feld zu {path} hinzufügen',
  'document.addNamed': 'Hinzufügen',
  'document.newName': 'Name eines neuen Elements von {path}',
  'document.name': 'Name',
  'document.addItem': 'Zu {list} hinzufügen',
  'document.remove': 'Entfernen',
  'document.removeNamed': '{name} entfernen',
  'document.addTier': 'Stufe hinzufügen',
  'document.removeTier': 'Stufe {tier} entfernen',
  'document.tierCell': '{column} der Stufe {tier}',
  'document.plot': 'Preis nach Einheiten: {count} Stufen. Die Pfeiltasten lesen ihn.',
  'document.plotHint':
    'Preis einer Einheit (dick), vor der Änderung (gestrichelt), Summe einer Nutzung (dünn).',
  'document.log': 'logarithmisch',
  'document.atUnits': 'bei {units}',
  'document.inTier': 'Stufe {tier}: {price} je {interval}',
  'document.noTier': 'nach der letzten Stufe',
  'document.total': 'Summe {total}',
}
