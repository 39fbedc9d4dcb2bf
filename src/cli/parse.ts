/** Parses the command line strictly: an unknown command or option is an error that names it. */
import { parseArgs } from 'node:util'
import { nearest } from '../config/nearest.ts'
import { type CommandCall, type CommandSpec, common, type Operands } from './command-spec.ts'
import { COMMANDS } from './commands.ts'
import { UsageError } from './errors.ts'
import type { OptionValues } from './options.ts'

export type Invocation = Pick<CommandCall, 'operands' | 'rest' | 'options'> & {
  readonly command: CommandSpec
}

const ALIASES: Readonly<Record<string, string>> = {
  '--help': 'help',
  '-h': 'help',
  '--version': 'version',
}

/** Throws `UsageError`. */
export function parseCommandLine(argv: readonly string[]): Invocation {
  const first = argv[0]
  if (first !== undefined && ALIASES[first] !== undefined) {
    return parseCommandLine([ALIASES[first], ...argv.slice(1)])
  }
  if (first === undefined || first.startsWith('-')) return parseCommandLine(['start', ...argv])
  // `help field list` is `field list --help`.
  const [second] = argv.slice(1)
  if (first === 'help' && second !== undefined && !second.startsWith('-')) {
    return parseCommandLine([...argv.slice(1), '--help'])
  }
  const command = findCommand(argv)
  return { command, ...parseArguments(command, argv.slice(wordsOf(command).length)) }
}

function wordsOf({ name }: CommandSpec): string[] {
  return name.split(' ')
}

function findCommand(argv: readonly string[]): CommandSpec {
  const found = COMMANDS.find((command) =>
    wordsOf(command).every((word, index) => word === argv[index]),
  )
  if (found !== undefined) return found
  const [first = '', second = ''] = argv
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${first} `))
  if (group.length > 0) {
    if (second === '--help' || second === '-h') return groupOf(first, group)
    const names = group.map(({ name }) => `'${name}'`).join(' or ')
    const name = second === '' || second.startsWith('-') ? '' : ` ${second}`
    throw new UsageError(`unknown command '${first}${name}': it is ${names}`)
  }
  const { name, near } = nearestCommand(first, second)
  const hint = near === undefined ? "see 'tollgate help'" : `did you mean '${near}'?`
  throw new UsageError(`unknown command '${name}': ${hint}`)
}

/** Compares as many words as the command has; its first one if only the group was meant. */
function nearestCommand(first: string, second: string): { name: string; near?: string } {
  const names = COMMANDS.map(({ name }) => name)
  const pairs = names.filter((name) => name.includes(' '))
  const groups = pairs.map((name) => name.slice(0, name.indexOf(' ')))
  const single = names.filter((name) => !name.includes(' '))
  const both = `${first} ${second}`
  const pair = second === '' || second.startsWith('-') ? undefined : nearest(both, pairs)
  if (pair !== undefined) return { name: both, near: pair }
  const near = nearest(first, [...single, ...groups]) ?? nearest(first, pairs)
  return { name: first, ...(near !== undefined && { near }) }
}

/** A group of commands with the same first word; it can only show help. */
function groupOf(name: string, members: readonly CommandSpec[]): CommandSpec {
  const help = `Commands of '${name}':`
  return { name, help, members, options: { help: common.help } }
}

function parseArguments(
  command: CommandSpec,
  args: readonly string[],
): Omit<Invocation, 'command'> {
  try {
    const { values, positionals, tokens } = parseArgs({
      args: [...args],
      options: command.options,
      strict: true,
      allowPositionals: true,
      tokens: true,
    })
    refuseRepeated(tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : [])))
    const options = values as OptionValues
    const operands = operandsOf(command, positionals, options['help'] === true)
    return { operands, rest: positionals.slice(command.operands?.length ?? 0), options }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // Drops the driver's advice about arguments that begin with a dash.
    const reason = error.message.replace(/\. To specify a positional.*$/s, '')
    throw new UsageError(`${command.name}: ${reason.replaceAll('\n', ' ')}`)
  }
}

/** No option is a list of its values: the last one would silently replace the others. */
function refuseRepeated(names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new TypeError(`Option '--${twice}' is given twice`)
}

function operandsOf(
  { name, operands = [], rest }: CommandSpec,
  values: readonly string[],
  isHelp: boolean,
): Operands {
  const extra = values[operands.length]
  if (extra !== undefined && rest === undefined)
    throw new UsageError(`${name}: Unexpected argument '${extra}'`)
  const missing = operands[values.length]
  if (missing !== undefined && !isHelp) throw new UsageError(`${name}: ${missing.name} is missing`)
  const named = values.slice(0, operands.length)
  const pairs = named.map((value, index) => [operands[index]?.name, value])
  return Object.fromEntries(pairs) as Operands
}
