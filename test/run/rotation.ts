/**
 * Costly tests of faults. A landing (`TEST_SET=landing`) runs one fifth of them in turn, and always
 * those that cover a file changed since the last green run of all tests, `test/full-run.json`,
 * which `TEST_SET=full .ci/run` writes. When that run is too far away, it runs all of them.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FULL_RUN = join(ROOT, 'test/full-run.json')
/** The part of the budget that they belong to. */
export const ROTATED_PART = 'system'

/** By paths, balanced by their processor time. */
export const FIFTHS: readonly (readonly string[])[] = [
  ['stop-disk-full', 'entities/kill', 'disk-full', 'outages/mongo'],
  ['events-kill', 'outages/backlog', 'outages/redis', 'outages/clock', 'outages/inline-worker'],
  ['cycle-kill', 'intake-kill', 'outages/worker', 'outages/recorder', 'cycle-disk-full'],
  ['kill', 'diameter/kill', 'soak', 'outages/realtime'],
  ['prepaid-kill', 'kill-full-load', 'billing/kill', 'frozen', 'diameter/outages'],
].map((names) => names.map((name) => `test/system/${name}.test.ts`))

export const ROTATED = FIFTHS.flat()

/** A run of all tests that passed. */
interface FullRun {
  commit: string
  /** Time of its end, ISO 8601. */
  date: string
  passed: number
}

export interface Landing {
  /** First-parent commits up to this one. */
  number: number
  /** Days and commits since the last run of all tests, and the files changed since. */
  days: number
  commits: number
  changed: readonly string[]
}

const DAYS_MAX = 7
const COMMITS_MAX = 150
const DAY_MS = 86_400_000

/** Paths of the rotated files that this landing runs; all if nothing is known about it. */
export function filesOfLanding(
  landing: Landing | undefined,
  coversOf: (path: string) => readonly string[] = coveredBy,
): string[] {
  const isDue = landing === undefined || landing.days > DAYS_MAX || landing.commits > COMMITS_MAX
  return FIFTHS.flatMap((paths, fifth) => {
    if (isDue || fifth === landing.number % FIFTHS.length) return paths
    return paths.filter((path) => {
      const covered = [path, ...coversOf(path)]
      return landing.changed.some((file) => covered.some((prefix) => file.startsWith(prefix)))
    })
  })
}

/** Rotated files that this landing does not run. */
export function skippedByLanding(): string[] {
  const run = new Set(filesOfLanding(currentLanding()))
  return ROTATED.filter((path) => !run.has(path))
}

/** Prefixes of paths in the `// covers:` line of a test file. */
export function coveredBy(path: string): string[] {
  const line = /^\/\/ covers: (.+)$/m.exec(readFileSync(join(ROOT, path), 'utf8'))
  return line?.[1]?.split(' ') ?? []
}

/** Undefined without the history, or without a recorded run in it. */
function currentLanding(): Landing | undefined {
  if (!existsSync(FULL_RUN)) return undefined
  const run = JSON.parse(readFileSync(FULL_RUN, 'utf8')) as FullRun
  try {
    git('merge-base', '--is-ancestor', run.commit, 'HEAD')
    const headMs = Number(git('log', '-1', '--format=%ct')) * 1000
    return {
      number: Number(git('rev-list', '--first-parent', '--count', 'HEAD')),
      days: (headMs - Date.parse(run.date)) / DAY_MS,
      commits: Number(git('rev-list', '--count', `${run.commit}..HEAD`)),
      changed: git('diff', '--name-only', run.commit).split('\n'),
    }
  } catch {
    return undefined
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' }).trim()
}
