/**
 * Case files: groups of calls with their answers, and with what is stored before and after.
 *
 * A case is a list of steps under its name, or a row of values `$1`, `$2`… for the steps of its
 * group (`each`; without it, `$1` are the parameters of `call`, and `$2` is the answer). A step is
 * a list: the name of an action, its parameters, its answer, and how it is called; or a verb of
 * `steps.ts` or of the set-up with what it needs. See `tags.ts` for tags and variables.
 */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { AskOptions, Fields } from '../action-server.ts'
import { CUSTOM_TAGS, Tagged } from './tags.ts'

export type Step = readonly [string, ...unknown[]]

/** By name of action. */
interface Defaults {
  /** Parameters; those of a call replace them. */
  readonly with?: Readonly<Record<string, Fields>>
  readonly how?: Readonly<Record<string, AskOptions>>
}

interface WrittenGroup extends Defaults {
  readonly group: string
  readonly call?: string
  readonly each?: readonly Step[]
  /** Steps before and after those of each case. */
  readonly given?: readonly Step[]
  readonly then?: readonly Step[]
  /** Members of the answer to each refused call. */
  readonly refusal?: Fields
  /** Collections that no refused call changes. */
  readonly keeps?: readonly string[]
  readonly cases: readonly (readonly unknown[] | Readonly<Record<string, readonly Step[]>>)[]
}

interface WrittenFile extends Defaults {
  readonly set_up: string
  readonly groups: readonly WrittenGroup[]
}

export interface Case {
  readonly name: string
  readonly steps: readonly Step[]
  readonly row: readonly unknown[]
}

export interface Group extends Required<Defaults> {
  readonly name: string
  readonly refusal: Fields
  readonly keeps: readonly string[]
  readonly cases: readonly Case[]
}

export interface CaseFile {
  readonly setUp: string
  readonly groups: readonly Group[]
}

const NAME_LENGTH_MAX = 120

export function readCases(path: string): CaseFile {
  const options = { customTags: CUSTOM_TAGS, merge: true, maxAliasCount: -1 }
  const {
    set_up: setUp,
    groups,
    ...defaults
  } = parse(readFileSync(path, 'utf8'), options) as WrittenFile
  return {
    setUp,
    groups: groups.map((group) => ({
      name: group.group,
      with: { ...defaults.with, ...group.with },
      how: { ...defaults.how, ...group.how },
      refusal: group.refusal ?? {},
      keeps: group.keeps ?? [],
      cases: group.cases.map((each) => caseOf(each, group)),
    })),
  }
}

function caseOf(written: WrittenGroup['cases'][number], group: WrittenGroup): Case {
  const { call = '', each = [[call, '$1', '$2']], given = [], then = [] } = group
  const whole = (steps: readonly Step[]) => [...given, ...steps, ...then]
  if (Array.isArray(written)) {
    const name = JSON.stringify(written, (_, value: unknown) => nameOf(value)).slice(1, -1)
    return { name: name.slice(0, NAME_LENGTH_MAX), steps: whole(each), row: written }
  }
  const [entry] = Object.entries(written as Readonly<Record<string, readonly Step[]>>)
  if (entry === undefined) throw new Error(`${group.group}: a case without a name`)
  return { name: entry[0], steps: whole(entry[1]), row: [] }
}

function nameOf(value: unknown): unknown {
  return value instanceof Tagged ? `!${value.tag} ${JSON.stringify(value.value)}` : value
}
