/** All commands of `tollgate` with their options. */
import { ACCESS_COMMANDS } from './access-commands.ts'
import { CARD_COMMANDS } from './card-commands.ts'
import {
  type CommandSpec,
  common,
  documentFile,
  json,
  nameOf,
  type OperandSpec,
  sid,
  text,
  toggle,
} from './command-spec.ts'
import { CYCLE_COMMANDS } from './cycle-commands.ts'
import { EVENT_COMMANDS } from './event-commands.ts'

const SESSION_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'session list',
    help: 'Show the open sessions of a subscriber or of an account.',
    options: {
      sid,
      aid: text('N', 'account number; with --sid for a subscriber that is closed'),
      json,
      ...common,
    },
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
  },
]

const FILE_TYPE_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'filetype set',
    help: 'Create or replace file types; all processes apply them within catalog.pollMs.',
    operands: [documentFile('a document, a list of documents, or either under file_types')],
    options: common,
  },
  {
    name: 'filetype list',
    help: 'Show all file types and whether each can be used.',
    options: { json, ...common },
  },
  {
    name: 'filetype show',
    help: 'Show the document of a file type, in YAML.',
    operands: [nameOf('file type')],
    options: { json, ...common },
  },
  {
    name: 'filetype remove',
    help: 'Remove a stored file type; a built-in one of its name applies again.',
    operands: [nameOf('file type')],
    options: common,
  },
  {
    name: 'filetype check',
    help: 'Decode a message by a document and show each step, or check saved samples.',
    operands: [documentFile('a document; with --samples also the name of a file type')],
    options: {
      sample: text('BODY', 'file with the bytes of a message; no store is needed'),
      samples: toggle('check all samples of the document, or those stored for its name'),
      json,
      ...common,
    },
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
  },
  {
    name: 'peer list',
    help: 'Show the network elements that may charge, with prefixes of their key hashes.',
    options: { json, ...common },
  },
  {
    name: 'peer rotate',
    help: 'Create an additional key for a network element; it is shown once.',
    operands: [nameOf('network element')],
    options: { 'drop-old': toggle('revoke its other keys'), ...common },
  },
  {
    name: 'peer remove',
    help: 'Remove a network element with all its keys.',
    operands: [nameOf('network element')],
    options: common,
  },
]

const collection: OperandSpec = {
  name: 'COLLECTION',
  help: 'accounts, subscribers, plans, services, rates, charges, discounts, ...',
}

const FIELD_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'field list',
    help: 'Show the fields of a collection: configured and default ones.',
    operands: [collection],
    options: { json, ...common },
  },
  {
    name: 'field set',
    help: 'Create or replace configured fields; the entity API applies them immediately.',
    operands: [collection, documentFile('a field, a list of fields, or either under fields')],
    options: common,
  },
  {
    name: 'field remove',
    help: 'Remove a configured field; a default field of its name applies again.',
    operands: [collection, nameOf('field')],
    options: common,
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
  },
  {
    name: 'job list',
    help: 'Show erasures and retention runs with their progress and results.',
    options: { json, ...common },
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
  },
]

const EXTERNAL_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'external check',
    help: 'Call the customer system for an example, and say what is wrong with its answers.',
    options: {
      aid: text('N', 'number of an account that it has'),
      sid: text('N', 'number of a subscriber of this account'),
      json,
      ...common,
    },
  },
]

const ENTITY_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'import',
    help: 'Create or change entities from the rows of a file (CSV, or lines of JSON).',
    operands: [
      {
        name: 'COLLECTION',
        help: 'accounts, subscribers, plans, services, rates, discounts, cards, lines',
      },
      { name: 'FILE', help: 'CSV, or .jsonl with an update (or a card, a line) on each line' },
    ],
    options: {
      operation: text('O', 'create, or permanentchange for rates; create if not given'),
      settings: text('FILE', 'map etc. (JSON or YAML); columns as in an export if not given'),
      migrate: toggle('rows are documents of the system that is replaced: keep them as they are'),
      'dry-run': toggle('check every row, and write nothing'),
      resume: text('ID', 'continue an interrupted import'),
      failed: text('FILE', 'file for all failed rows, as lines of JSON'),
      json,
      ...common,
    },
  },
  {
    name: 'export',
    help: 'Write entities as CSV or lines of JSON, one revision each.',
    operands: [collection],
    options: {
      query: text('JSON', 'filter as in the entity API; all if not given'),
      states: text('JSON', 'list of 0 active, 1 future, 2 expired; [0,1] if not given'),
      format: text('F', 'csv or jsonl; csv if not given'),
      delimiter: text('C', 'between the cells of CSV; a comma if not given'),
      output: text('FILE', 'output file; standard output if not given'),
      ...common,
    },
  },
]

export const COMMANDS: readonly CommandSpec[] = [
  {
    name: 'start',
    help: 'Run everything on this machine: stores, charging, control plane, recorder.',
    options: common,
  },
  {
    name: 'stop',
    help: "Stop what 'tollgate start' runs on the data folder, with all data on disk.",
    options: {
      force: toggle('stop Redis even if it cannot write its data to disk; reports what is lost'),
      ...common,
    },
  },
  { name: 'realtime', help: 'Run the charging process alone.', options: common },
  {
    name: 'admin',
    help: 'Run the control plane alone, with the recorder unless it is disabled.',
    options: common,
  },
  { name: 'recorder', help: 'Run the recorder alone.', options: common },
  {
    name: 'seed demo',
    help: 'Create the demo catalogue with credits and a rule for events, if there are no entities.',
    options: common,
  },
  {
    name: 'balance show',
    help: 'Show the live balances of a subscriber, or the shared balances of an account.',
    options: { sid, aid: text('N', 'account number'), json, ...common },
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
  },
  {
    name: 'quote',
    help: 'Show the price of usage: for cases in a file, or for a subscriber now. Read-only.',
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
  },
  {
    name: 'audit',
    help: 'Check that every unit is accounted for, and that bills agree with the journal.',
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
  },
  {
    name: 'check',
    help: 'Check settings and stored entities for what charging cannot use, or would misuse.',
    options: { json, ...common },
  },
  {
    name: 'clock',
    help: 'Show the time of the installation; move a test clock forward and run what is due.',
    options: {
      to: text('TIME', 'time to move to, as in 2026-01-31T12:00:00Z; clock.test must be true'),
      json,
      ...common,
    },
  },
  {
    name: 'ledger rebuild',
    help: 'Restore a ledger that Redis has lost from the records in MongoDB.',
    options: {
      'dry-run': toggle('show what would be restored, and write nothing'),
      json: toggle('answer in JSON, a line per account'),
      ...common,
    },
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
  {
    name: 'diameter send',
    help: 'Send credit-control requests to a node over Diameter, and show its answers.',
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
  },
  { name: 'version', help: 'Show the version.', options: { help: common.help } },
  { name: 'help', help: 'Show all commands.', options: { help: common.help } },
]

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
  const line = (given: string, what: string) => `  ${given.padEnd(COLUMN - 2)}${what}`
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
  const given = [...operands.map((operand) => operand.name), ...further.map((one) => one.name)]
  const usage = ['Usage: tollgate', name, ...given, '[OPTIONS]']
  return [usage.join(' '), '', help, '', ...lines].join('\n')
}
