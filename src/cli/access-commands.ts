/** Commands for users, clients, secrets and settings of the control plane. */
import {
  type CommandSpec,
  common,
  documentFile,
  json,
  nameOf,
  type OperandSpec,
  text,
  toggle,
} from './command-spec.ts'

const passwordStdin = toggle('read the password from standard input; else one is made')
const mustChange = toggle('to be changed at the next login, also if security.password does not ask')

const USER_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'user list',
    help: 'Show the users who may log in.',
    options: { json, ...common },
  },
  {
    name: 'user add',
    help: 'Create a user, with a password that is made and shown once.',
    operands: [{ name: 'NAME', help: 'e-mail address' }],
    options: {
      role: text('A,B', 'what the user may do: read, write, admin, reports'),
      'password-stdin': passwordStdin,
      'must-change': mustChange,
      ...common,
    },
  },
  {
    name: 'user password',
    help: 'Give a user another password; the sessions of the user end.',
    operands: [nameOf('user')],
    options: { 'password-stdin': passwordStdin, 'must-change': mustChange, ...common },
  },
  {
    name: 'user unlock',
    help: 'Let a user log in again after too many wrong tries, by whomever.',
    operands: [nameOf('user')],
    options: {
      protocol: text('NAME', 'of the login, such as ldap; internal if not given'),
      ...common,
    },
  },
  {
    name: 'user reset-totp',
    help: 'Take the second factor of a user away, who has lost it.',
    operands: [nameOf('user')],
    options: common,
  },
  {
    name: 'user remove',
    help: 'Shut a user out; the last one with role admin stays.',
    operands: [nameOf('user')],
    options: common,
  },
]

const CLIENT_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'client add',
    help: 'Let a machine use the control plane: its secret is made, and shown once.',
    operands: [nameOf('client')],
    options: {
      role: text('A,B', 'what it may do: read, write, reports, charge, admin; read if not given'),
      grant: text('A,B', 'client_credentials, password, refresh_token; the first if not given'),
      'no-signature': toggle('it does not sign requests: only a hash of its secret is stored'),
      from: text('TIME', 'begin of its validity; now if not given'),
      to: text('TIME', 'end of its validity; none if not given'),
      ...common,
    },
  },
  {
    name: 'client list',
    help: 'Show the clients that there are, without their secrets.',
    options: { json, ...common },
  },
  {
    name: 'client rotate',
    help: 'Make another secret for a client; the old one and its tokens end at once.',
    operands: [nameOf('client')],
    options: common,
  },
  {
    name: 'client revoke',
    help: 'Shut a client out, with all its tokens.',
    operands: [nameOf('client')],
    options: common,
  },
]

const SECRETS_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'secrets status',
    help: 'Show by which key each stored secret is sealed; none of them is shown.',
    options: { json, ...common },
  },
  {
    name: 'secrets reseal',
    help: 'Seal what is clear, or sealed by an older key, with the present key.',
    options: common,
  },
]

const setting: OperandSpec = {
  name: 'CATEGORY',
  help: 'category, with a dotted path behind it: taxation, rates.fields.colour, ...',
}
const rev = text('N', 'only if this revision still holds')

const SETTINGS_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'settings list',
    help: 'Show the categories of the stored configuration.',
    options: { json, ...common },
  },
  {
    name: 'settings get',
    help: 'Show what is stored of a category, without secrets, in YAML.',
    operands: [setting],
    options: { rev: text('N', 'an older version'), json, ...common },
  },
  {
    name: 'settings set',
    help: 'Store a value; all processes follow within catalog.pollMs.',
    operands: [setting, documentFile('the value')],
    options: { rev, ...common },
  },
  {
    name: 'settings unset',
    help: 'Take a stored value away; what holds without it holds again.',
    operands: [setting],
    options: { rev, ...common },
  },
  {
    name: 'settings history',
    help: 'Show who has changed a category, and when.',
    operands: [setting],
    options: { json, ...common },
  },
  {
    name: 'settings restore',
    help: 'Store an older version of a category again; secrets stay what they are.',
    operands: [setting, { name: 'REV', help: 'version, as the history shows it' }],
    options: { rev, ...common },
  },
]

export const ACCESS_COMMANDS: readonly CommandSpec[] = [
  ...USER_COMMANDS,
  ...CLIENT_COMMANDS,
  ...SECRETS_COMMANDS,
  ...SETTINGS_COMMANDS,
]
