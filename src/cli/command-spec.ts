/** Describes a command; shared options and operands. */
import type { OptionValues } from './options.ts'
import type { Roles } from './role.ts'
import type { Shell } from './shell.ts'
import type { Tools } from './tools.ts'

export interface OptionSpec {
  readonly type: 'string' | 'boolean'
  /** One-letter alias. */
  readonly short?: string
  /** Placeholder of the value in the help; empty for a switch. */
  readonly value: string
  readonly help: string
}

type OperandName =
  | 'CATEGORY'
  | 'COLLECTION'
  | 'FILE'
  | 'ID'
  | 'NAME'
  | 'REV'
  | 'RULE'
  | 'SESSION-ID'

/** By name; all of the command are present unless help is requested. */
export type Operands = Readonly<Record<OperandName, string>>

/** A required positional argument, such as a file. */
export interface OperandSpec<Name extends string = OperandName> {
  readonly name: Name
  readonly help: string
}

/** The exit code; undefined if the command keeps running until a signal. */
export type ExitCode = 0 | 1 | 2 | undefined

export interface CommandCall {
  readonly shell: Shell
  readonly operands: Operands
  /** Arguments after the operands. */
  readonly rest: readonly string[]
  readonly options: OptionValues
  readonly roles: Roles
  readonly tools: Tools
}

export interface CommandSpec {
  readonly name: string
  readonly help: string
  /** The command ends when nobody reads its output any more; others finish their work. */
  readonly isReading?: true | ((options: OptionValues) => boolean)
  readonly operands?: readonly OperandSpec[]
  /** Arguments after the operands: none or several. */
  readonly rest?: OperandSpec<string>
  readonly options: Readonly<Record<string, OptionSpec>>
  /** For a name that is only the first word of commands, such as `field`: those commands. */
  readonly members?: readonly CommandSpec[]
  /**
   * Imports its modules on demand, so that a role does not load those of others. Absent with
   * `members`, which show their help.
   */
  run?(call: CommandCall): Promise<ExitCode>
}

export function isReading({ isReading: rule }: CommandSpec, options: OptionValues): boolean {
  return typeof rule === 'function' ? rule(options) : rule === true
}

export const text = (value: string, help: string): OptionSpec => ({ type: 'string', value, help })
export const toggle = (help: string): OptionSpec => ({ type: 'boolean', value: '', help })

export const common = {
  config: text('FILE', 'settings that differ from the defaults (YAML)'),
  help: { ...toggle('show this help'), short: 'h' },
}
export const json = toggle('answer in JSON')
export const sid = text('N', 'subscriber number')
export const nameOf = (what: string): OperandSpec => ({ name: 'NAME', help: `name of the ${what}` })
export const documentFile = (what: string): OperandSpec => ({
  name: 'FILE',
  help: `${what} (JSON or YAML), - for standard input`,
})
