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

const passwordStdin = toggle('read the password from standard input; otherwise one is generated')
const mustChange = toggle(
  'require a new password at the next login, even if security.password does not',
)

const USER_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'user list',
    help: 'Show the users who may log in.',
    isReading: true,
    options: { json, ...common },
    run: async ({ shell, options }) => (await import('./user.ts')).listUsers(shell, options),
  },
  {
    name: 'user add',
    help: 'Create a user with a generated password, which is shown once.',
    operands: [{ name: 'NAME', help: 'e-mail address' }],
    options: {
      role: text('A,B', 'what the user may do: read, write, admin, reports'),
      'password-stdin': passwordStdin,
      'must-change': mustChange,
      ...common,
    },
    run: async ({ shell, operands, options }) =>
      (await import('./user.ts')).addUser(shell, operands.NAME, options),
  },
  {
    name: 'user password',
    help: 'Set the password of a user; the sessions of the user end.',
    operands: [nameOf('user')],
    options: { 'password-stdin': passwordStdin, 'must-change': mustChange, ...common },
    run: async ({ shell, operands, options }) =>
      (await import('./user.ts')).setPassword(shell, operands.NAME, options),
  },
  {
    name: 'user unlock',
    help: 'Let a user log in again after too many failed attempts.',
    operands: [nameOf('user')],
    options: {
      protocol: text('NAME', 'protocol of the login, such as ldap; internal if not given'),
      ...common,
    },
    run: async ({ shell, operands, options }) =>
      (await import('./user-unlock.ts')).unlockUser(shell, operands.NAME, options),
  },
  {
    name: 'user reset-totp',
    help: 'Remove the second factor of a user who has lost it.',
    operands: [nameOf('user')],
    options: common,
    run: async ({ shell, operands }) => (await import('./user.ts')).resetTotp(shell, operands.NAME),
  },
  {
    name: 'user remove',
    help: 'Remove a user; the last one with role admin cannot be removed.',
    operands: [nameOf('user')],
    options: common,
    run: async ({ shell, operands }) =>
      (await import('./user.ts')).removeUser(shell, operands.NAME),
  },
]

const CLIENT_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'client add',
    help: 'Create a machine client of the control plane; its secret is shown once.',
    operands: [nameOf('client')],
    options: {
      role: text('A,B', 'what it may do: read, write, reports, charge, admin; read if not given'),
      grant: text('A,B', 'client_credentials, password, refresh_token; the first if not given'),
      'no-signature': toggle(
        'the client does not sign requests: only a hash of its secret is stored',
      ),
      from: text('TIME', 'begin of its validity; now if not given'),
      to: text('TIME', 'end of its validity; none if not given'),
      ...common,
    },
    run: async ({ shell, operands, options }) =>
      (await import('./client.ts')).addClient(shell, operands.NAME, options),
  },
  {
    name: 'client list',
    help: 'Show the clients, without their secrets.',
    isReading: true,
    options: { json, ...common },
    run: async ({ shell, options }) => (await import('./client.ts')).listClients(shell, options),
  },
  {
    name: 'client rotate',
    help: 'Create a new secret for a client; the old one and its tokens end immediately.',
    operands: [nameOf('client')],
    options: common,
    run: async ({ shell, operands }) =>
      (await import('./client.ts')).rotateClient(shell, operands.NAME),
  },
  {
    name: 'client revoke',
    help: 'Revoke a client with all its tokens.',
    operands: [nameOf('client')],
    options: common,
    run: async ({ shell, operands }) =>
      (await import('./client.ts')).revokeClient(shell, operands.NAME),
  },
]

const SECRETS_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'secrets status',
    help: 'Show the key that each stored secret is sealed with, but not the secret.',
    isReading: true,
    options: { json, ...common },
    run: async ({ shell, options }) => (await import('./secrets.ts')).showSecrets(shell, options),
  },
  {
    name: 'secrets reseal',
    help: 'Seal all secrets in clear text or under an older key with the current key.',
    options: common,
    run: async ({ shell }) => (await import('./secrets.ts')).resealSecrets(shell),
  },
]

const setting: OperandSpec = {
  name: 'CATEGORY',
  help: 'category, optionally with a dotted path: taxation, rates.fields.colour, ...',
}
const rev = text('N', 'only if this is still the current revision')

const SETTINGS_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'settings list',
    help: 'Show the categories of the stored configuration.',
    isReading: true,
    options: { json, ...common },
    run: async ({ shell, options }) => (await import('./settings.ts')).listSettings(shell, options),
  },
  {
    name: 'settings get',
    help: 'Show the stored value of a category in YAML, without secrets.',
    isReading: true,
    operands: [setting],
    options: { rev: text('N', 'an older version'), json, ...common },
    run: async ({ shell, operands, options }) =>
      (await import('./settings.ts')).getSetting(shell, operands.CATEGORY, options),
  },
  {
    name: 'settings set',
    help: 'Store a value; all processes apply it within catalog.pollMs.',
    operands: [setting, documentFile('the value')],
    options: { rev, ...common },
    run: async ({ shell, operands, options }) =>
      (await import('./settings.ts')).setSetting(shell, operands.CATEGORY, operands.FILE, options),
  },
  {
    name: 'settings unset',
    help: 'Remove a stored value; the default applies again.',
    operands: [setting],
    options: { rev, ...common },
    run: async ({ shell, operands, options }) =>
      (await import('./settings.ts')).unsetSetting(shell, operands.CATEGORY, options),
  },
  {
    name: 'settings history',
    help: 'Show who has changed a category, and when.',
    isReading: true,
    operands: [setting],
    options: { json, ...common },
    run: async ({ shell, operands, options }) =>
      (await import('./settings.ts')).showHistory(shell, operands.CATEGORY, options),
  },
  {
    name: 'settings restore',
    help: 'Restore an older version of a category; secrets are unchanged.',
    operands: [setting, { name: 'REV', help: 'version, as the history shows it' }],
    options: { rev, ...common },
    run: async ({ shell, operands, options }) =>
      (await import('./settings.ts')).restoreSetting(
        shell,
        operands.CATEGORY,
        operands.REV,
        options,
      ),
  },
]

export const ACCESS_COMMANDS: readonly CommandSpec[] = [
  ...USER_COMMANDS,
  ...CLIENT_COMMANDS,
  ...SECRETS_COMMANDS,
  ...SETTINGS_COMMANDS,
]
