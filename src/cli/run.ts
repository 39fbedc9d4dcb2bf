/** Runs one command line; reports the result as text and exit code. */
import { print, printError } from '../runtime/terminal.ts'
import { commandHelpText, helpText } from './commands.ts'
import { errorText, UsageError } from './errors.ts'
import { type Invocation, optionalText, parseCommandLine } from './parse.ts'
import type { RoleName, StartRole } from './role.ts'
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
): Promise<ExitCode> {
  try {
    const invocation = parseCommandLine(argv)
    if (invocation.options['help'] === true) {
      print(commandHelpText(invocation.command))
      return 0
    }
    if (ACCESS.test(invocation.command.name)) return await access(invocation)
    if (invocation.command.name.startsWith('cycle ')) return await cycle(invocation)
    if (invocation.command.name.startsWith('event ')) return await event(invocation, tools)
    if (PREPAID.test(invocation.command.name)) return await prepaid(invocation)
    return await dispatch(invocation, roles, tools)
  } catch (error) {
    printError(`tollgate: ${errorText(error)}`)
    return error instanceof UsageError ? 2 : 1
  }
}

/** Commands for access control, settings, personal data, jobs and the customer system. */
const ACCESS = /^(?:user|client|secrets|settings|job|external) |^(?:erase|check|charge|clock)$/

/** Commands for prepaid cards and auto-renewals. */
const PREPAID = /^(?:card|autorenew) /

/** Each command is imported on demand, so that a role does not load the modules of others. */
async function dispatch(
  { command, operands, options }: Invocation,
  roles: Roles,
  tools: Tools,
): Promise<ExitCode> {
  const { NAME = '', FILE = '', COLLECTION = '' } = operands
  const file = optionalText(options, 'config')
  switch (command.name) {
    case 'start':
      return (await import('./start.ts')).start(file)
    case 'stop':
      return (await import('./stop.ts')).stop(options, file)
    case 'realtime':
    case 'admin':
    case 'recorder':
      return (await import('./role.ts')).runRole(command.name, roles[command.name], file)
    case 'seed demo':
      return (await import('./seed.ts')).seedDemo(file)
    case 'balance show':
      return (await import('./balance-show.ts')).showBalance(options, file)
    case 'balance add':
      return (await import('./balance-add.ts')).addBalance(options, file)
    case 'session list':
      return (await import('./session-list.ts')).listSessions(options, file)
    case 'session release':
      return (await import('./session-release.ts')).release(operands['SESSION-ID'], options, file)
    case 'quote':
      return (await import('./quote.ts')).quote(options, file)
    case 'audit':
      return (await import('./audit.ts')).audit(options, file)
    case 'ledger rebuild':
      return (await import('./ledger-rebuild.ts')).rebuildLedger(options, file)
    case 'filetype set':
      return (await import('./filetype.ts')).setFileTypes(FILE, file)
    case 'filetype list':
      return (await import('./filetype.ts')).listFileTypes(options, file)
    case 'filetype show':
      return (await import('./filetype.ts')).showFileType(NAME, options, file)
    case 'filetype remove':
      return (await import('./filetype.ts')).removeFileType(NAME, file)
    case 'filetype check':
      return (await import('./filetype-check.ts')).checkFileType(FILE, options, file, tools)
    case 'diameter send':
      return (await import('./diameter-send.ts')).sendDiameter(options, file, tools)
    case 'peer add':
      return (await import('./peer.ts')).addPeer(NAME, options, file)
    case 'peer list':
      return (await import('./peer.ts')).listPeers(options, file)
    case 'peer rotate':
      return (await import('./peer.ts')).rotatePeer(NAME, options, file)
    case 'peer remove':
      return (await import('./peer.ts')).removePeer(NAME, file)
    case 'field list':
      return (await import('./field.ts')).listFields(COLLECTION, options, file)
    case 'field set':
      return (await import('./field.ts')).setFields(COLLECTION, FILE, file)
    case 'field remove':
      return (await import('./field.ts')).removeField(COLLECTION, NAME, file)
    case 'import':
      return (await import('./import.ts')).importFile(COLLECTION, FILE, options, file)
    case 'export':
      return (await import('./export.ts')).exportFile(COLLECTION, options, file)
    case 'version':
      print(versionOf())
      return 0
    default:
      print(helpText())
      return 0
  }
}

async function access({ command, operands, options }: Invocation): Promise<ExitCode> {
  const { NAME = '' } = operands
  const file = optionalText(options, 'config')
  switch (command.name) {
    case 'check':
      return (await import('./check.ts')).check(options, file)
    case 'charge':
      return (await import('./charge.ts')).charge(options, file)
    case 'clock':
      return (await import('./clock.ts')).clock(options, file)
    case 'erase':
      return (await import('./erase.ts')).erase(options, file)
    case 'external check':
      return (await import('./external-check.ts')).checkExternal(options, file)
    case 'job list':
      return (await import('./job-list.ts')).listJobs(options, file)
    case 'user list':
      return (await import('./user.ts')).listUsers(options, file)
    case 'user add':
      return (await import('./user.ts')).addUser(NAME, options, file)
    case 'user password':
      return (await import('./user.ts')).setPassword(NAME, options, file)
    case 'user unlock':
      return (await import('./user-unlock.ts')).unlockUser(NAME, options, file)
    case 'user reset-totp':
      return (await import('./user.ts')).resetTotp(NAME, file)
    case 'user remove':
      return (await import('./user.ts')).removeUser(NAME, file)
    case 'client list':
      return (await import('./client.ts')).listClients(options, file)
    case 'client add':
      return (await import('./client.ts')).addClient(NAME, options, file)
    case 'client rotate':
      return (await import('./client.ts')).rotateClient(NAME, file)
    case 'client revoke':
      return (await import('./client.ts')).revokeClient(NAME, file)
    case 'secrets status':
      return (await import('./secrets.ts')).showSecrets(options, file)
    case 'secrets reseal':
      return (await import('./secrets.ts')).resealSecrets(file)
    default:
      return (await import('./settings.ts')).runSettings(command.name, operands, options, file)
  }
}

async function cycle({ command, options }: Invocation): Promise<ExitCode> {
  const file = optionalText(options, 'config')
  const commands = await import('./cycle.ts')
  switch (command.name) {
    case 'cycle run':
      return commands.runCycle(options, file)
    case 'cycle confirm':
      return commands.confirmCycle(options, file)
    case 'cycle reset':
      return commands.resetCycle(options, file)
    case 'cycle preview':
      return (await import('./cycle-preview.ts')).previewCycle(options, file)
    case 'cycle parked':
      return commands.parkedAccounts(options, file)
    default:
      return commands.showCycle(options, file)
  }
}

async function event({ command, operands, rest, options }: Invocation, tools: Tools) {
  const file = optionalText(options, 'config')
  switch (command.name) {
    case 'event list':
      return (await import('./event.ts')).listEvents(options, file)
    case 'event resend':
      return (await import('./event.ts')).resend(rest, options, file)
    default:
      return (await import('./event-test.ts')).testRule(
        operands['RULE'] ?? '',
        options,
        file,
        tools,
      )
  }
}

async function prepaid({ command, options }: Invocation): Promise<ExitCode> {
  const file = optionalText(options, 'config')
  const commands = await import('./card.ts')
  switch (command.name) {
    case 'autorenew run':
      return (await import('./autorenew.ts')).runAutorenew(options, file)
    case 'card create':
      return commands.createCardBatch(options, file)
    case 'card update':
      return commands.updateCardState(options, file)
    case 'card delete':
      return commands.deleteCardsOf(options, file)
    default:
      return commands.listCards(options, file)
  }
}
