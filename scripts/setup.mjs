// Prepares a fresh clone, at almost no cost if nothing is missing: checks Node, installs the
// dependencies, builds, and provides Redis. Needs nothing but Node itself.
//
//   node scripts/setup.mjs [--development]
//
// --development: also the packages that tests, checks and benchmarks need.
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { provideRedis } from './provide-redis.mjs'

const NODE_MIN = [20, 19]
/** Inputs of a build. */
const BUILD_INPUTS = [
  ...['src', 'bench', 'config', 'packages/embedded-mongo/src', 'packages/console/src'],
  ...['scripts/build.mjs', 'scripts/bundle.mjs', 'scripts/console.mjs'],
  ...['packages/embedded-mongo/package.json', 'node_modules/.package-lock.json'],
]
/** The only package of development that a build needs. */
const BUNDLER = 'rolldown'

/** A step of the set-up failed; the message names it and the remedy. */
export class SetupError extends Error {
  name = 'SetupError'
}

/** @throws SetupError if this Node is too old */
export function checkNode(version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number)
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return
  const wanted = NODE_MIN.join('.')
  throw new SetupError(`Node ${version} is too old: Tollgate needs ${wanted} or newer`)
}

/**
 * True if node_modules contains what package-lock.json requires, according to npm's own record
 * there: all of it, or without `development` what a start needs. Modification times are no help: a
 * checkout makes an unchanged lock file new.
 */
export function dependenciesMatch(lock, installed, { development }) {
  const isWanted = ([path, entry]) =>
    path !== '' && (development || !entry.dev || path === `node_modules/${BUNDLER}`)
  const wanted = Object.entries(lock.packages).filter(isWanted)
  const present = installed.packages
  const missing = wanted.some(([path, entry]) => !present[path] && !entry.optional)
  if (missing) return false
  return Object.entries(present).every(([path, entry]) => {
    const asked = lock.packages[path]
    // A lock file written on one system may lack the optional packages of another.
    if (asked === undefined) return entry.optional === true
    return asked.version === entry.version && asked.integrity === entry.integrity
  })
}

const lockOf = (root) => JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))

function hasDependencies(root, options) {
  const record = join(root, 'node_modules/.package-lock.json')
  if (!existsSync(record)) return false
  return dependenciesMatch(lockOf(root), JSON.parse(readFileSync(record, 'utf8')), options)
}

function installDependencies(root, options, say) {
  if (hasDependencies(root, options)) return
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  if (options.development) installAll(root, quiet, say)
  else installForStart(root, quiet, say)
  if (!hasDependencies(root, options)) {
    throw new SetupError('package-lock.json does not fit package.json: run npm install')
  }
}

/** npm keeps to the lock file, and the bundler counts as a dependency of this run only. */
function installForStart(root, quiet, say) {
  const { version } = lockOf(root).packages[`node_modules/${BUNDLER}`]
  say('Dependencies: npm install --omit=dev')
  const kind = ['--no-save', '--omit=dev', '--save-prod']
  run('npm', ['install', ...kind, `${BUNDLER}@${version}`, ...quiet], root, 'npm install')
}

function installAll(root, quiet, say) {
  say('Dependencies: npm ci')
  const ci = spawnSync('npm', ['ci', ...quiet], { cwd: root, encoding: 'utf8' })
  if (ci.error) throw new SetupError(`npm cannot be run: ${ci.error.message}`)
  if (ci.status === 0) return
  if (!ci.stderr.includes('EUSAGE')) {
    throw new SetupError(`npm ci failed:\n${ci.stderr.trim()}`)
  }
  // npm 11 requires the optional packages of every system in the lock file, npm 10 does not.
  say('Dependencies: this npm wants more in the lock file; npm install --no-save')
  run('npm', ['install', '--no-save', ...quiet], root, 'npm install')
}

/**
 * Latest change of a file or folder, in ms. A folder changes when a file in it is added or removed.
 */
function changedMs(path) {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) return 0
  if (!found.isDirectory()) return found.mtimeMs
  return readdirSync(path).reduce(
    (latest, name) => Math.max(latest, changedMs(join(path, name))),
    found.mtimeMs,
  )
}

export function isBuildCurrent(root) {
  const stamp = changedMs(join(root, 'dist/.stamp'))
  return stamp > 0 && BUILD_INPUTS.every((name) => changedMs(join(root, name)) <= stamp)
}

function build(root, say) {
  if (isBuildCurrent(root)) return
  say('Build: bundling src and bench')
  // Files changed during the build are newer than the stamp.
  const begun = new Date()
  run(process.execPath, [join(root, 'scripts/build.mjs')], root, 'the build')
  const stamp = join(root, 'dist/.stamp')
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, '')
  utimesSync(stamp, begun, begun)
}

/** Progress of the step goes to standard error, which keeps standard output short. */
function run(command, parameters, cwd, step) {
  const ran = spawnSync(command, parameters, { cwd, stdio: ['ignore', 2, 2] })
  if (ran.error) throw new SetupError(`${step} cannot be run: ${ran.error.message}`)
  if (ran.status !== 0) throw new SetupError(`${step} failed; the reason is above`)
}

/** All steps in order. Executes and reports only missing ones. */
export function setUp(root, options, say) {
  checkNode()
  installDependencies(root, options, say)
  build(root, say)
  provideRedis({ folder: join(root, 'data/redis'), say })
}

function main() {
  const root = dirname(dirname(fileURLToPath(import.meta.url)))
  try {
    const development = process.argv.includes('--development')
    setUp(root, { development }, (line) => process.stdout.write(`${line}\n`))
  } catch (error) {
    const named = error instanceof SetupError || error?.name === 'RedisUnavailableError'
    process.stderr.write(`${named ? `${error.name}: ${error.message}` : error.stack}\n`)
    process.exitCode = 1
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main()
