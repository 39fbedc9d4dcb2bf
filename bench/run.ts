/** Runs scenarios as the command line says, and prints and stores their results. */
import { emptyResults, failuresOf, type Results, writeResults } from './report/results.ts'
import { resultText } from './report/text.ts'
import { type Bench, type Scenario, SkippedError } from './scenario.ts'
import { type Command, readCommand, USAGE } from './settings.ts'
import { createBench } from './stage.ts'

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

/** `all`: of which the command chooses some. */
export async function runBenchmark(all: readonly Scenario[]): Promise<void> {
  const command = readCommand(process.argv.slice(2), all)
  if (command.help) return say(USAGE)
  if (command.list) {
    for (const { name, what } of all) say(`${name.padEnd(16)} ${what}`)
    return
  }
  await runAll(command)
}

async function runAll({ settings, scenarios, json }: Command): Promise<void> {
  const startedMs = performance.now()
  const results = emptyResults(Date.now(), settings.short)
  const bench = createBench(settings, say)
  const { processor, cores, node } = results.machine
  say(`${cores} cores, ${processor}, Node ${node}; the load generator has its share of them`)
  try {
    for (const scenario of scenarios) await runOne(bench, scenario, results)
  } finally {
    await bench.endProduct()
    if (json !== undefined) writeResults(json, results)
  }
  say(`\nall in ${((performance.now() - startedMs) / 60_000).toFixed(1)} minutes`)
  const failures = failuresOf(results)
  for (const failure of failures) say(`FAILED: ${failure}`)
  if (failures.length > 0) process.exitCode = 1
}

async function runOne(bench: Bench, scenario: Scenario, results: Results): Promise<void> {
  say(`\n== ${scenario.name}: ${scenario.what}`)
  const startedMs = performance.now()
  try {
    const found = await scenario.run(bench)
    const result = { ...found, notes: [...found.notes, ...bench.takePlaces()] }
    results.scenarios[scenario.name] = result
    say(resultText(result))
    say(`(${((performance.now() - startedMs) / 1000).toFixed(0)} s)`)
  } catch (error) {
    if (!(error instanceof SkippedError)) throw error
    results.skipped[scenario.name] = error.message
    say(`skipped: ${error.message}`)
  }
}
