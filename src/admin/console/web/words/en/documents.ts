/** Texts about documents: their changes, conflicts, editor and revisions. */
export const DOCUMENTS = {
  'audit.none': 'No changes are recorded.',
  'audit.field': 'Field',
  'audit.before': 'Before',
  'audit.after': 'After',
  'audit.more': '{count} more fields',
  'conflict.title': 'Somebody else has saved this revision meanwhile.',
  'conflict.titleBy': '{author} has saved this revision meanwhile.',
  'conflict.choose': 'Choose the value to be kept for each field, then save again.',
  'conflict.noClash': 'None of your fields is affected: save again to add your changes.',
  'conflict.mine': 'Yours',
  'conflict.theirs': 'Saved',
  'conflict.kept': '{field}: {before} → {after} (stays)',
} as const
