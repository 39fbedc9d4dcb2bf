/**
 * `npm run bench:compare`: runs the benchmark five times, or takes results as files, and fails if
 * the median of a ratio has fallen by more than 30 percent of the baseline.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ROOT } from './product.ts'
import { type Compared, compare, mediansOf, type Ratios } from './report/compare.ts'
import { type Results, readResults } from './report/results.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '5' },
    only: { type: 'string', default: 'json,diameter,keyvalue' },
    seconds: { type: 'string', default: '4' },
    baseline: { type: 'string', default: join(ROOT, 'bench/baseline.json') },
    write: { type: 'boolean', default: false },
  },
})
const say = (text: string) => process.stdout.write(`${text}\n`)

/** Each run is a process, so that none has what the one before has warmed. */
async function runAll(): Promise<Results[]> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-compare-'))
  const program = fileURLToPath(new URL('./main.js', import.meta.url))
  try {
    const results: Results[] = []
    for (let run = 1; run <= Number(values.runs); run += 1) {
      say(`run ${run} of ${values.runs}`)
      const file = join(folder, `${run}.json`)
      const chosen = ['--only', values.only, '--seconds', values.seconds, '--json', file]
      const child = spawn(process.execPath, [program, ...chosen], {
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      const [code] = await once(child, 'exit')
      if (code !== 0) throw new Error(`run ${run} ended with ${code}`)
      results.push(readResults(file))
    }
    return results
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function line({ name, baseline, now, fall, isWorse }: Compared): string {
  if (now === undefined) return `${name}  baseline ${baseline.toFixed(3)}  not measured`
  const change = `${fall > 0 ? '-' : '+'}${Math.abs(100 * fall).toFixed(0)} %`
  const verdict = isWorse ? '  WORSE' : ''
  return `${name}  baseline ${baseline.toFixed(3)}  now ${now.toFixed(3)}  ${change}${verdict}`
}

async function main(): Promise<void> {
  const runs = positionals.length > 0 ? positionals.map(readResults) : await runAll()
  const now = mediansOf(runs)
  if (values.write) {
    const rounded = Object.entries(now).map(([name, value]) => [name, Number(value.toFixed(4))])
    writeFileSync(values.baseline, `${JSON.stringify(Object.fromEntries(rounded), null, 2)}\n`)
    say(`${values.baseline} is written from ${runs.length} runs`)
    return
  }
  if (!existsSync(values.baseline)) {
    throw new Error(`there is no ${values.baseline}: npm run bench:compare -- --write makes it`)
  }
  const baseline = JSON.parse(readFileSync(values.baseline, 'utf8')) as Ratios
  const all = compare(baseline, now)
  for (const one of all) say(line(one))
  const worse = all.filter(({ isWorse }) => isWorse)
  say(`${runs.length} runs, ${worse.length} of ${all.length} ratios worse by more than 30 %`)
  if (worse.length > 0) process.exitCode = 1
}

await main()
