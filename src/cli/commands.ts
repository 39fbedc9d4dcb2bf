/** All commands of `tollgate` with their options. */
import { ACCESS_COMMANDS } from './access-commands.ts'
import { CARD_COMMANDS } from './card-commands.ts'
import { type CommandSpec, common, json, nameOf, sid, text, toggle } from './command-spec.ts'
import { CYCLE_COMMANDS } from './cycle-commands.ts'
import { ENTITY_COMMANDS, FIELD_COMMANDS, FILE_TYPE_COMMANDS } from './document-commands.ts'
import { EVENT_COMMANDS } from './event-commands.ts'
import { INTAKE_COMMANDS } from './intake-commands.ts'
import type { Shell } from './shell.ts'
import { TARIFF_COMMANDS } from './tariff-commands.ts'
import { versionOf } from './version.ts'

const SESSION_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'session list',
    help: 'Show the open sessions of a subscriber or of an account.',
    isReading: true,
    options: {
      sid,
      aid: text('N', 'account number; with --sid for a subscriber that is closed'),
      json,
      ...common,
    },
    run: async ({ shell, options }) =>
      (await import('./session-list.ts')).listSessions(shell, options),
  },
  {
    name: 'session release',
    help: 'Have a session ended by its network element (Diameter), or end it immediately.',
    operands: [{ name: 'SESSION-ID', help: 'session id of the network element' }],
    options: {
      origin: text('O', "origin, as in 'session list'; otherwise all sessions are searched"),
      now: toggle('end it in the ledger too, without waiting for the network element'),
      ...common,
    },
    run: async ({ shell, operands, options }) =>
      (await import('./session-release.ts')).release(shell, operands['SESSION-ID'], options),
  },
]

const PEER_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'peer add',
    help: 'Add a network element, identified by a key (shown once), certificate or Origin-Host.',
    operands: [nameOf('network element')],
    options: {
      address: text('CIDR,...', 'addresses and ranges that it may connect from; any if not given'),
      rate: text('N', 'requests per second that it may send; unlimited if not given'),
      'file-type': text('A,B', 'file types that it may use; all if not given'),
      certificate: text('NAME,...', 'names in its certificate over HTTP; no key is generated'),
      'origin-host': text('HOST', 'its Origin-Host in Diameter; no key is generated'),
      'origin-realm': text('REALM', 'its Origin-Realm in Diameter; any if not given'),
      realm: text('A,B', 'further realms whose requests it relays; * for all'),
      ...common,
    },
    run: async ({ shell, operands, options }) =>
      (await import('./peer.ts')).addPeer(shell, operands.NAME, options),
  },
  {
    name: 'peer list',
    help: 'Show the network elements that may charge, with prefixes of their key hashes.',
    isReading: true,
    options: { json, ...common },
    run: async ({ shell, options }) => (await import('./peer.ts')).listPeers(shell, options),
  },
  {
    name: 'peer rotate',
    help: 'Create an additional key for a network element; it is shown once.',
    operands: [nameOf('network element')],
    options: { 'drop-old': toggle('revoke its other keys'), ...common },
    run: async ({ shell, operands, options }) =>
      (await import('./peer.ts')).rotatePeer(shell, operands.NAME, options),
  },
  {
    name: 'peer remove',
    help: 'Remove a network element with all its keys.',
    operands: [nameOf('network element')],
    options: common,
    run: async ({ shell, operands }) =>
      (await import('./peer.ts')).removePeer(shell, operands.NAME),
  },
]

const PRIVACY_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'erase',
    help: 'Remove the personal data of a subscriber or an account; amounts and dates stay.',
    options: {
      sid,
      aid: text('N', 'account number, to erase the account with its subscribers'),
      force: toggle('even with a current revision, open sessions (which then end) or debt'),
      json,
      ...common,
    },
    run: async ({ shell, options }) => (await import('./erase.ts')).erase(shell, options),
  },
  {
    name: 'job list',
    help: 'Show erasures and retention runs with their progress and results.',
    isReading: true,
    options: { json, ...common },
    run: async ({ shell, options }) => (await import('./job-list.ts')).listJobs(shell, options),
  },
]

const BILLING_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'charge',
    help: 'Charge accounts with open bills through their payment gateways.',
    options: {
      aids: text('N,N', 'the only accounts; all with open bills if not given'),
      exclude: text('N,N', 'accounts that are not charged'),
      'pay-mode': text('M', 'one_payment, or multiple_payments; one_payment if not given'),
      reason: text('TEXT', 'kept with the payments'),
      json,
      ...common,
    },
    run: async ({ shell, options }) => (await import('./charge.ts')).charge(shell, options),
  },
]

const LINE_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'lines export',
    help: 'Write files of the lines that were not exported yet, without waiting for the schedule.',
    options: { json, ...common },
    run: async ({ shell, options }) =>
      (await import('./line-export.ts')).exportLines(shell, options),
  },
  {
    name: 'lines status',
    help: 'Show how far the export of lines has come, and its last error.',
    isReading: true,
    options: { json, ...common },
    run: async ({ shell, options }) =>
      (await import('./line-export.ts')).exportStatus(shell, options),
  },
]

const EXTERNAL_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'external check',
    help: 'Call the customer system for an example, and say what is wrong with its answers.',
    isReading: true,
    options: {
      aid: text('N', 'number of an account that it has'),
      sid: text('N', 'number of a subscriber of this account'),
      json,
      ...common,
    },
    run: async ({ shell, options }) =>
      (await import('./external-check.ts')).checkExternal(shell, options),
  },
]

export const COMMANDS: readonly CommandSpec[] = [
  {
    name: 'start',
    help: 'Run everything on this machine: stores, charging, control plane, recorder.',
    options: common,
    run: async ({ shell }) => (await import('./start.ts')).start(shell),
  },
  {
    name: 'stop',
    help: "Stop what 'tollgate start' runs on the data folder, with all data on disk.",
    options: {
      force: toggle('stop Redis even if it cannot write its data to disk; reports what is lost'),
      ...common,
    },
    run: async ({ shell, options }) => (await import('./stop.ts')).stop(shell, options),
  },
  {
    name: 'realtime',
    help: 'Run the charging process alone.',
    options: common,
    run: async ({ shell, roles }) =>
      (await import('./role.ts')).runRole(shell, 'realtime', roles.realtime),
  },
  {
    name: 'admin',
    help: 'Run the control plane alone, with the recorder unless it is disabled.',
    options: common,
    run: async ({ shell, roles }) =>
      (await import('./role.ts')).runRole(shell, 'admin', roles.admin),
  },
  {
    name: 'recorder',
    help: 'Run the recorder alone.',
    options: common,
    run: async ({ shell, roles }) =>
      (await import('./role.ts')).runRole(shell, 'recorder', roles.recorder),
  },
  {
    name: 'sources',
    help: 'Run the process alone that charges usage records from the configured sources.',
    options: common,
    run: async ({ shell, roles }) =>
      (await import('./role.ts')).runRole(shell, 'sources', roles.sources),
  },
  {
    name: 'seed demo',
    help: 'Create the demo catalogue with credits and a rule for events, if there are no entities.',
    options: common,
    run: async ({ shell }) => (await import('./seed.ts')).seedDemo(shell),
  },
  {
    name: 'balance show',
    help: 'Show the live balances of a subscriber, or the shared balances of an account.',
    isReading: true,
    options: { sid, aid: text('N', 'account number'), json, ...common },
    run: async ({ shell, options }) =>
      (await import('./balance-show.ts')).showBalance(shell, options),
  },
  {
    name: 'balance add',
    help: 'Credit a balance, or debit it by a negative amount.',
    options: {
      sid,
      aid: text('N', 'account number, for a shared balance'),
      include: text('ID', 'external_id of the prepaid include'),
      amount: text('X', 'money as a decimal, units as an integer; --amount=-5 debits'),
      'operation-id': text('ID', 'a repeated id has no effect and shows the first result'),
      from: text('TIME', 'begin of validity of a new bucket; now if not given'),
      to: text('TIME', 'end of validity; that of the bucket, or none, if not given'),
      json,
      ...common,
    },
    run: async ({ shell, options }) =>
      (await import('./balance-add.ts')).addBalance(shell, options),
  },
  {
    name: 'quote',
    help: 'Show the price of usage: for cases in a file, or for a subscriber now. Read-only.',
    isReading: true,
    options: {
      cases: text('FILE', 'cases as lines of JSON, - for standard input; no store is needed'),
      sid,
      usaget: text('T', 'usage type, such as call'),
      usagev: text('V', 'requested units'),
      'called-number': text('X', 'called number, for matching and free numbers'),
      rate: text('KEY', 'rate to use without matching'),
      urt: text('TIME', 'time of the event; now if not given'),
      json,
      ...common,
    },
    run: async ({ shell, options }) => (await import('./quote.ts')).quote(shell, options),
  },
  {
    name: 'audit',
    help: 'Check that every unit is accounted for, and that bills agree with the journal.',
    isReading: ({ mend, 'dry-run': isTrial }) => mend !== true || isTrial === true,
    options: {
      at: text('DATE', 'also compare the balances of bills at a past time with the journal'),
      explain: toggle('name the sessions, lines and operations behind each difference'),
      mend: toggle('settle differences after Redis has lost its last writes; records each'),
      'dry-run': toggle('with --mend: show what it would do, and write nothing'),
      records: toggle('check the chain of audit records instead of the ledger'),
      expect: text('SEQ:HASH', 'with --records: an end of the chain from an earlier run'),
      json,
      ...common,
    },
    run: async ({ shell, options }) => (await import('./audit.ts')).audit(shell, options),
  },
  {
    name: 'check',
    help: 'Check settings and stored entities for what charging cannot use, or would misuse.',
    isReading: true,
    options: { json, ...common },
    run: async ({ shell, options }) => (await import('./check.ts')).check(shell, options),
  },
  {
    name: 'clock',
    help: 'Show the time of the installation; move a test clock forward and run what is due.',
    options: {
      to: text('TIME', 'time to move to, as in 2026-01-31T12:00:00Z; clock.test must be true'),
      json,
      ...common,
    },
    run: async ({ shell, options }) => (await import('./clock.ts')).clock(shell, options),
  },
  {
    name: 'ledger rebuild',
    help: 'Restore a ledger that Redis has lost from the records in MongoDB.',
    options: {
      'dry-run': toggle('show what would be restored, and write nothing'),
      json: toggle('answer in JSON, a line per account'),
      ...common,
    },
    run: async ({ shell, options }) =>
      (await import('./ledger-rebuild.ts')).rebuildLedger(shell, options),
  },
  ...SESSION_COMMANDS,
  ...FILE_TYPE_COMMANDS,
  ...PEER_COMMANDS,
  ...ACCESS_COMMANDS,
  ...FIELD_COMMANDS,
  ...ENTITY_COMMANDS,
  ...PRIVACY_COMMANDS,
  ...BILLING_COMMANDS,
  ...CYCLE_COMMANDS,
  ...EXTERNAL_COMMANDS,
  ...EVENT_COMMANDS,
  ...CARD_COMMANDS,
  ...INTAKE_COMMANDS,
  ...LINE_COMMANDS,
  ...TARIFF_COMMANDS,
  {
    name: 'diameter send',
    help: 'Send credit-control requests to a node over Diameter, and show its answers.',
    isReading: true,
    options: {
      ccr: text(
        'FILE',
        'AVPs by name (JSON or YAML), a list of those, or bytes as hex; - for stdin',
      ),
      host: text('HOST', 'node to connect to; this machine if not given'),
      port: text('N', 'its port; that of the settings if not given'),
      'origin-host': text('HOST', 'Origin-Host of the requests'),
      'origin-realm': text('REALM', 'Origin-Realm; that of the settings if not given'),
      'destination-realm': text('REALM', 'Destination-Realm; that of the settings if not given'),
      tls: toggle('over TLS'),
      ca: text('FILE', 'CAs of the node (PEM); those of the system if not given'),
      cert: text('FILE', 'own certificate (PEM)'),
      key: text('FILE', 'its private key (PEM)'),
      json,
      ...common,
    },
    run: async ({ shell, options, tools }) =>
      (await import('./diameter-send.ts')).sendDiameter(shell, options, tools),
  },
  {
    name: 'version',
    help: 'Show the version.',
    isReading: true,
    options: { help: common.help },
    run: async ({ shell }) => printed(shell, versionOf()),
  },
  {
    name: 'help',
    help: 'Show all commands.',
    isReading: true,
    options: { help: common.help },
    run: async ({ shell }) => printed(shell, helpText()),
  },
]

function printed(shell: Shell, text: string): 0 {
  shell.print(text)
  return 0
}

const COLUMN = 24

/** Help on all commands. */
export function helpText(): string {
  const lines = COMMANDS.map(({ name, help }) => `  ${name.padEnd(COLUMN - 2)}${help}`)
  return [
    'Usage: tollgate COMMAND [OPTIONS]',
    '',
    ...lines,
    '',
    "'tollgate COMMAND --help' or 'tollgate help COMMAND' shows its options.",
    "The default command is 'start'.",
  ].join('\n')
}

/** Help on one command. */
export function commandHelpText(command: CommandSpec): string {
  const { name, help, operands = [], rest, options, members = [] } = command
  const line = (label: string, what: string) => `  ${label.padEnd(COLUMN - 2)}${what}`
  if (members.length > 0) {
    const lines = members.map((member) => line(member.name, member.help))
    const more = `'tollgate ${name} COMMAND --help' shows the options of one.`
    return [`Usage: tollgate ${name} COMMAND [OPTIONS]`, '', help, '', ...lines, '', more].join(
      '\n',
    )
  }
  const further = rest === undefined ? [] : [{ ...rest, name: `[${rest.name} ...]` }]
  const lines = [
    ...[...operands, ...further].map((operand) => line(operand.name, operand.help)),
    ...Object.entries(options).map(([option, { value, help: what }]) =>
      line(`--${option} ${value}`, what),
    ),
  ]
  const names = [...operands.map((operand) => operand.name), ...further.map((one) => one.name)]
  const usage = ['Usage: tollgate', name, ...names, '[OPTIONS]']
  return [usage.join(' '), '', help, '', ...lines].join('\n')
}
