// Checks for scripts that run the product from outside: one line each, and a summary in the format
// of vitest's JSON reporter for .ci/run.
import { writeFileSync } from 'node:fs'

export const results = { numPassedTests: 0, numFailedTests: 0 }

export const say = (line) => process.stdout.write(`${line}\n`)

/** Runs one check and prints its name and the reason if it failed. Later checks run in any case. */
export async function check(name, work) {
  try {
    await work()
    results.numPassedTests += 1
    say(`ok      ${name}`)
  } catch (error) {
    results.numFailedTests += 1
    say(`FAILED  ${name}: ${error.message}`)
  }
}

export function expectEqual(what, actual, expected) {
  const [got, wanted] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (got !== wanted) throw new Error(`${what} is ${got}, not ${wanted}`)
}

export function within(ms, what, promise) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${ms / 1000} s`)), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Prints the summary, writes it to the file of `--json FILE`, and sets the exit code. */
export function writeResults(title) {
  const at = process.argv.indexOf('--json')
  if (at > 0) writeFileSync(process.argv[at + 1], JSON.stringify(results))
  say(`${title}: ${JSON.stringify(results)}`)
  process.exitCode = results.numFailedTests > 0 ? 1 : 0
}
