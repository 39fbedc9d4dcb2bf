// Follows README.md in a fresh clone, as on a new machine: `npm start`, the three lines that it
// prints, the commands of "Start it", and the end. The clone is of the last commit. Prints one line
// per check and exits with 1 if one failed; --json FILE writes the results in the format of vitest.
//
//   node scripts/newcomer.mjs [--json FILE]
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { check, expectEqual, results, say, within, writeResults } from './checks.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
/** The first start installs packages, builds, and unpacks Redis. */
const START_MS = 600_000
const COMMAND_MS = 60_000
const END_MS = 60_000

/** Free ports, because those of README.md may be in use on a CI machine. */
const PORTS = { REALTIME: '0', DIAMETER: '0', ADMIN: '0' }

function environment() {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('TOLLGATE_'))
  const ports = Object.entries(PORTS).map(([role, port]) => [`TOLLGATE_${role}_PORT`, port])
  return Object.fromEntries([...own, ...ports])
}

function run(command, args, cwd) {
  return new Promise((resolve, reject) => {
    const options = { cwd, env: environment(), timeout: COMMAND_MS }
    execFile(command, args, options, (error, stdout, stderr) =>
      error
        ? reject(new Error(`${command} ${args.join(' ')}: ${stderr}${stdout}`))
        : resolve(stdout),
    )
  })
}

/** The commands in the `sh` blocks of a section of README.md, in order. */
function commandsOf(clone, heading) {
  const text = readFileSync(join(clone, 'README.md'), 'utf8')
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  const blocks = [...section.matchAll(/^```sh\n([\s\S]*?)\n```$/gm)].map(([, block]) => block)
  return blocks.flatMap((block) => block.split('\n')).map((line) => line.replace(/\s+#.*$/, ''))
}

/** The receiver of notifications, in the second terminal of README.md. */
function startReceiver(clone, command) {
  const options = { cwd: clone, env: environment(), stdio: ['ignore', 'pipe', 'pipe'] }
  const child = spawn('sh', ['-c', command], { ...options, detached: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes) => {
      output += bytes
    })
  }
  const isEnded = () => child.exitCode !== null || child.signalCode !== null
  const printed = async (text) => {
    while (!output.includes(text)) {
      if (isEnded()) throw new Error(`the receiver has ended:\n${output}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  return { printed, stop: () => isEnded() || process.kill(-child.pid, 'SIGTERM') }
}

/** Resolves when the receiver has printed the event that the session has made. */
async function notified(clone, receiver) {
  const list = 'npm run -s tollgate -- event list --sid 1001 --code DATA_10_MIB --json'
  let events = []
  while (events.length === 0) events = JSON.parse(await run('sh', ['-c', list], clone))
  await receiver.printed(`"${events[0].stamp}"`)
}

/** `ready` resolves when the three lines to paste and the line after them are printed. */
function start(clone, command) {
  const options = { cwd: clone, env: environment(), stdio: ['ignore', 'pipe', 'pipe'] }
  // A separate process group, so that a signal reaches the children of npm, as Ctrl-C does.
  const child = spawn('sh', ['-c', command], { ...options, detached: true })
  let output = ''
  const ended = new Promise((resolve) => child.once('close', (code) => resolve(code)))
  const ready = new Promise((resolve, reject) => {
    const read = (bytes) => {
      output += bytes
      if (output.includes('Its balances:')) resolve(output)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    ended.then((code) => reject(new Error(`it ended with code ${code}:\n${output}`)))
  })
  return { ready, ended, output: () => output, signal: (name) => process.kill(-child.pid, name) }
}

async function follow(clone) {
  const [startCommand, ...commands] = commandsOf(clone, 'Start it')
  await check('README.md begins with npm start', async () => {
    expectEqual('the first command', startCommand, 'npm start')
  })
  const product = start(clone, startCommand)
  let output
  await check('npm start is ready', async () => {
    output = await within(START_MS, 'npm start', product.ready)
  })
  if (output === undefined) return product.signal('SIGKILL')
  const receiver = startReceiver(
    clone,
    commands.find((line) => line.startsWith('npx ')),
  )
  await check('the receiver is ready', () =>
    within(COMMAND_MS, 'the receiver', receiver.printed('receiving notifications')),
  )
  const printed = output.split('\n').filter((line) => line.startsWith('curl '))
  expectEqual('lines to paste', printed.length, 3)
  for (const [number, line] of printed.entries()) {
    await check(`line ${number + 1} to paste is granted`, async () => {
      const { returnCode, requestNum } = JSON.parse(await run('sh', ['-c', line], clone))
      expectEqual('return code and number', [returnCode, requestNum], [1, number])
    })
  }
  for (const command of commands.filter((line) => line.startsWith('npm run -s tollgate'))) {
    await check(command, () => run('sh', ['-c', command], clone))
  }
  await check('the receiver prints the event of the session', () =>
    within(COMMAND_MS, 'the notification', notified(clone, receiver)),
  )
  receiver.stop()
  await check('stops in order', async () => {
    product.signal('SIGINT')
    await within(END_MS, 'the end', product.ended)
  })
  if (results.numFailedTests > 0) say(product.output())
}

const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-newcomer-'))
try {
  const clone = join(folder, 'tollgate')
  await run('git', ['clone', '-q', ROOT, clone], folder)
  await follow(clone)
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
writeResults('newcomer')
