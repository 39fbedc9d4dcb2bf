/** Runs one command line; reports the result as text and exit code. */
import { type ExitCode, isReading } from './command-spec.ts'
import { commandHelpText } from './commands.ts'
import { errorText, UsageError } from './errors.ts'
import { optionalText } from './options.ts'
import { parseCommandLine } from './parse.ts'
import type { Roles } from './role.ts'
import { Shell, type Surroundings } from './shell.ts'
import type { Tools } from './tools.ts'

/** Never rejects. */
export async function runCommandLine(
  argv: readonly string[],
  roles: Roles,
  tools: Tools,
  surroundings: Surroundings,
): Promise<ExitCode> {
  let shell = new Shell(surroundings)
  try {
    const { command, ...parsed } = parseCommandLine(argv)
    shell = new Shell(surroundings, optionalText(parsed.options, 'config'))
    const isHelp = parsed.options['help'] === true
    if (isHelp || isReading(command, parsed.options)) shell.stopWithoutReader()
    else shell.continueWithoutReader()
    if (!isHelp && command.run !== undefined) {
      return await command.run({ ...parsed, shell, roles, tools })
    }
    shell.print(commandHelpText(command))
    return 0
  } catch (error) {
    shell.printError(`tollgate: ${errorText(error)}`)
    return error instanceof UsageError ? 2 : 1
  }
}
