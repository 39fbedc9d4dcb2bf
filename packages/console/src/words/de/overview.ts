import type { OVERVIEW as EN } from '../en/overview.ts'

export const OVERVIEW: Readonly<Record<keyof typeof EN, string>> = {
  'overview.realTime':
    'Die Werte dieser Seite sind in der wirklichen Zeit, nicht in der der Testuhr.',
  'overview.connecting': 'Wird verbunden…',
  'overview.live': 'live · vor {age}',
  'overview.polled': 'alle 2 s · vor {age}',
  'overview.stale': 'keine Daten seit {age}',
  'overview.paused': 'angehalten',
  'overview.pause': 'Anhalten',
  'overview.health': 'Zustand der Teile',
  'overview.ledger': 'Ledger',
  'overview.charging': 'Charging',
  'overview.recorder': 'Recorder',
  'overview.catalogue': 'Katalog',
  'overview.events': 'Wartende Ereignisse',
  'overview.processes': '{count} aktiv',
  'overview.alarms': 'Alarme',
  'overview.noAlarms': 'Keine Alarme.',
  'overview.since': 'seit',
  'overview.requests': 'Anfragen nach Ergebnis',
  'overview.dialects': 'Anfragen nach Dialekt',
  'overview.latency': 'Latenz',
  'overview.sessions': 'Offene Sitzungen',
  'overview.reservations': 'Reservierungen',
  'overview.backlog': 'Rückstand',
  'overview.load': 'Event-Loops',
  'overview.granted': 'gewährt',
  'overview.denied': 'verweigert',
  'overview.failed': 'fehlgeschlagen',
  'overview.refused': 'abgewiesen',
  'overview.p50': 'p50',
  'overview.p99': 'p99',
  'overview.open': 'offen',
  'overview.waiting': 'wartend',
  'overview.busy': 'belegt',
  'overview.perSecond': '{value}/s',

  'check.ok': 'ok',
  'check.unavailable': 'nicht erreichbar',
  'check.misconfigured': 'falsch konfiguriert',
  'check.cannot_write': 'kann nicht schreiben',
  'check.lost': 'verloren',
  'check.incomplete': 'unvollständig',
  'check.unknown': 'nicht bekannt',
  'check.none': 'keiner',

  'alarm.redis': 'Redis bedient den Knoten nicht: nichts wird berechnet.',
  'alarm.redis_cannot_write':
    'Redis-Master können nicht auf die Platte schreiben: dort wird nichts berechnet.',
  'alarm.mongo':
    'MongoDB ist nicht erreichbar: Entitäten sind nicht änderbar, Belege warten auf Aufzeichnung.',
  'alarm.mongo_cannot_write':
    'MongoDB kann nicht schreiben: Belege warten auf Aufzeichnung, Änderungen werden abgewiesen.',
  'alarm.ledger': 'Das Ledger hat Daten verloren und muss neu aufgebaut werden.',
  'alarm.charging': 'Kein Charging-Prozess meldet sich.',
  'alarm.recorder': 'Kein Recorder meldet sich: Nutzung wird nicht aufgezeichnet.',
  'alarm.backlog_age':
    'Der älteste Eintrag wartet länger auf den Recorder, als recorder.lagWarnMs erlaubt.',
  'alarm.backlog_memory':
    'Der Rückstand belegt in Redis mehr, als ledger.backlogWarnPercent erlaubt.',
  'alarm.entries_unreadable': 'Einträge des Ledgers können nicht aufgezeichnet werden.',
  'alarm.catalogue_skipped': 'Gespeicherte Entitäten sind nicht verwendbar und werden ausgelassen.',
  'alarm.profiles_damaged':
    'Anfragen scheitern, weil Teilnehmer oder Konten nicht verwendbar sind.',
  'alarm.customer_system': 'Worker rufen das Kundensystem nicht auf, weil seine Aufrufe scheitern.',
  'alarm.overload': 'Anfragen werden abgelehnt, weil es zu viele sind.',
  'alarm.refused_access':
    'Netzelemente mit unbekannten Zugangsdaten oder Adressen werden abgelehnt.',
  'alarm.events_dead':
    'Ereignisse konnten nicht zugestellt werden und werden nicht noch einmal versucht.',
  'alarm.event_receiver':
    'Ein Empfänger von Ereignissen wird nicht aufgerufen, weil Aufrufe scheitern.',
  'alarm.cycle_paused': 'Der neueste Lauf des Abrechnungszeitraums ist angehalten.',
  'alarm.certificate': 'Ein Zertifikat läuft innerhalb von zwei Wochen ab.',
  'alarm.certificate_reload': 'Geänderte TLS-Dateien sind nicht verwendbar.',

  'series.table': 'Als Tabelle',
  'series.caption': '{title}: die letzte Minute',
  'series.time': 'Zeit',
  'series.summary': '{name} zuletzt {last}, niedrigster {min}, höchster {max}',
}
