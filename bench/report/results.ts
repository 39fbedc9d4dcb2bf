/** The results of a run as stored in a JSON file. */
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import type { ScenarioResult } from '../scenario.ts'

export interface Machine {
  processor: string
  cores: number
  node: string
}

export interface Results {
  /** ISO 8601, UTC. */
  at: string
  machine: Machine
  short: boolean
  scenarios: Record<string, ScenarioResult>
  /** Reasons for skipped scenarios. */
  skipped: Record<string, string>
}

export function emptyResults(nowMs: number, short: boolean): Results {
  const processor = cpus()[0]?.model ?? 'unknown'
  const machine = { processor, cores: availableParallelism(), node: process.version }
  return { at: new Date(nowMs).toISOString(), machine, short, scenarios: {}, skipped: {} }
}

/** Failed correctness checks by scenario: with any of them the benchmark has failed. */
export function failuresOf({ scenarios }: Results): string[] {
  return Object.entries(scenarios).flatMap(([name, { failures = [] }]) =>
    failures.map((failure) => `${name}: ${failure}`),
  )
}

export function writeResults(file: string, results: Results): void {
  writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`)
}

/** Throws if the file contains no results. */
export function readResults(file: string): Results {
  const value = JSON.parse(readFileSync(file, 'utf8')) as Partial<Results> | null
  if (typeof value?.scenarios !== 'object')
    throw new Error(`${file} holds no results of the benchmark`)
  return value as Results
}
