import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isReading } from '../../src/cli/command-spec.ts'
import { COMMANDS, commandHelpText, helpText } from '../../src/cli/commands.ts'
import { UsageError } from '../../src/cli/errors.ts'
import { optionalList, optionalNumber, requiredText } from '../../src/cli/options.ts'
import { parseCommandLine } from '../../src/cli/parse.ts'
import { HOUSE } from '../house/tree.ts'

const parse = (line: string) => {
  const { command, operands, options } = parseCommandLine(line === '' ? [] : line.split(' '))
  return { name: command.name, ...operands, ...options }
}

it.each([
  ['audit', true],
  ['audit --mend', false],
  ['audit --mend --dry-run', true],
])('%s ends without a reader: %s', (line, ends) => {
  const { command, options } = parseCommandLine(line.split(' '))
  expect(isReading(command, options)).toBe(ends)
})

describe('a command line', () => {
  it.each([
    ['', { name: 'start' }],
    ['start --config a.yaml', { name: 'start', config: 'a.yaml' }],
    ['--config a.yaml', { name: 'start', config: 'a.yaml' }],
    ['realtime', { name: 'realtime' }],
    ['seed demo', { name: 'seed demo' }],
    ['balance show --sid 5 --json', { name: 'balance show', sid: '5', json: true }],
    ['balance add --amount=-5', { name: 'balance add', amount: '-5' }],
    ['filetype set a.yaml', { name: 'filetype set', FILE: 'a.yaml' }],
    ['filetype set - --config b', { name: 'filetype set', FILE: '-', config: 'b' }],
    ['peer add --rate 5 pgw', { name: 'peer add', NAME: 'pgw', rate: '5' }],
    ['client add --role read crm', { name: 'client add', NAME: 'crm', role: 'read' }],
    ['peer add --help', { name: 'peer add', help: true }],
    ['session release a;1', { name: 'session release', 'SESSION-ID': 'a;1' }],
    ['audit --help', { name: 'audit', help: true }],
    ['--help', { name: 'help' }],
    ['-h', { name: 'help' }],
    ['help', { name: 'help' }],
    ['help --help', { name: 'help', help: true }],
    ['help field', { name: 'field', help: true }],
    ['help field list', { name: 'field list', help: true }],
    ['help audit', { name: 'audit', help: true }],
    ['field --help', { name: 'field', help: true }],
    ['field -h', { name: 'field', help: true }],
    ['field list --help', { name: 'field list', help: true }],
    ['field list accounts -h', { name: 'field list', COLLECTION: 'accounts', help: true }],
    ['--version', { name: 'version' }],
  ])('%j is parsed', (line, expected) => {
    expect(parse(line)).toEqual(expected)
  })

  it.each([
    ['strat', "unknown command 'strat': did you mean 'start'?"],
    ['frobnicate', "unknown command 'frobnicate': see 'tollgate help'"],
    ['sesion list', "unknown command 'sesion list': did you mean 'session list'?"],
    ['session-list', "unknown command 'session-list': did you mean 'session list'?"],
    ['sesion', "unknown command 'sesion': did you mean 'session'?"],
    ['imprt accounts a.csv', "unknown command 'imprt': did you mean 'import'?"],
    ['client add --role a --role b c', "client add: Option '--role' is given twice"],
    ['session list --json --json', "session list: Option '--json' is given twice"],
    ['balance', "unknown command 'balance': it is 'balance show' or 'balance add'"],
    ['field', "unknown command 'field': it is 'field list' or 'field set' or 'field remove'"],
    ['help strat', "unknown command 'strat': did you mean 'start'?"],
    ['balance sho', "unknown command 'balance sho': it is 'balance show' or 'balance add'"],
    ['start --prot 1', "start: Unknown option '--prot'"],
    ['start now', "start: Unexpected argument 'now'"],
    ['filetype set', 'filetype set: FILE is missing'],
    ['peer add a b', "peer add: Unexpected argument 'b'"],
    ['balance show --sid', "balance show: Option '--sid <value>' argument missing"],
    ['audit --json=yes', "audit: Option '--json' does not take an argument"],
  ])('%j is refused by name', (line, message) => {
    expect(() => parse(line)).toThrow(new UsageError(message))
  })

  it('explains how a negative amount is written', () => {
    expect(() => parse('balance add --amount -5')).toThrow("use '--amount=-XYZ'")
  })
})

describe('the value of an option', () => {
  it('must be a number where one is required', () => {
    expect(optionalNumber({ sid: '1001' }, 'sid')).toBe(1001)
    expect(optionalNumber({}, 'sid')).toBeUndefined()
    for (const sid of ['0', '-1', '1.5', 'x', '', '99999999999999999']) {
      expect(() => optionalNumber({ sid }, 'sid')).toThrow(/^--sid must be an integer/)
    }
  })

  it('of a list has members', () => {
    expect(optionalList({ address: 'a, b,c' }, 'address')).toEqual(['a', 'b', 'c'])
    expect(optionalList({}, 'address')).toBeUndefined()
    for (const address of ['', 'a,,b', 'a,']) {
      expect(() => optionalList({ address }, 'address')).toThrow(/^--address must be a list/)
    }
  })

  it('is mandatory where it is required', () => {
    expect(() => requiredText({}, 'amount')).toThrow(new UsageError('--amount is missing'))
  })
})

it('every command runs', () => {
  expect(COMMANDS.filter(({ run }) => run === undefined)).toEqual([])
})

describe('help', () => {
  const groups = COMMANDS.flatMap(({ name }) => (name.includes(' ') ? [name.split(' ')[0]] : []))
  const asked = [...new Set([...COMMANDS.map(({ name }) => name), ...groups])].flatMap((name) => [
    `${name} --help`,
    `${name} -h`,
    `help ${name}`,
  ])

  it.each(asked.filter((line) => line !== 'help help'))('%j prints its usage', (line) => {
    const { command, options } = parseCommandLine(line.split(' '))
    expect(options['help']).toBe(true)
    const text = commandHelpText(command)
    expect(text).toMatch(new RegExp(`^Usage: tollgate ${command.name}\\b.*\\[OPTIONS\\]\n`))
    for (const { name } of command.members ?? []) expect(text).toContain(`  ${name} `)
  })

  it('names every command, and each of its options', () => {
    for (const command of COMMANDS) {
      expect(helpText()).toContain(`  ${command.name} `)
      for (const operand of command.operands ?? []) {
        expect(commandHelpText(command)).toContain(`  ${operand.name} `)
      }
      if (command.rest) expect(commandHelpText(command)).toContain(` [${command.rest.name} ...] `)
      for (const option of Object.keys(command.options)) {
        expect(commandHelpText(command)).toContain(`--${option} `)
      }
    }
  })
})

describe('arguments after the operands', () => {
  it('are none or several, where a command has them', () => {
    expect(parseCommandLine(['event', 'resend']).rest).toEqual([])
    const { rest, operands, options } = parseCommandLine(['event', 'resend', 'a', '--json', 'b'])
    expect({ rest, operands, options }).toEqual({
      rest: ['a', 'b'],
      operands: {},
      options: { json: true },
    })
  })

  it('are refused by other commands', () => {
    expect(() => parseCommandLine(['event', 'test', 'RULE', 'x'])).toThrow(
      new UsageError("event test: Unexpected argument 'x'"),
    )
  })
})

describe('docs/EVENTS.md', () => {
  it('has commands that exist, with their options', () => {
    const text = readFileSync(join(HOUSE, 'docs/EVENTS.md'), 'utf8')
    const lines = text.split('\n').filter((line) => line.startsWith('tollgate '))
    expect(lines.length).toBeGreaterThan(4)
    for (const line of lines) {
      const [, ...words] = line.replace(/ +#.*$/, '').split(/ +/)
      expect(parseCommandLine(words).options['help']).toBeUndefined()
    }
  })
})
