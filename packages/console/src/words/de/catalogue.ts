import type { CATALOGUE as EN } from '../en/catalogue.ts'

export const CATALOGUE: Readonly<Record<keyof typeof EN, string>> = {
  'catalogue.plans': 'Tarife',
  'catalogue.services': 'Dienste',
  'catalogue.rates': 'Preise',
  'catalogue.discounts': 'Rabatte',
  'catalogue.charges': 'Zuschläge',
  'catalogue.taxes': 'Steuern',
  'catalogue.prepaidincludes': 'Guthabenarten',
  'catalogue.collections': 'Sammlungen des Katalogs',
  'catalogue.new': 'Neu…',
  'catalogue.create': 'Anlegen',
  'catalogue.find': 'Anfang des Schlüssels',
  'catalogue.ended': 'auch beendete',
  'catalogue.show': 'Zeigen',
  'catalogue.none': 'In dieser Sammlung ist nichts gespeichert. „Neu…“ legt den ersten Eintrag an.',
  'catalogue.noneFound':
    'Kein Schlüssel beginnt mit diesem Text. Schlüssel bestehen aus Großbuchstaben.',
  'catalogue.unknown': 'Keine Revision mit diesem Schlüssel ist gespeichert.',
  'catalogue.revisions': 'Revisionen',
  'catalogue.changed': 'geändert: {fields}',
  'catalogue.views': 'Ansichten der Revision',
  'catalogue.tab.terms': 'Bedingungen',
  'catalogue.tab.difference': 'Unterschied',
  'catalogue.tab.used': 'Verwendet von',
  'catalogue.tab.audit': 'Audit',
  'catalogue.edit': 'Bearbeiten',
  'catalogue.endConfirmed':
    'Diese Revision endete vor dem Ende des letzten bestätigten Zyklus: Sie ist unveränderlich.',
  'catalogue.beginConfirmed':
    'Sie begann vor dem Ende des letzten bestätigten Zyklus: Ihr Beginn ist nicht mehr änderbar.',
  'catalogue.move': 'Beginn verschieben…',
  'catalogue.close': 'Beenden…',
  'catalogue.reopen': 'Fortsetzen…',
  'catalogue.delete': 'Revision löschen…',
  'catalogue.move.about':
    '{name}, Revision ab {from}: Sie beginnt an einem anderen Tag, und die Revision davor ' +
    'endet dort.',
  'catalogue.close.about': '{name}, Revision ab {from}: Sie endet an diesem Tag.',
  'catalogue.reopen.about':
    '{name} ist beendet: Ab diesem Tag gilt es wieder, mit den Bedingungen der Revision ab {from}.',
  'catalogue.delete.about':
    '{name}, Revision ab {from}: Sie wird entfernt, und die Revision davor gilt auch in ' +
    'ihrer Zeit. Das lässt sich hier nicht rückgängig machen.',
  'catalogue.date': 'Tag, 00:00 Uhr {zone}',
  'catalogue.save': 'Speichern',
  'catalogue.cancel': 'Abbrechen',
  'catalogue.effect': 'Die Änderung',
  'catalogue.effect.closeandnew': 'beginnt eine neue Revision',
  'catalogue.effect.update': 'ersetzt die Bedingungen dieser Revision, auch für die Vergangenheit',
  'catalogue.from': 'Ab, 00:00 Uhr {zone}',
  'catalogue.fromHint': 'Leer: ab jetzt.',
  'catalogue.messages': 'Meldungen der Prüfung',
  'catalogue.onlyOne': 'Es gibt nur eine Revision, nichts zum Vergleichen.',
  'catalogue.between': 'Was sich von {before} zu {after} ändert',
  'catalogue.compareWith': 'Vergleichen mit',
  'catalogue.same': 'Die Bedingungen sind gleich.',
  'catalogue.unused': 'Kein Tarif, Dienst oder Kunde verweist jetzt oder später darauf.',
  'catalogue.users': '{count} in {collection}, über {field}',
  'catalogue.usersMore': '{count} und mehr in {collection}, über {field}',
  'catalogue.simulateOpen': 'Preise simulieren…',
  'catalogue.simulate': 'Was würde die Änderung kosten?',
}
