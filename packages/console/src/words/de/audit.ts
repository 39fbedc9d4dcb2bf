import type { AUDIT as EN } from '../en/audit.ts'

export const AUDIT: Readonly<Record<keyof typeof EN, string>> = {
  'auditpage.filter': 'Filter des Audits',
  'auditpage.entries': 'Einträge, neueste zuerst',
  'auditpage.collection': 'Collection',
  'auditpage.key': 'Schlüssel',
  'auditpage.user': 'Benutzer oder Client',
  'auditpage.type': 'Aktion',
  'auditpage.from': 'Von ({zone})',
  'auditpage.to': 'Bis einschließlich ({zone})',
  'auditpage.unbounded':
    'Eine Aktion allein ist zu langsam: Geben Sie auch Schlüssel, Benutzer oder einen ' +
    'ersten Tag an.',
}
