// Runs the built product once with the current Node: start on embedded stores in its own folder, a
// session as in the README, refusals, metrics, the balance, the end. Prints one line per check and
// exits with 1 if one failed; --json FILE writes the results in the format of vitest.
//
//   npx -y -p node@24 node scripts/smoke.mjs [--node MAJOR] [--json FILE]
//
// --node MAJOR: fails if another version of Node runs it.
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { check, expectEqual, results, say, within, writeResults } from './checks.mjs'
import { provideRedis } from './provide-redis.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const BIN = join(ROOT, 'bin/tollgate.mjs')
const START_MS = 60_000
const END_MS = 20_000
const MIB = 1024 * 1024

/** Major versions of Node for which uWebSockets.js has a binary. */
const NATIVE_NODES = [20, 22]

/** Starts everything; `addresses` resolves when the product prints its addresses. */
function startProduct(env) {
  const child = spawn(process.execPath, [BIN, 'start'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const ended = new Promise((resolve) => child.once('close', (code) => resolve(code)))
  const addresses = new Promise((resolve, reject) => {
    const read = (bytes) => {
      output += bytes
      const realtime = /charging +(http:\/\/[^/\s]+)\/realtime/.exec(output)?.[1]
      const admin = /metrics +(http:\/\/[^/\s]+)\/metrics/.exec(output)?.[1]
      if (realtime && admin && output.includes('balance show')) resolve({ realtime, admin })
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    ended.then((code) => reject(new Error(`it ended with code ${code}:\n${output}`)))
  })
  return { child, ended, addresses, output: () => output }
}

function command(env, ...args) {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [BIN, ...args], { env }, (error, stdout, stderr) =>
      error ? reject(new Error(`${args.join(' ')}: ${stderr}${stdout}`)) : resolve(stdout),
    )
  })
}

/** An answer as status and body; connections are kept alive between requests. */
async function ask(url, body, type = 'application/json') {
  const init = body === undefined ? {} : { method: 'POST', body, headers: { 'Content-Type': type } }
  const response = await within(10_000, url, fetch(url, init))
  return { status: response.status, text: await response.text() }
}

async function checkSession({ realtime }, env) {
  const session = { session_id: 'smoke-1', sid: 1001, usaget: 'data', rating_group: 10 }
  const steps = [
    { record_type: 'start_request', request_num: 0, usagev: 10 * MIB },
    { record_type: 'update_request', request_num: 1, used_usagev: 8 * MIB, usagev: 10 * MIB },
    { record_type: 'release_request', request_num: 2, used_usagev: 3 * MIB },
  ]
  let last
  for (const step of steps) {
    await check(`${step.record_type} is granted`, async () => {
      last = { body: JSON.stringify({ ...session, ...step }) }
      const { status, text } = await ask(`${realtime}/realtime?file_type=json`, last.body)
      last.text = text
      const { returnCode, requestNum, grantedVolume } = JSON.parse(text)
      const expected = [200, 1, step.request_num, step.usagev ?? 0]
      expectEqual('answer', [status, returnCode, requestNum, grantedVolume], expected)
    })
  }
  await check('a repeated request receives the same bytes', async () => {
    expectEqual('answer', (await ask(`${realtime}/realtime`, last.body)).text, last.text)
  })
  await check('the balance shows the units used by the session', async () => {
    const shown = JSON.parse(await command(env, 'balance', 'show', '--sid', '1001', '--json'))
    const { spent, reserved } = shown.buckets.find(({ name }) => name === 'DATA_PACK')
    expectEqual('spent and reserved', [spent, reserved], [11 * MIB, 0])
  })
  await check('the audit finds no difference', () => command(env, 'audit'))
}

async function checkServer(output) {
  const isNative = NATIVE_NODES.includes(Number(process.versions.node.split('.')[0]))
  await check(`HTTP is served ${isNative ? 'by uWebSockets.js' : 'in JavaScript'}`, async () => {
    const isReported = output.includes('no binary of uWebSockets.js for this Node')
    expectEqual('whether it says that it has no binary', isReported, !isNative)
  })
}

async function checkRefusals({ realtime }) {
  const url = `${realtime}/realtime`
  const refusals = [
    ['malformed: 400', 400, () => ask(url, '{"record_type":')],
    ['a body that is too long: 413', 413, () => ask(url, 'x'.repeat(70_000))],
    ['an unknown path: 404', 404, () => ask(`${realtime}/nowhere`, '{}')],
    ['another method: 405', 405, () => ask(url)],
    ['another content type: 415', 415, () => ask(url, '{}', 'text/plain')],
  ]
  for (const [name, expected, send] of refusals) {
    await check(name, async () => {
      const { status, text } = await send()
      expectEqual('status and code', [status, JSON.parse(text).returnCode], [expected, -20])
    })
  }
}

async function checkAdmin({ admin }) {
  await check('health is ready', async () => {
    expectEqual('status', (await ask(`${admin}/health/ready`)).status, 200)
  })
  await check('metrics count the requests', async () => {
    const until = performance.now() + 15_000
    const counted = /tollgate_requests_total\{outcome="granted",code="1",.*\} [3-9]/
    while (!counted.test((await ask(`${admin}/metrics`)).text)) {
      if (performance.now() > until) throw new Error('not counted within 15 s')
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  })
}

async function main() {
  say(`Node ${process.versions.node}`)
  const wanted = process.argv[process.argv.indexOf('--node') + 1]
  if (process.argv.includes('--node')) {
    await check(`runs on Node ${wanted}`, async () => {
      expectEqual('version', process.versions.node.split('.')[0], wanted)
    })
  }
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-smoke-'))
  const settings = {
    TOLLGATE_DATA_DIR: join(folder, 'data'),
    TOLLGATE_REALTIME_PORT: '0',
    TOLLGATE_DIAMETER_PORT: '0',
    TOLLGATE_ADMIN_PORT: '0',
    TOLLGATE_ADMIN_OPEN_TO: 'loopback',
    TOLLGATE_REALTIME_WORKERS: '1',
  }
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('TOLLGATE_'))
  const env = { ...Object.fromEntries(own), ...settings }
  provideRedis({ folder: join(settings.TOLLGATE_DATA_DIR, 'redis'), say })
  const product = startProduct(env)
  try {
    let addresses
    await check('starts on embedded stores', async () => {
      addresses = await within(START_MS, 'start', product.addresses)
    })
    if (addresses === undefined) return
    await checkServer(product.output())
    await checkSession(addresses, env)
    await checkRefusals(addresses)
    await checkAdmin(addresses)
    await check('stops in order on SIGTERM', async () => {
      product.child.kill('SIGTERM')
      expectEqual('exit code', await within(END_MS, 'end', product.ended), 0)
    })
    if (results.numFailedTests > 0) say(product.output())
  } finally {
    if (product.child.exitCode === null) product.child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

await main()
writeResults(`smoke on Node ${process.versions.node}`)
