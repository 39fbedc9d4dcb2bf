/** Describes a command; shared options and operands. */

export interface OptionSpec {
  readonly type: 'string' | 'boolean'
  /** One-letter alias. */
  readonly short?: string
  /** Placeholder of the value in the help; empty for a switch. */
  readonly value: string
  readonly help: string
}

/** A required positional argument, such as a file. */
export interface OperandSpec {
  readonly name: string
  readonly help: string
}

export interface CommandSpec {
  readonly name: string
  readonly help: string
  readonly operands?: readonly OperandSpec[]
  /** Arguments after the operands: none or several. */
  readonly rest?: OperandSpec
  readonly options: Readonly<Record<string, OptionSpec>>
  /** For a name that is only the first word of commands, such as `field`: those commands. */
  readonly members?: readonly CommandSpec[]
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
