import type { RERATE as EN } from '../en/rerate.ts'

export const RERATE: Readonly<Record<keyof typeof EN, string>> = {
  'rerate.tabs': 'Teile der Seite',
  'rerate.tab.preview': 'Vorschau',
  'rerate.tab.run': 'Letzter Lauf',
  'rerate.about':
    'Bewertet erfasste Nutzung neu, nach dem heutigen Katalog: alle Konten mit einer gewählten ' +
    'Zeile, mit allen ihren Zeilen des Zyklus, da diese sich enthaltene Einheiten teilen. Leere ' +
    'Felder wählen alle Nutzung bis jetzt. Die Vorschau ändert nichts.',
  'rerate.from': 'Ab',
  'rerate.to': 'Bis vor',
  'rerate.rate': 'Tarif',
  'rerate.plan': 'Plan',
  'rerate.sid': 'Teilnehmer',
  'rerate.file_type': 'Dateityp der Nutzungsdatensätze',
  'rerate.preview': 'Vorschau',
  'rerate.busy': 'Wird bewertet…',
  'rerate.stop': 'Abbrechen',

  'rerate.result': 'Was sich ändern würde',
  'rerate.sentence':
    '{changed} von {lines} Zeilen würden sich ändern; {refused} von {accounts} Konten sind nicht ' +
    'neu zu bewerten.',
  'rerate.nothing': 'Keine erfasste Nutzung entspricht der Auswahl.',
  'rerate.unchangedAll': 'Alle Zeilen haben die Preise des heutigen Katalogs.',
  'rerate.someRefused':
    '{refused} von {accounts} Konten sind nicht neu zu bewerten: Keine ihrer Zeilen im Zyklus ' +
    'ändert sich.',
  'rerate.accounts': 'Konten',
  'rerate.refused': 'Nicht neu zu bewerten',
  'rerate.lines': 'Zeilen',
  'rerate.changed': 'Zeilen, die sich ändern',
  'rerate.difference': 'Differenz vor Steuern',
  'rerate.differenceTaxed': 'Differenz mit Steuern',
  'rerate.onConfirmed': 'Auf bestätigten Rechnungen, vor Steuern',
  'rerate.onConfirmedTaxed': 'Auf bestätigten Rechnungen, mit Steuern',
  'rerate.confirmed.credit':
    'Bestätigte Rechnungen bleiben: Der nächste Abrechnungslauf schreibt {amount} mit Steuern gut.',
  'rerate.confirmed.charge':
    'Bestätigte Rechnungen bleiben: Der nächste Abrechnungslauf berechnet {amount} mit Steuern.',
  'rerate.recompute': 'Unbestätigte Rechnungen, die neu zu berechnen sind: {count}.',
  'rerate.reasons': 'Warum Konten nicht neu zu bewerten sind',
  'rerate.reason': 'Grund',
  'rerate.why': '{text} (Zeilen: {lines})',
  'rerate.refusedAccounts': 'Konten, die nicht neu zu bewerten sind',
  'rerate.largest': 'Die größten Differenzen',
  'rerate.time': 'Zeit',
  'rerate.beforeTax': 'Vor Steuern',
  'rerate.withTax': 'Mit Steuern',
  'rerate.changedAccounts': 'Konten, die sich ändern',
  'rerate.account': 'Konto',
  'rerate.cycle': 'Zyklus',
  'rerate.invoice': 'Rechnung',
  'rerate.invoice.computed': 'berechnet',
  'rerate.invoice.confirmed': 'bestätigt',
  'rerate.invoice.not_for_bill': 'nicht zu verbuchen',
  'rerate.more':
    'Die ersten {count} Konten werden gezeigt, auch nach Gründen; die Summen gelten für alle. ' +
    'Für die anderen weniger auswählen.',

  'rerate.begin': '{count} Zeilen neu bewerten…',
  'rerate.isOther': 'Die Auswahl ist geändert: zuerst die Vorschau ansehen.',
  'rerate.beginTitle': '{count} Zeilen neu bewerten',
  'rerate.beginAbout':
    'Zeilen, Guthaben und Nutzungssummen ändern sich. Nutzung, die inzwischen abgerechnet wird, ' +
    'zählt; die Zahlen können von der Vorschau abweichen. Bestätigte Rechnungen bleiben.',
  'rerate.beginDo': '{count} Zeilen neu bewerten',
  'rerate.begun': 'Der Lauf hat begonnen.',

  'rerate.none': 'Noch keine Nutzung wurde neu bewertet.',
  'rerate.noAccounts': 'Der Lauf hat noch keine Konten, oder keines entsprach der Auswahl.',
  'rerate.noneInState': 'Kein Konto des Laufs ist in diesem Zustand.',
  'rerate.is.queued': 'Der Lauf beginnt gleich.',
  'rerate.is.running': 'Der Lauf ist im Gange.',
  'rerate.is.waiting': 'Der Lauf wurde unterbrochen und wird fortgesetzt.',
  'rerate.is.failed': 'Der Lauf ist fehlgeschlagen.',
  'rerate.is.refused': 'Der Lauf ist fertig, aber Konten waren nicht neu zu bewerten.',
  'rerate.is.done': 'Der Lauf ist fertig.',
  'rerate.error': 'Fehler',
  'rerate.created': 'Begonnen',
  'rerate.ended': 'Beendet',
  'rerate.job': 'Job',
  'rerate.filter': 'Filter der Konten',
  'rerate.list': 'Konten des letzten Laufs',
  'rerate.state': 'Zustand',
  'rerate.state.planned': 'wird geändert',
  'rerate.state.partial': 'zum Teil geändert',
  'rerate.state.applied': 'geändert',
  'rerate.state.unchanged': 'nichts zu ändern',
  'rerate.state.refused': 'abgelehnt',
}
