import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { COMMANDS } from '../src/commands/dispatch.ts'

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

it('README.md names all commands', () => {
  const row = README.split('\n').find((line) => line.startsWith('| Commands |')) ?? ''
  const named = [...row.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
  // Some commands have a second spelling in lower case.
  const spellings = new Set(named.flatMap((name) => [name, name.toLowerCase()]))
  expect(Object.keys(COMMANDS).filter((name) => !spellings.has(name))).toEqual([])
  expect(named.filter((name) => !Object.hasOwn(COMMANDS, name))).toEqual([])
})
