/** All commands of `tollgate` with their options. */

import { ACCESS_COMMANDS } from './access-commands.ts'
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

const SESSION_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'session list',
    help: 'Show the open sessions of a subscriber or of an account.',
    options: {
      sid,
      aid: text('N', 'account number; beside --sid for a subscriber who is closed'),
      json,
      ...common,
    },
  },
  {
    name: 'session release',
    help: 'Have a session ended by its network element (Diameter), or end it at once.',
    operands: [{ name: 'SESSION-ID', help: 'session id of the network element' }],
    options: {
      origin: text('O', "origin, as in 'session list'; else all sessions are searched"),
      now: toggle('end it in the ledger too, without waiting for the network element'),
      ...common,
    },
  },
]

const FILE_TYPE_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'filetype set',
    help: 'Create or replace file types; all processes follow within catalog.pollMs.',
    operands: [documentFile('a document, a list of them, or file_types with one')],
    options: common,
  },
  {
    name: 'filetype list',
    help: 'Show the file types that there are, and whether each can be used.',
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
    help: 'Remove a stored file type; what is built in under its name holds again.',
    operands: [nameOf('file type')],
    options: common,
  },
  {
    name: 'filetype check',
    help: 'Show what a document makes of a message, step by step. No store is needed.',
    operands: [documentFile('a document')],
    options: { sample: text('BODY', 'file with the bytes of a message'), json, ...common },
  },
]

const PEER_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'peer add',
    help: 'Let a network element in: by a key, made and shown once, a certificate or Origin-Host.',
    operands: [nameOf('network element')],
    options: {
      address: text(
        'CIDR,...',
        'addresses and ranges it may come from; from anywhere if not given',
      ),
      rate: text('N', 'requests per second it may send; without limit if not given'),
      'file-type': text('A,B', 'file types it may speak; all if not given'),
      certificate: text('NAME,...', 'names of its certificate over HTTP; no key is made'),
      'origin-host': text('HOST', 'it speaks Diameter, and is who says this; no key is made'),
      'origin-realm': text('REALM', 'its realm in Diameter; any if not given'),
      realm: text('A,B', 'further realms whose requests it brings, as a relay does; * for all'),
      ...common,
    },
  },
  {
    name: 'peer list',
    help: 'Show the network elements that may charge, with the beginnings of the hashes of keys.',
    options: { json, ...common },
  },
  {
    name: 'peer rotate',
    help: 'Make one more key for a network element, which is shown once.',
    operands: [nameOf('network element')],
    options: { 'drop-old': toggle('its other keys hold no longer'), ...common },
  },
  {
    name: 'peer remove',
    help: 'Shut a network element out, with all its keys.',
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
    help: 'Show the configured fields of a collection, with those that are there from the start.',
    operands: [collection],
    options: { json, ...common },
  },
  {
    name: 'field set',
    help: 'Create or replace configured fields; the entity API takes them at once.',
    operands: [collection, documentFile('a field, a list of them, or fields with one')],
    options: common,
  },
  {
    name: 'field remove',
    help: 'Remove a stored field; what is there from the start under its name holds again.',
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
      force: toggle('also who is in force, has open sessions, which then end, or owes something'),
      json,
      ...common,
    },
  },
  {
    name: 'job list',
    help: 'Show erasures and retention: how far they are, and what they have done.',
    options: { json, ...common },
  },
]

const ENTITY_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'import',
    help: 'Create or change entities by the rows of a file (CSV, or lines of JSON).',
    operands: [
      { name: 'COLLECTION', help: 'accounts, subscribers, plans, services, rates, discounts' },
      { name: 'FILE', help: 'CSV, or .jsonl with an update on each line' },
    ],
    options: {
      operation: text('O', 'create, or permanentchange of rates; create if not given'),
      settings: text('FILE', 'map and so on (JSON or YAML); if not given columns as of an export'),
      'dry-run': toggle('check every row, and write nothing'),
      resume: text('ID', 'go on with an import that was cut off'),
      failed: text('FILE', 'where all failed rows are written to, as lines of JSON'),
      json,
      ...common,
    },
  },
  {
    name: 'export',
    help: 'Write entities as CSV or lines of JSON: of each the revision that holds.',
    operands: [collection],
    options: {
      query: text('JSON', 'which ones, as in the entity API; all if not given'),
      states: text('JSON', 'list of 0 active, 1 future, 2 expired; [0,1] if not given'),
      format: text('F', 'csv or jsonl; csv if not given'),
      delimiter: text('C', 'between the cells of CSV; a comma if not given'),
      output: text('FILE', 'where to; standard output if not given'),
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
    help: "End what 'tollgate start' runs on the data folder, with all it holds on the disk.",
    options: {
      force: toggle('end Redis too if it cannot write what it holds; says what is lost'),
      ...common,
    },
  },
  { name: 'realtime', help: 'Run the charging process alone.', options: common },
  { name: 'admin', help: 'Run the control plane alone, with the recorder.', options: common },
  { name: 'recorder', help: 'Run the recorder alone.', options: common },
  {
    name: 'seed demo',
    help: 'Create the demo catalogue with its first credits, if there are no entities yet.',
    options: common,
  },
  {
    name: 'balance show',
    help: 'Show the live balances of a subscriber, or those that an account shares.',
    options: { sid, aid: text('N', 'account number'), json, ...common },
  },
  {
    name: 'balance add',
    help: 'Add to a balance, or with a negative amount take away from it.',
    options: {
      sid,
      aid: text('N', 'account number, for a balance that the account shares'),
      include: text('ID', 'external_id of the prepaid include'),
      amount: text('X', 'money as a decimal, units as an integer; --amount=-5 takes away'),
      'operation-id': text('ID', 'the same id again moves nothing and shows what was done'),
      from: text('TIME', 'begin of validity of a new bucket; now if not given'),
      to: text('TIME', 'end of validity; if not given as the bucket has it, or none'),
      json,
      ...common,
    },
  },
  {
    name: 'quote',
    help: 'Show what usage costs: of the cases of a file, or of a subscriber now. Moves nothing.',
    options: {
      cases: text('FILE', 'cases as lines of JSON, - for standard input; no store is needed'),
      sid,
      usaget: text('T', 'usage type, such as call'),
      usagev: text('V', 'units asked for'),
      'called-number': text('X', 'called number, for matching and free numbers'),
      rate: text('KEY', 'rate that is taken without matching'),
      urt: text('TIME', 'time of the event; now if not given'),
      json,
      ...common,
    },
  },
  {
    name: 'audit',
    help: 'Check that every unit is accounted for, in the ledger and in what is recorded.',
    options: {
      explain: toggle('name the sessions, lines and operations behind each difference'),
      mend: toggle('settle differences after Redis has lost its last writes; records each'),
      'dry-run': toggle('with --mend: show what it would do, and write nothing'),
      records: toggle('check the chain of audit records instead of the ledger'),
      expect: text('SEQ:HASH', 'with --records: an end of the chain that was seen before'),
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
    name: 'ledger rebuild',
    help: 'Give back a ledger that Redis has lost, from what is recorded in MongoDB.',
    options: {
      'dry-run': toggle('show what would be given back, and write nothing'),
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
  {
    name: 'diameter send',
    help: 'Send credit-control requests to a node over Diameter, and show its answers.',
    options: {
      ccr: text(
        'FILE',
        'AVPs by name (JSON or YAML), a list of such, or bytes as hex; - for stdin',
      ),
      host: text('HOST', 'node to ask; this machine if not given'),
      port: text('N', 'its port; that of the settings if not given'),
      'origin-host': text('HOST', 'who asks'),
      'origin-realm': text('REALM', 'realm of who asks; that of the settings if not given'),
      'destination-realm': text('REALM', 'realm that is asked; that of the settings if not given'),
      tls: toggle('over TLS'),
      ca: text('FILE', 'authorities of the node (PEM); those of the system if not given'),
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
    "'tollgate COMMAND --help' tells of its options, and so does 'tollgate help COMMAND'.",
    "Without a command it is 'start'.",
  ].join('\n')
}

/** Help on one command. */
export function commandHelpText(command: CommandSpec): string {
  const { name, help, operands = [], options, members = [] } = command
  const line = (given: string, what: string) => `  ${given.padEnd(COLUMN - 2)}${what}`
  if (members.length > 0) {
    const lines = members.map((member) => line(member.name, member.help))
    const more = `'tollgate ${name} COMMAND --help' tells of the options of one.`
    return [`Usage: tollgate ${name} COMMAND [OPTIONS]`, '', help, '', ...lines, '', more].join(
      '\n',
    )
  }
  const lines = [
    ...operands.map((operand) => line(operand.name, operand.help)),
    ...Object.entries(options).map(([option, { value, help: what }]) =>
      line(`--${option} ${value}`, what),
    ),
  ]
  const usage = ['Usage: tollgate', name, ...operands.map((operand) => operand.name), '[OPTIONS]']
  return [usage.join(' '), '', help, '', ...lines].join('\n')
}
