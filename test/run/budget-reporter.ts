/**
 * Holds the processor time of the tests to `test/budget.json`, normalised by the calibration that
 * each file runs: outside the short set, a part may exceed its budget by 15 %, and the tests of a
 * file may use twice their row or 3 s, whichever is more. `TEST_BUDGET=record` writes what a run
 * has measured.
 */
import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'
import { type Budget, pathOf, readBudget, writeBudget } from './budget.ts'
import type { ProcessorTime } from './processor-time.ts'
import { ROTATED, ROTATED_PART } from './rotation.ts'

const PART_FACTOR = 1.15
const FILE_FACTOR = 2
const FILE_FLOOR_S = 3

interface Measured extends ProcessorTime {
  path: string
  part: string
  elapsedMs: number
}

export class BudgetReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const measured = modules.map(measuredOf)
    const calibrationMs = median(measured.map(({ calibration }) => calibration))
    if (calibrationMs === undefined) return
    if (process.env['TEST_BUDGET'] === 'record') record(measured, calibrationMs)
    else if (process.env['TEST_SET'] !== undefined) hold(measured, calibrationMs)
  }
}

function hold(measured: readonly Measured[], calibrationMs: number): void {
  const budget = readBudget()
  const factor = budget.calibrationMs / calibrationMs
  const problems = excessOfFiles(measured, budget, factor)
  const rotated = absentOf(measured)
  const isWhole = measured.length + rotated.length === Object.keys(budget.files).length
  const whole = isWhole ? excessOfParts(measured, without(rotated, budget), factor) : []
  report([...problems, ...whole])
}

/** Rotated tests that did not run. */
function absentOf(measured: readonly Measured[]): string[] {
  const ran = new Set(measured.map(({ path }) => path))
  return ROTATED.filter((path) => !ran.has(path))
}

function without(paths: readonly string[], budget: Budget): Budget {
  const saved = paths.reduce((sum, path) => sum + (budget.files[path]?.[0] ?? 0), 0)
  const system = (budget.parts[ROTATED_PART] ?? 0) - saved
  return { ...budget, parts: { ...budget.parts, [ROTATED_PART]: system } }
}

interface Problem {
  /** A test file or a part. */
  path: string
  text: string
}

/** A file whose tests are all skipped measures nothing. */
const NOTHING: ProcessorTime = { imports: 0, tests: 0, calibration: 0 }

function measuredOf(module: TestModule): Measured {
  const time = module.meta().processor ?? NOTHING
  const { duration: elapsedMs } = module.diagnostic()
  return { ...time, path: pathOf(module.moduleId), part: module.project.name, elapsedMs }
}

function excessOfFiles(measured: readonly Measured[], budget: Budget, factor: number): Problem[] {
  return measured.flatMap(({ path, tests }) => {
    const row = budget.files[path]
    const limit = Math.max(FILE_FLOOR_S, FILE_FACTOR * (row?.[0] ?? Number.POSITIVE_INFINITY))
    const used = seconds(tests * factor)
    return used > limit ? [{ path, text: `used ${used} s of processor time, of ${limit}` }] : []
  })
}

function excessOfParts(measured: readonly Measured[], budget: Budget, factor: number): Problem[] {
  return [...sums(measured)].flatMap(([part, ms]) => {
    const limit = seconds((budget.parts[part] ?? 0) * PART_FACTOR * 1000)
    const used = seconds(ms * factor)
    const path = `part ${part}`
    return used > limit ? [{ path, text: `used ${used} s of processor time, of ${limit}` }] : []
  })
}

/** `TEST_BUDGET_REPORT` names a file that receives the problems as JSON. */
function report(problems: readonly Problem[]): void {
  const path = process.env['TEST_BUDGET_REPORT']
  if (path !== undefined) writeFileSync(path, JSON.stringify(problems))
  if (problems.length === 0) return
  for (const problem of problems) process.stderr.write(`budget: ${problem.path} ${problem.text}\n`)
  process.exitCode = 1
}

/** Keeps the rows of files that did not run, unless all have. */
function record(measured: readonly Measured[], calibrationMs: number): void {
  const old = readBudget()
  const full = process.env['TEST_SET'] === 'full' && measured.length > 500
  const factor = full ? 1 : old.calibrationMs / calibrationMs
  const rows = measured.map(({ path, tests, elapsedMs }) => {
    return [path, [seconds(tests * factor), seconds(elapsedMs)]] as const
  })
  const parts = [...sums(measured)].map(([part, ms]) => [part, Math.ceil((ms * factor) / 1000)])
  writeBudget(
    full
      ? {
          calibrationMs: Math.round(calibrationMs * 100) / 100,
          parts: Object.fromEntries(parts),
          files: Object.fromEntries(rows),
        }
      : { ...old, files: { ...old.files, ...Object.fromEntries(rows) } },
  )
}

function sums(measured: readonly Measured[]): Map<string, number> {
  const parts = new Map<string, number>()
  for (const { part, imports, tests } of measured) {
    parts.set(part, (parts.get(part) ?? 0) + imports + tests)
  }
  return parts
}

/** The median of the values that are not 0. */
function median(values: readonly number[]): number | undefined {
  const sorted = values.filter((value) => value > 0).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

/** To tenths. */
function seconds(ms: number): number {
  return Math.round(ms / 100) / 10
}
