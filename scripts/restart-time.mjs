// Downtime of charging after its process is killed: starts the built product on embedded stores in
// its own folder, repeatedly kills the process that has the port (kill -9), and prints the
// milliseconds until a charge is answered with 200, by round.
//
//   node scripts/restart-time.mjs [--rounds 5] [--pause 10000]
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { provideRedis } from './provide-redis.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    // Between two kills, long enough to prepare a standby.
    pause: { type: 'string', default: '10000' },
  },
})
const say = (line) => process.stdout.write(`${line}\n`)

function start(folder) {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('TOLLGATE_REALTIME'))
  const env = {
    ...Object.fromEntries(own),
    TOLLGATE_DATA_DIR: folder,
    TOLLGATE_REALTIME_PORT: '0',
    TOLLGATE_DIAMETER_PORT: '0',
    TOLLGATE_ADMIN_PORT: '0',
  }
  const standby = process.env.TOLLGATE_REALTIME_STANDBY
  if (standby !== undefined) env.TOLLGATE_REALTIME_STANDBY = standby
  const args = [join(ROOT, 'bin/tollgate.mjs'), 'start']
  const child = spawn(process.execPath, args, {
    env,
    stdio: ['ignore', 'pipe', process.env.V ? 'inherit' : 'ignore'],
  })
  let output = ''
  const url = new Promise((resolve, reject) => {
    child.stdout.on('data', (bytes) => {
      output += bytes
      const found = /charging +(http:\/\/[^/\s]+)\/realtime/.exec(output)?.[1]
      if (found && output.includes('balance show')) resolve(found)
    })
    child.once('close', (code) => reject(new Error(`tollgate ended with ${code}: ${output}`)))
  })
  return { child, url }
}

/** The process that listens on a port. */
function listenerOf(port) {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n')
  const fields = rows.map((row) => row.trim().split(/\s+/))
  const listening = fields.find((row) => row[1]?.endsWith(end) && row[3] === '0A')
  const link = `socket:[${listening?.[9]}]`
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .find((pid) => {
      try {
        const folder = `/proc/${pid}/fd`
        return readdirSync(folder).some((fd) => readlinkSync(join(folder, fd)) === link)
      } catch {
        return false
      }
    })
}

let charges = 0
async function isCharged(url) {
  charges += 1
  const session = { record_type: 'event_request', session_id: `restart-${process.pid}-${charges}` }
  try {
    const { status } = await fetch(`${url}/realtime`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...session, sid: 1001, usaget: 'data', usagev: 1 }),
      signal: AbortSignal.timeout(2_000),
    })
    return status === 200
  } catch {
    return false
  }
}

const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-restart-'))
provideRedis({ folder: join(folder, 'redis'), say })
const { child, url } = start(folder)
try {
  const address = await url
  for (let round = 0; round < Number(values.rounds); round += 1) {
    await pause(Number(values.pause))
    while (!(await isCharged(address))) await pause(5)
    const killedMs = performance.now()
    process.kill(listenerOf(Number(new URL(address).port)), 'SIGKILL')
    while (!(await isCharged(address))) await pause(2)
    say(`answers again after ${Math.round(performance.now() - killedMs)} ms`)
  }
} finally {
  child.kill('SIGTERM')
  if (child.exitCode === null) await new Promise((resolve) => child.once('close', resolve))
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
