/** What can be written after `tollgate`: every command with its options. */

export interface OptionSpec {
  readonly type: 'string' | 'boolean'
  /** Stands for the value in the help; empty for a switch. */
  readonly value: string
  readonly help: string
}

export interface CommandSpec {
  readonly name: string
  readonly help: string
  readonly options: Readonly<Record<string, OptionSpec>>
}

const text = (value: string, help: string): OptionSpec => ({ type: 'string', value, help })
const toggle = (help: string): OptionSpec => ({ type: 'boolean', value: '', help })

const common = {
  config: text('FILE', 'settings that differ from the defaults (YAML)'),
  help: toggle('show this help'),
}
const json = toggle('answer in JSON')
const sid = text('N', 'subscriber number')

export const COMMANDS: readonly CommandSpec[] = [
  {
    name: 'start',
    help: 'Run everything on this machine: stores, charging, control plane, recorder.',
    options: common,
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
    "'tollgate COMMAND --help' tells of its options; without a command it is 'start'.",
  ].join('\n')
}

/** Help on one command. */
export function commandHelpText({ name, help, options }: CommandSpec): string {
  const lines = Object.entries(options).map(
    ([option, spec]) => `  ${`--${option} ${spec.value}`.padEnd(COLUMN - 2)}${spec.help}`,
  )
  return [`Usage: tollgate ${name} [OPTIONS]`, '', help, '', ...lines].join('\n')
}
