/** The command line of the benchmark. */
import { parseArgs } from 'node:util'
import type { Scenario, Settings } from './scenario.ts'

export const USAGE = `npm run bench -- [--only NAME[,NAME]] [--short] [--list] [--json FILE]
  --seconds N       of each measured window
  --connections N   of HTTP, in a closed loop
  --subscribers N   seeded; of the scenario memory: --population N, --sessions N
  --workers N       of the product
  --worker-kind K   of the product: thread or inline
  --hold-ms N       how long the scenario overload holds each commit`

export interface Command {
  settings: Settings
  scenarios: readonly Scenario[]
  list: boolean
  help: boolean
  json: string | undefined
}

const number = (value: string | undefined, otherwise: number, name: string): number => {
  if (value === undefined) return otherwise
  const parsed = Number(value)
  if (!(parsed > 0)) throw new Error(`--${name} must be a number above 0, not ${value}`)
  return parsed
}

/** Throws if an option is unknown or not a number, or names no scenario. */
export function readCommand(args: readonly string[], all: readonly Scenario[]): Command {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: text,
      json: text,
      seconds: text,
      connections: text,
      subscribers: text,
      workers: text,
      'worker-kind': text,
      population: text,
      sessions: text,
      'hold-ms': text,
      short: flag,
      list: flag,
      help: flag,
    },
  })
  const { short, list, help, json } = values
  const settings = {
    short,
    seconds: number(values.seconds, short ? 3 : 6, 'seconds'),
    sustainedSeconds: number(values.seconds, short ? 5 : 60, 'seconds'),
    subscribers: number(values.subscribers, short ? 2_000 : 10_000, 'subscribers'),
    connections: number(values.connections, 128, 'connections'),
    workers: number(values.workers, 0, 'workers'),
    workerKind: values['worker-kind'],
    population: number(values.population, 200_000, 'population'),
    sessions: number(values.sessions, 40_000, 'sessions'),
    holdMs: number(values['hold-ms'], 4, 'hold-ms'),
  }
  return { settings, scenarios: chosen(values.only, short, all), list, help, json }
}

function chosen(only: string | undefined, short: boolean, all: readonly Scenario[]) {
  if (only === undefined) return all.filter(({ inShort }) => !short || inShort === true)
  return only.split(',').map((name) => {
    const found = all.find((scenario) => scenario.name === name)
    if (found !== undefined) return found
    throw new Error(`no scenario ${name}; there are ${all.map((one) => one.name).join(', ')}`)
  })
}
