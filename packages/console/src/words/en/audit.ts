/** Texts of the page of the audit. */
export const AUDIT = {
  'auditpage.filter': 'Filter of the audit',
  'auditpage.entries': 'Records, newest first',
  'auditpage.collection': 'Collection',
  'auditpage.key': 'Key',
  'auditpage.user': 'User or client',
  'auditpage.type': 'Action',
  'auditpage.from': 'From ({zone})',
  'auditpage.to': 'To, inclusive ({zone})',
  'auditpage.unbounded': 'An action alone is too slow: give a key, a user, or a first day as well.',
} as const
