/** Texts of the page of rerating. */
export const RERATE = {
  'rerate.tabs': 'Parts of the page',
  'rerate.tab.preview': 'Preview',
  'rerate.tab.run': 'Last run',
  'rerate.about':
    "Prices recorded usage again by today's catalogue. All accounts with a selected line are " +
    'taken, with all their lines of that cycle, since these share included units. Empty fields ' +
    'select all usage until now. The preview changes nothing.',
  'rerate.from': 'From',
  'rerate.to': 'Until before',
  'rerate.rate': 'Rate',
  'rerate.plan': 'Plan',
  'rerate.sid': 'Subscriber',
  'rerate.file_type': 'File type of usage records',
  'rerate.preview': 'Preview',
  'rerate.busy': 'Pricing…',
  'rerate.stop': 'Stop',

  'rerate.result': 'What would change',
  'rerate.sentence':
    '{changed} of {lines} lines would change; {refused} of {accounts} accounts cannot be rerated.',
  'rerate.nothing': 'No recorded usage matches.',
  'rerate.unchangedAll': "All lines have the prices of today's catalogue.",
  'rerate.someRefused':
    '{refused} of {accounts} accounts cannot be rerated: none of their lines in the cycle changes.',
  'rerate.accounts': 'Accounts',
  'rerate.refused': 'Cannot be rerated',
  'rerate.lines': 'Lines',
  'rerate.changed': 'Lines that change',
  'rerate.difference': 'Difference before tax',
  'rerate.differenceTaxed': 'Difference with tax',
  'rerate.onConfirmed': 'On confirmed invoices, before tax',
  'rerate.onConfirmedTaxed': 'On confirmed invoices, with tax',
  'rerate.confirmed.credit':
    'Confirmed invoices are not changed: the next run of the cycle credits {amount}, with tax.',
  'rerate.confirmed.charge':
    'Confirmed invoices are not changed: the next run of the cycle charges {amount}, with tax.',
  'rerate.recompute': 'Invoices that are not confirmed, to be computed again: {count}.',
  'rerate.reasons': 'Why accounts cannot be rerated',
  'rerate.reason': 'Reason',
  'rerate.why': '{text} (lines: {lines})',
  'rerate.refusedAccounts': 'Accounts that cannot be rerated',
  'rerate.largest': 'The largest differences',
  'rerate.time': 'Time',
  'rerate.beforeTax': 'Before tax',
  'rerate.withTax': 'With tax',
  'rerate.changedAccounts': 'Accounts that change',
  'rerate.account': 'Account',
  'rerate.cycle': 'Cycle',
  'rerate.invoice': 'Invoice',
  'rerate.invoice.computed': 'computed',
  'rerate.invoice.confirmed': 'confirmed',
  'rerate.invoice.not_for_bill': 'not for a bill',
  'rerate.more':
    'The first {count} accounts are shown, also by reason; the totals are of all. Select fewer ' +
    'for the others.',

  'rerate.begin': 'Rerate {count} lines…',
  'rerate.isOther': 'The selection has been changed: preview it first.',
  'rerate.beginTitle': 'Rerate {count} lines',
  'rerate.beginAbout':
    'Lines and balances change, and totals of usage. Usage that is charged meanwhile counts, ' +
    'so the figures may differ from those of the preview. Confirmed invoices stay.',
  'rerate.beginDo': 'Rerate {count} lines',
  'rerate.begun': 'The run has begun.',

  'rerate.none': 'No usage has been rerated yet.',
  'rerate.noAccounts': 'The run has no accounts yet, or none matched.',
  'rerate.noneInState': 'No account of the run is in this state.',
  'rerate.is.queued': 'The run is about to begin.',
  'rerate.is.running': 'The run is under way.',
  'rerate.is.waiting': 'The run was interrupted and will be continued.',
  'rerate.is.failed': 'The run has failed.',
  'rerate.is.refused': 'The run is done, but accounts could not be rerated.',
  'rerate.is.done': 'The run is done.',
  'rerate.error': 'Error',
  'rerate.created': 'Begun',
  'rerate.ended': 'Ended',
  'rerate.job': 'Job',
  'rerate.filter': 'Filter of the accounts',
  'rerate.list': 'Accounts of the last run',
  'rerate.state': 'State',
  'rerate.state.planned': 'being changed',
  'rerate.state.partial': 'partly changed',
  'rerate.state.applied': 'changed',
  'rerate.state.unchanged': 'nothing to change',
  'rerate.state.refused': 'refused',
} as const
