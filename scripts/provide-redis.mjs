// Provides a redis-server without installing one: from the PATH, from an earlier run, or from the
// packages of Debian or Ubuntu, unpacked into a folder of the product. src/embedded/redis/find.ts
// reads the redis.json written here.
//
//   node scripts/provide-redis.mjs FOLDER
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const VERSION_MIN = [6, 2]
/** In Debian redis-server is a link to a program in redis-tools. */
const SERVER_PACKAGES = ['redis-server', 'redis-tools']
const SERVER_PATHS = ['usr/bin/redis-server', 'usr/bin/redis-check-rdb']
/** Packages of the base system: another version of them next to it would not run. */
const BASE_PACKAGES = new Set(['libc6', 'libgcc-s1', 'libcrypt1'])
const DEPENDENCY_ROUNDS_MAX = 5
const APT_TIMEOUT_MS = 300_000

/** No usable redis-server was found or provided. The message contains the command to run. */
export class RedisUnavailableError extends Error {
  name = 'RedisUnavailableError'
}

/**
 * Ensures that a redis-server >= 6.2 can be run, and returns how.
 * @param {{ folder: string, say: (line: string) => void }} options folder: where to unpack
 * @returns {{ server: string, version: string, libraryPath: string[] }}
 */
export function provideRedis({ folder, say }) {
  const onPath = usable('redis-server', [])
  if (onPath.ok) return { server: 'redis-server', version: onPath.version, libraryPath: [] }
  const earlier = unpackedEarlier(folder)
  if (earlier) return earlier
  if (!hasProgram('apt-get') || !hasProgram('dpkg-deb')) throw unavailable(onPath.problem)
  say(`Redis: ${onPath.problem} on the PATH; unpacking Debian's packages in ${folder}`)
  mkdirSync(folder, { recursive: true })
  const workDir = join(folder, `unpacking-${process.pid}`)
  try {
    const unpacked = unpack(folder, workDir, say)
    say(`Redis: ${unpacked.version} ready`)
    return unpacked
  } finally {
    rmSync(workDir, { recursive: true, force: true })
  }
}

function unpackedEarlier(folder) {
  try {
    const record = JSON.parse(readFileSync(join(folder, 'redis.json'), 'utf8'))
    const libraryPath = record.libraryPath.map((name) => join(folder, name))
    const server = join(folder, record.server)
    const found = usable(server, libraryPath)
    return found.ok ? { server, version: found.version, libraryPath } : undefined
  } catch {
    // Missing or incomplete: unpacked again.
    return undefined
  }
}

/** Runs `--version`, which also proves that every library is found. */
function usable(server, libraryPath) {
  const asked = spawnSync(server, ['--version'], { encoding: 'utf8', ...environment(libraryPath) })
  if (asked.error || asked.status !== 0) {
    // A folder of the PATH without access counts as missing.
    const missing = ['ENOENT', 'EACCES'].includes(asked.error?.code)
    const cause = asked.error?.message ?? asked.stderr.trim()
    return { ok: false, problem: missing ? 'no redis-server' : `redis-server fails (${cause})` }
  }
  const version = /\bv=(\d+\.\d+\.\d+)/.exec(asked.stdout)?.[1]
  if (isEnough(version)) return { ok: true, version }
  const wanted = VERSION_MIN.join('.')
  return { ok: false, problem: `redis-server ${version ?? 'of unknown version'} (needs ${wanted})` }
}

export function isEnough(version) {
  if (version === undefined) return false
  const [major, minor] = version.split('.').map(Number)
  return major > VERSION_MIN[0] || (major === VERSION_MIN[0] && minor >= VERSION_MIN[1])
}

function environment(libraryPath) {
  if (libraryPath.length === 0) return {}
  return { env: { ...process.env, LD_LIBRARY_PATH: libraryPath.join(delimiter) } }
}

function unpack(folder, workDir, say) {
  const root = join(workDir, 'root')
  mkdirSync(root, { recursive: true })
  const apt = aptIn(workDir, say)
  const problem = apt.download(SERVER_PACKAGES, root)
  if (problem) throw unavailable(problem)
  const server = SERVER_PATHS.find((path) => existsSync(join(root, path)))
  if (!server) throw unavailable("Debian's packages hold no redis-server")
  addLibraries(apt, root, server)
  const found = usable(join(root, server), libraryFolders(root))
  if (!found.ok) throw unavailable(`the unpacked ${found.problem}`)
  return keep(folder, root, server, found.version)
}

/**
 * Moves the unpacked files to their place and records them last, so that an aborted run leaves
 * nothing.
 */
function keep(folder, root, server, version) {
  const name = `redis-${version}`
  const place = join(folder, name)
  rmSync(place, { recursive: true, force: true })
  renameSync(root, place)
  const libraryPath = libraryFolders(place)
  const record = {
    version,
    server: join(name, server),
    libraryPath: libraryPath.map((path) => relative(folder, path)),
  }
  const draft = join(folder, `redis.json.${process.pid}`)
  writeFileSync(draft, `${JSON.stringify(record, null, 2)}\n`)
  renameSync(draft, join(folder, 'redis.json'))
  return { server: join(place, server), version, libraryPath }
}

/** Adds the packages of missing libraries. */
function addLibraries(apt, root, server) {
  let parents = SERVER_PACKAGES
  const seen = new Set([...SERVER_PACKAGES, ...BASE_PACKAGES])
  for (let round = 0; round < DEPENDENCY_ROUNDS_MAX; round++) {
    if (missingLibraries(root, server).length === 0) return
    const wanted = apt.dependencies(parents).filter((name) => !seen.has(name) && !installed(name))
    for (const name of wanted) seen.add(name)
    // Each on its own: of alternatives, one is enough, and completeness is checked again above.
    parents = wanted.filter((name) => apt.download([name], root) === undefined)
    if (parents.length === 0) break
  }
  const missing = missingLibraries(root, server)
  if (missing.length > 0) throw unavailable(`no package found for ${missing.join(', ')}`)
}

function missingLibraries(root, server) {
  const options = { encoding: 'utf8', ...environment(libraryFolders(root)) }
  const { stdout } = spawnSync('ldd', [join(root, server)], options)
  return [...(stdout ?? '').matchAll(/^\s*(\S+) => not found/gm)].map((match) => match[1])
}

/** Every folder under lib and usr/lib that holds a shared library. */
function libraryFolders(root) {
  const found = new Set()
  for (const base of ['usr/lib', 'lib']) {
    if (!existsSync(join(root, base))) continue
    for (const entry of readdirSync(join(root, base), { recursive: true })) {
      if (/\.so(\.\d+)*$/.test(entry)) found.add(dirname(join(root, base, entry)))
    }
  }
  return [...found].sort()
}

function installed(name) {
  const { stdout } = spawnSync('dpkg', ['--status', name], { encoding: 'utf8' })
  return (stdout ?? '').includes('\nStatus: install ok installed\n')
}

/**
 * apt with the sources and proxies of the machine, writing to the product's folder only. The
 * machine's own package lists are tried first; if they are missing or outdated, lists are fetched
 * into the product's folder.
 */
function aptIn(workDir, say) {
  let options = aptOptions(workDir, [])
  let listsAreOurs = false
  const fetchLists = () => {
    listsAreOurs = true
    const lists = join(workDir, 'lists')
    mkdirSync(join(lists, 'partial'), { recursive: true })
    options = aptOptions(workDir, [`Dir::State::lists "${lists}";`])
    say('Redis: fetching package lists')
    // One unreachable source is not fatal: the download fails if it matters.
    return run('apt-get', [...options, '-qq', 'update'], workDir).problem
  }
  const tryDownload = (names, root) => {
    const dir = join(workDir, 'packages')
    mkdirSync(dir, { recursive: true })
    const { ok, problem } = run('apt-get', [...options, '-q', 'download', ...names], dir)
    for (const file of readdirSync(dir)) {
      if (ok) run('dpkg-deb', ['-x', file, root], dir)
      rmSync(join(dir, file), { recursive: true })
    }
    return ok ? undefined : problem
  }
  return {
    /** Downloads packages and unpacks them into root. Returns the error, if any. */
    download(names, root) {
      const failed = tryDownload(names, root)
      if (failed === undefined || listsAreOurs) return failed
      const listsSaid = fetchLists()
      const failedAgain = tryDownload(names, root)
      return failedAgain === undefined ? undefined : `${failedAgain} (${listsSaid})`
    },
    dependencies(names) {
      const { stdout } = spawnSync('apt-cache', [...options, 'depends', ...names], {
        encoding: 'utf8',
      })
      return [...(stdout ?? '').matchAll(/^ {1,3}\|?(?:Pre)?Depends: ((?:lib|lua)\S+)$/gm)].map(
        (match) => match[1],
      )
    },
  }
}

/** A separate configuration file, read last: hooks of the machine's own updates must not run. */
function aptOptions(workDir, lines) {
  const cache = join(workDir, 'cache')
  mkdirSync(join(cache, 'archives/partial'), { recursive: true })
  const file = join(workDir, 'apt.conf')
  const all = [
    '#clear APT::Update::Pre-Invoke;',
    '#clear APT::Update::Post-Invoke;',
    '#clear APT::Update::Post-Invoke-Success;',
    `Dir::Cache "${cache}";`,
    'Acquire::Languages "none";',
    'Acquire::Retries "2";',
    'Acquire::http::Timeout "30";',
    'Acquire::https::Timeout "30";',
    // Root would delegate downloads to a user without access to this folder.
    ...(process.getuid?.() === 0 ? ['APT::Sandbox::User "root";'] : []),
    ...lines,
  ]
  writeFileSync(file, `${all.join('\n')}\n`)
  return ['-c', file]
}

/** Result of a command, with its first errors and warnings. */
function run(command, parameters, cwd) {
  const ran = spawnSync(command, parameters, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
    timeout: APT_TIMEOUT_MS,
  })
  const ok = ran.error === undefined && ran.status === 0
  const lines = `${ran.stderr ?? ''}`.split('\n').filter((line) => /^(E|W|dpkg\S*):/.test(line))
  return { ok, problem: lines.slice(0, 2).join(' ') || (ran.error?.message ?? `${command} failed`) }
}

function hasProgram(name) {
  return spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined
}

function unavailable(problem) {
  const installers = [
    ['apt-get', 'sudo apt-get update && sudo apt-get install -y redis-server'],
    ['brew', 'brew install redis'],
    ['dnf', 'sudo dnf install -y redis'],
    ['apk', 'sudo apk add redis'],
  ]
  const command = installers.find(([name]) => hasProgram(name))?.[1]
  const advice = command ? `run: ${command}` : 'install Redis with your package manager'
  return new RedisUnavailableError(
    `no redis-server >= ${VERSION_MIN.join('.')}: ${problem}.\nTo have one, ${advice}`,
  )
}

function main(folder) {
  if (folder === undefined) throw new Error('node scripts/provide-redis.mjs FOLDER')
  provideRedis({ folder: resolve(folder), say: (line) => process.stdout.write(`${line}\n`) })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    main(process.argv[2])
  } catch (error) {
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}
