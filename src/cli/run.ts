/** Runs one command line, and says with words and an exit code how it ended. */
import { InvariantError } from '../domain/assert.ts'
import { print, printError } from '../runtime/terminal.ts'
import { commandHelpText, helpText } from './commands.ts'
import { UsageError } from './errors.ts'
import { type Invocation, optionalText, parseCommandLine } from './parse.ts'
import type { RoleName, StartRole } from './role.ts'
import { versionOf } from './version.ts'

export type Roles = Readonly<Record<RoleName, StartRole>>

/** The exit code, or undefined: the command runs on until it is stopped by a signal. */
export type ExitCode = 0 | 1 | 2 | undefined

/** Never rejects. */
export async function runCommandLine(argv: readonly string[], roles: Roles): Promise<ExitCode> {
  try {
    const invocation = parseCommandLine(argv)
    if (invocation.options['help'] === true) {
      print(commandHelpText(invocation.command))
      return 0
    }
    return await dispatch(invocation, roles)
  } catch (error) {
    printError(`tollgate: ${describe(error)}`)
    return error instanceof UsageError ? 2 : 1
  }
}

/** A defect of ours shows where it happened; what went wrong outside is said in words. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isDefect =
    error instanceof InvariantError ||
    error instanceof ReferenceError ||
    error instanceof TypeError ||
    error instanceof RangeError
  return (isDefect ? error.stack : undefined) ?? error.message
}

/** Each command is loaded when it is asked for: a role does not load what another one needs. */
async function dispatch({ command, options }: Invocation, roles: Roles): Promise<ExitCode> {
  const file = optionalText(options, 'config')
  switch (command.name) {
    case 'start':
      return (await import('./start.ts')).start(file)
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
    case 'quote':
      return (await import('./quote.ts')).quote(options, file)
    case 'audit':
      return (await import('./audit.ts')).audit(options, file)
    case 'ledger rebuild':
      return (await import('./ledger-rebuild.ts')).rebuildLedger(options, file)
    case 'version':
      print(versionOf())
      return 0
    default:
      print(helpText())
      return 0
  }
}
