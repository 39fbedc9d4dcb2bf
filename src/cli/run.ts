/** Runs one command line; reports the result as text and exit code. */
import { commandHelpText, helpText } from './commands.ts'
import { errorText, UsageError } from './errors.ts'
import { type Invocation, optionalText, parseCommandLine } from './parse.ts'
import type { RoleName, StartRole } from './role.ts'
import { Shell, type Surroundings } from './shell.ts'
import type { Tools } from './tools.ts'
import { versionOf } from './version.ts'

export type Roles = Readonly<Record<RoleName, StartRole>>

/** The exit code; undefined if the command keeps running until a signal. */
export type ExitCode = 0 | 1 | 2 | undefined

/** Never rejects. */
export async function runCommandLine(
  argv: readonly string[],
  roles: Roles,
  tools: Tools,
  surroundings: Surroundings,
): Promise<ExitCode> {
  let shell = new Shell(surroundings)
  try {
    const invocation = parseCommandLine(argv)
    shell = new Shell(surroundings, optionalText(invocation.options, 'config'))
    const isHelp = invocation.options['help'] === true
    if (isHelp || isReading(invocation.command.name)) shell.stopWithoutReader()
    else shell.continueWithoutReader()
    if (isHelp) {
      shell.print(commandHelpText(invocation.command))
      return 0
    }
    if (ACCESS.test(invocation.command.name)) return await access(shell, invocation)
    if (invocation.command.name.startsWith('cycle ')) return await cycle(shell, invocation)
    if (invocation.command.name.startsWith('event ')) return await event(shell, invocation, tools)
    if (PREPAID.test(invocation.command.name)) return await prepaid(shell, invocation)
    return await dispatch(shell, invocation, roles, tools)
  } catch (error) {
    shell.printError(`tollgate: ${errorText(error)}`)
    return error instanceof UsageError ? 2 : 1
  }
}

/** Last words of the commands for `isReading`. */
const READING =
  'list show get history parked preview status check test send audit export quote help version'

/** True if a command ends when nobody reads its output any more; others finish what they do. */
export function isReading(name: string): boolean {
  return READING.split(' ').includes(name.split(' ').at(-1) ?? '')
}

/** Commands for access control, settings, personal data, jobs and the customer system. */
const ACCESS = /^(?:user|client|secrets|settings|job|external) |^(?:erase|check|charge|clock)$/

/** Commands for prepaid cards and auto-renewals. */
const PREPAID = /^(?:card|autorenew) /

/** Each command is imported on demand, so that a role does not load the modules of others. */
async function dispatch(
  shell: Shell,
  { command, operands, options }: Invocation,
  roles: Roles,
  tools: Tools,
): Promise<ExitCode> {
  const { NAME = '', FILE = '', COLLECTION = '' } = operands
  switch (command.name) {
    case 'start':
      return (await import('./start.ts')).start(shell)
    case 'stop':
      return (await import('./stop.ts')).stop(shell, options)
    case 'realtime':
    case 'admin':
    case 'recorder':
      return (await import('./role.ts')).runRole(shell, command.name, roles[command.name])
    case 'seed demo':
      return (await import('./seed.ts')).seedDemo(shell)
    case 'balance show':
      return (await import('./balance-show.ts')).showBalance(shell, options)
    case 'balance add':
      return (await import('./balance-add.ts')).addBalance(shell, options)
    case 'session list':
      return (await import('./session-list.ts')).listSessions(shell, options)
    case 'session release':
      return (await import('./session-release.ts')).release(shell, operands['SESSION-ID'], options)
    case 'quote':
      return (await import('./quote.ts')).quote(shell, options)
    case 'audit':
      return (await import('./audit.ts')).audit(shell, options)
    case 'ledger rebuild':
      return (await import('./ledger-rebuild.ts')).rebuildLedger(shell, options)
    case 'filetype set':
      return (await import('./filetype.ts')).setFileTypes(shell, FILE)
    case 'filetype list':
      return (await import('./filetype.ts')).listFileTypes(shell, options)
    case 'filetype show':
      return (await import('./filetype.ts')).showFileType(shell, NAME, options)
    case 'filetype remove':
      return (await import('./filetype.ts')).removeFileType(shell, NAME)
    case 'filetype check':
      return (await import('./filetype-check.ts')).checkFileType(shell, FILE, options, tools)
    case 'diameter send':
      return (await import('./diameter-send.ts')).sendDiameter(shell, options, tools)
    case 'peer add':
      return (await import('./peer.ts')).addPeer(shell, NAME, options)
    case 'peer list':
      return (await import('./peer.ts')).listPeers(shell, options)
    case 'peer rotate':
      return (await import('./peer.ts')).rotatePeer(shell, NAME, options)
    case 'peer remove':
      return (await import('./peer.ts')).removePeer(shell, NAME)
    case 'field list':
      return (await import('./field.ts')).listFields(shell, COLLECTION, options)
    case 'field set':
      return (await import('./field.ts')).setFields(shell, COLLECTION, FILE)
    case 'field remove':
      return (await import('./field.ts')).removeField(shell, COLLECTION, NAME)
    case 'import':
      return (await import('./import.ts')).importFile(shell, COLLECTION, FILE, options)
    case 'export':
      return (await import('./export.ts')).exportFile(shell, COLLECTION, options)
    case 'version':
      shell.print(versionOf())
      return 0
    default:
      shell.print(helpText())
      return 0
  }
}

async function access(shell: Shell, { command, operands, options }: Invocation): Promise<ExitCode> {
  const { NAME = '' } = operands
  switch (command.name) {
    case 'check':
      return (await import('./check.ts')).check(shell, options)
    case 'charge':
      return (await import('./charge.ts')).charge(shell, options)
    case 'clock':
      return (await import('./clock.ts')).clock(shell, options)
    case 'erase':
      return (await import('./erase.ts')).erase(shell, options)
    case 'external check':
      return (await import('./external-check.ts')).checkExternal(shell, options)
    case 'job list':
      return (await import('./job-list.ts')).listJobs(shell, options)
    case 'user list':
      return (await import('./user.ts')).listUsers(shell, options)
    case 'user add':
      return (await import('./user.ts')).addUser(shell, NAME, options)
    case 'user password':
      return (await import('./user.ts')).setPassword(shell, NAME, options)
    case 'user unlock':
      return (await import('./user-unlock.ts')).unlockUser(shell, NAME, options)
    case 'user reset-totp':
      return (await import('./user.ts')).resetTotp(shell, NAME)
    case 'user remove':
      return (await import('./user.ts')).removeUser(shell, NAME)
    case 'client list':
      return (await import('./client.ts')).listClients(shell, options)
    case 'client add':
      return (await import('./client.ts')).addClient(shell, NAME, options)
    case 'client rotate':
      return (await import('./client.ts')).rotateClient(shell, NAME)
    case 'client revoke':
      return (await import('./client.ts')).revokeClient(shell, NAME)
    case 'secrets status':
      return (await import('./secrets.ts')).showSecrets(shell, options)
    case 'secrets reseal':
      return (await import('./secrets.ts')).resealSecrets(shell)
    default:
      return (await import('./settings.ts')).runSettings(shell, command.name, operands, options)
  }
}

async function cycle(shell: Shell, { command, options }: Invocation): Promise<ExitCode> {
  const commands = await import('./cycle.ts')
  switch (command.name) {
    case 'cycle run':
      return commands.runCycle(shell, options)
    case 'cycle confirm':
      return commands.confirmCycle(shell, options)
    case 'cycle reset':
      return commands.resetCycle(shell, options)
    case 'cycle preview':
      return (await import('./cycle-preview.ts')).previewCycle(shell, options)
    case 'cycle parked':
      return commands.parkedAccounts(shell, options)
    default:
      return commands.showCycle(shell, options)
  }
}

async function event(shell: Shell, { command, operands, rest, options }: Invocation, tools: Tools) {
  switch (command.name) {
    case 'event list':
      return (await import('./event.ts')).listEvents(shell, options)
    case 'event resend':
      return (await import('./event.ts')).resend(shell, rest, options)
    default:
      return (await import('./event-test.ts')).testRule(
        shell,
        operands['RULE'] ?? '',
        options,
        tools,
      )
  }
}

async function prepaid(shell: Shell, { command, options }: Invocation): Promise<ExitCode> {
  const commands = await import('./card.ts')
  switch (command.name) {
    case 'autorenew run':
      return (await import('./autorenew.ts')).runAutorenew(shell, options)
    case 'card create':
      return commands.createCardBatch(shell, options)
    case 'card update':
      return commands.updateCardState(shell, options)
    case 'card delete':
      return commands.deleteCardsOf(shell, options)
    default:
      return commands.listCards(shell, options)
  }
}
