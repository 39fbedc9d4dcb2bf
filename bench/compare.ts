/**
 * `npm run bench:compare`: runs the benchmark five times, or reads results from files, and fails if
 * the median of a ratio is more than 30 percent below the baseline.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ROOT } from '../test/support/product/product.ts'
import {
  type Compared,
  CompareError,
  compare,
  mediansOf,
  merged,
  ratiosOf,
  readBaseline,
  runsOf,
  scenariosOf,
  warningsOf,
} from './report/compare.ts'
import { type Results, readResults } from './report/results.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '5' },
    only: { type: 'string' },
    seconds: { type: 'string', default: '4' },
    baseline: { type: 'string', default: join(ROOT, 'bench/baseline.json') },
    write: { type: 'boolean', default: false },
  },
})
/** Default scenarios of runs; files are compared with all that they contain. */
const DEFAULT_SCENARIOS = 'json,diameter,keyvalue'
const say = (text: string) => process.stdout.write(`${text}\n`)

/** Each run is a separate process, so that none starts warm. */
async function runAll(count: number): Promise<Results[]> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-compare-'))
  const program = fileURLToPath(new URL('./main.js', import.meta.url))
  try {
    const results: Results[] = []
    for (let run = 1; run <= count; run += 1) {
      say(`run ${run} of ${count}`)
      const file = join(folder, `${run}.json`)
      const chosen = [
        '--only',
        values.only ?? DEFAULT_SCENARIOS,
        '--seconds',
        values.seconds,
        '--json',
        file,
      ]
      const child = spawn(process.execPath, [program, ...chosen], {
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      const [code] = await once(child, 'exit')
      if (code !== 0) throw new CompareError(`run ${run} ended with ${code}`)
      results.push(readResults(file))
    }
    return results
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function line({ name, baseline, now, fall, isWorse }: Compared): string {
  if (now === undefined) return `${name}  baseline ${baseline.toFixed(3)}  NOT MEASURED`
  const change = `${fall > 0 ? '-' : '+'}${Math.abs(100 * fall).toFixed(0)} %`
  const verdict = isWorse ? '  WORSE' : ''
  return `${name}  baseline ${baseline.toFixed(3)}  now ${now.toFixed(3)}  ${change}${verdict}`
}

async function main(): Promise<void> {
  const count = runsOf(values.runs)
  // Checked before the runs, which take minutes.
  const isNew = values.write && !existsSync(values.baseline)
  const baseline = isNew ? {} : readBaseline(values.baseline)
  const runs = positionals.length > 0 ? positionals.map(readResults) : await runAll(count)
  if (values.write) {
    const chosen = values.only?.split(',') ?? scenariosOf(runs)
    const all = merged(baseline, runs, chosen)
    writeFileSync(values.baseline, `${JSON.stringify(all, null, 2)}\n`)
    say(`${chosen.join(', ')}: written to ${values.baseline} from ${runs.length} runs`)
    return
  }
  const scenarios = selected(runs, Object.keys(baseline))
  if (scenarios.length === 0) throw new CompareError('the baseline has none of these scenarios')
  const before = ratiosOf(baseline, scenarios)
  for (const warning of warningsOf(baseline, scenarios, runs)) say(`warning: ${warning}`)
  const all = compare(before, mediansOf(runs))
  for (const one of all) say(line(one))
  const worse = all.filter(({ isWorse }) => isWorse)
  const verdict = 'worse by more than 30 %, or not measured'
  say(`${runs.length} runs, ${worse.length} of ${all.length} ratios ${verdict}`)
  if (worse.length > 0) process.exitCode = 1
}

/**
 * The named scenarios; otherwise those of the runs, or for files those that are in the baseline.
 */
function selected(runs: readonly Results[], known: readonly string[]): string[] {
  if (values.only !== undefined) return values.only.split(',')
  const measured = scenariosOf(runs)
  return positionals.length > 0 ? measured.filter((name) => known.includes(name)) : measured
}

try {
  await main()
} catch (error) {
  if (!(error instanceof CompareError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
