import type { SETTINGS as EN } from '../en/settings.ts'

export const SETTINGS: Readonly<Record<keyof typeof EN, string>> = {
  'settings.categories': 'Kategorien',
  'settings.choose': 'Wählen Sie eine Kategorie.',
  'settings.unknown': 'Es gibt keine Kategorie {name}.',
  'settings.tabs': 'Teile von {name}',
  'settings.value': 'Wert',
  'settings.history': 'Verlauf',
  'settings.readOnly': 'Im laufenden Betrieb nicht änderbar: {instead}.',
  'settings.document': 'Wert von {name} als JSON',
  'settings.clients': 'Clients werden einzeln angelegt und geändert, auf der Seite der Zugänge.',
  'settings.effective': 'Wirksamer Wert, mit Vorgaben und der Konfigurationsdatei',
  'settings.nothing': 'Nichts gespeichert: Es gelten die Vorgaben.',
  'settings.rev': 'Version {rev}',
  'settings.save': 'Speichern',
  'settings.saved': '{name} ist gespeichert.',
  'settings.changes': 'Was das Speichern ändert',
  'settings.noJson': 'Das ist kein JSON: {reason}',
  'settings.inexact': '{number} hat mehr Stellen, als der Server speichern kann.',
  'settings.noVersions': 'Es wurde noch nie etwas gespeichert.',
  'settings.version': 'Version',
  'settings.changed': 'Gespeichert',
  'settings.author': 'Von',
  'settings.compared': 'Von Version {rev} zur jetzigen Version {present}',
  'settings.same': 'Es gibt keinen Unterschied.',
  'settings.restore': 'Version {rev} wiederherstellen…',
  'settings.restoreTitle': 'Version {rev} von {name} wiederherstellen',
  'settings.restoreAbout':
    'Sie wird als neue Version gespeichert und wirkt sofort. Version {present} bleibt im ' +
    'Verlauf; ' +
    'Geheimnisse bleiben, wie sie sind.',
  'settings.restored': 'Version {rev} von {name} ist wiederhergestellt.',
}
