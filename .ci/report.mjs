// Reads the JSON reports of vitest for .ci/run.
//
// node .ci/report.mjs files FIRST BUDGET
//   prints the test files that failed, or exceed their budget according to the report of the budget
//   reporter, one per line, relative to the working directory; nothing if a whole part exceeds its
//   budget, because no second run would mend that.
// node .ci/report.mjs tally DETAILS FIRST [SECOND]
//   prints "PASSED FAILED". SECOND is the report of the failed files, run a second time alone: a test
//   counts as failed if it failed in both. DETAILS is a file that receives the failed tests of both
//   runs by name, with the first lines of their errors.
// node .ci/report.mjs full-run PASSED
//   records in test/full-run.json that all tests passed at this commit.
import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'

const NONE = { numPassedTests: 0, numFailedTests: 0, testResults: [] }
const LINES_OF_ERROR = 12

const report = (path) => ({ ...NONE, ...parsed(path, {}) })

function parsed(path, otherwise) {
  if (path === undefined || !existsSync(path)) return otherwise
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return otherwise
  }
}

const fileOf = (result) => relative(process.cwd(), result.name)

/** The failed tests of a report as [id, error]; a file that cannot be loaded counts as one. */
function failures(found) {
  return found.testResults.flatMap((result) => {
    const tests = result.assertionResults.filter((test) => test.status === 'failed')
    if (tests.length === 0 && result.status === 'failed') return [[fileOf(result), result.message]]
    return tests.map((test) => [
      `${fileOf(result)} > ${test.fullName}`,
      test.failureMessages.join('\n'),
    ])
  })
}

function note(path, heading, list) {
  for (const [id, error] of list) {
    const lines = (error ?? '').split('\n').slice(0, LINES_OF_ERROR)
    appendFileSync(path, `== ${heading}: ${id}\n${lines.map((line) => `   ${line}\n`).join('')}`)
  }
}

const [command, ...paths] = process.argv.slice(2)
if (command === 'files') {
  const failed = report(paths[0]).testResults.filter((result) => result.status === 'failed')
  const exceeding = parsed(paths[1], []).map(({ path }) => path)
  if (exceeding.every((path) => existsSync(path))) {
    console.log([...new Set([...failed.map(fileOf), ...exceeding])].join('\n'))
  }
} else if (command === 'full-run') {
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim()
  const run = { commit, date: new Date().toISOString(), passed: Number(paths[0]) }
  writeFileSync('test/full-run.json', `${JSON.stringify(run, null, 2)}\n`)
} else {
  const [details, firstPath, secondPath] = paths
  const first = report(firstPath)
  const again = existsSync(secondPath ?? '') ? report(secondPath) : undefined
  const failed = failures(first)
  if (again === undefined) {
    note(details, 'failed', failed)
    console.log(first.numPassedTests, Math.max(failed.length, first.numFailedTests))
  } else {
    const still = failures(again)
    const ids = new Set(still.map(([id]) => id))
    const mended = failed.filter(([id]) => !ids.has(id))
    note(details, 'failed, and passed when its file ran alone', mended)
    note(details, 'failed twice', still)
    console.log(first.numPassedTests + mended.length, still.length)
  }
}
