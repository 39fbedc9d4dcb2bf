/** The built product as a user runs it, on a data folder of its own. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { HOUSE } from '../../house/tree.ts'
import { PATIENT } from '../product/patience.ts'
import { BIN, type Ended, runCommand, runProcess } from '../product/run-command.ts'

const START_TIMEOUT_MS = 180_000
const POLL_MS = 20

export type { Ended }

export interface Product {
  readonly dataDir: string
  /** Runs a command to its end, in this process. */
  run(...args: string[]): Promise<Ended>
  /** Runs a command to its end, as a process. */
  process(...args: string[]): Promise<Ended>
  /** `tollgate start`, or a command in a folder, until it has printed its addresses. */
  start(env?: Record<string, string>, command?: string[], cwd?: string): Promise<Started>
  /** Starts one role on the running stores; resolves when it is ready. */
  role(name: string): Promise<{ signal(name: NodeJS.Signals): void; ended: Promise<Ended> }>
  /** Ends the processes that a failed test has left, and removes the data. */
  close(): Promise<void>
}

export interface Started {
  readonly pid: number
  /** The output so far. */
  output(): string
  readonly realtime: string
  readonly admin: string
  readonly curls: string[]
  /** Its child processes and stores, by role; of two the oldest. */
  children(): Map<string, number>
  signal(name: NodeJS.Signals): void
  /** Nobody reads its output from now on. */
  closeOutput(): void
  readonly ended: Promise<Ended>
}

/** `settings`: TOLLGATE_* variables of all its commands; limits are PATIENT by default. */
export function createProduct(settings: Readonly<Record<string, string>> = {}): Product {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-cli-'))
  const dataDir = join(folder, 'data')
  const env = {
    ...withoutSettings(),
    TOLLGATE_DATA_DIR: dataDir,
    TOLLGATE_REALTIME_PORT: '0',
    TOLLGATE_DIAMETER_PORT: '0',
    TOLLGATE_ADMIN_PORT: '0',
    TOLLGATE_ADMIN_OPEN_TO: 'loopback',
    TOLLGATE_REALTIME_WORKERS: '1',
    TOLLGATE_REDIS_APPENDFSYNC: 'always',
    ...PATIENT,
    ...settings,
  }
  const open: ChildProcess[] = []
  return {
    dataDir,
    run: (...args) => runCommand(args, env),
    process: (...args) => runProcess(args, env),
    async start(
      more = {},
      [command = process.execPath, ...args] = [process.execPath, BIN, 'start'],
      cwd = HOUSE,
    ) {
      const child = spawn(command, args, {
        cwd,
        env: { ...env, ...more },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      open.push(child)
      return started(child, folder)
    },
    async role(name) {
      const args = [BIN, name]
      const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
      open.push(child)
      const { printed, ended } = listenTo(child)
      await until(ended, printed, () => printed.stdout.includes('"ready"'))
      return { signal: (signal) => child.kill(signal), ended }
    },
    async close() {
      for (const child of open) if (child.exitCode === null) child.kill('SIGKILL')
      for (const pid of processesWith(folder)) process.kill(pid, 'SIGKILL')
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

function withoutSettings(): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('TOLLGATE_')),
  )
}

interface Printed {
  stdout: string
  stderr: string
}

function listenTo(child: ChildProcess): { printed: Printed; ended: Promise<Ended> } {
  const printed = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', (bytes: Buffer) => {
      printed[name] += bytes.toString('utf8')
    })
  }
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => resolve({ code, ...printed }))
  })
  return { printed, ended }
}

/** Waits for output of a process; rejects with all its output if it ends or the time is over. */
async function until(
  ended: Promise<Ended>,
  printed: Printed,
  isPrinted: () => boolean,
): Promise<void> {
  let code: number | null | undefined
  void ended.then((end) => {
    code = end.code
  })
  const lastPoll = START_TIMEOUT_MS / POLL_MS
  for (let poll = 0; !isPrinted(); poll += 1) {
    const how = code === undefined ? 'does not start' : `ended with code ${code}`
    if (code !== undefined || poll > lastPoll) {
      throw new Error(`tollgate ${how}:\n${printed.stdout}${printed.stderr}`)
    }
    await delay(POLL_MS)
  }
}

async function started(child: ChildProcess, folder: string): Promise<Started> {
  const { printed, ended } = listenTo(child)
  await until(ended, printed, () => printed.stdout.includes('balance show'))
  const addressOf = (name: string, path: string) =>
    new RegExp(`${name} +(http://[^/\\s]+)${path}`).exec(printed.stdout)?.[1] ?? ''
  return {
    pid: child.pid ?? 0,
    output: () => printed.stdout + printed.stderr,
    realtime: addressOf('charging', '/realtime'),
    admin: addressOf('metrics', '/metrics'),
    curls: printed.stdout.split('\n').filter((line) => line.startsWith('curl ')),
    children: () => childrenOf(child.pid ?? 0, folder),
    signal: (name) => child.kill(name),
    closeOutput() {
      for (const stream of [child.stdout, child.stderr]) stream?.destroy()
    },
    ended,
  }
}

/** Runs a line in a shell. */
export function shell(line: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('sh', ['-c', line], (error, stdout) => (error ? reject(error) : resolve(stdout)))
  })
}

export function isAlive(pid: number): boolean {
  const stat = textOf(`/proc/${pid}/stat`)
  return stat !== '' && !/\) Z /.test(stat)
}

/** Child processes of a role, the oldest first. */
export function rolesOf(parent: number, role: string): number[] {
  return oldestFirst(parent).filter((pid) =>
    textOf(`/proc/${pid}/cmdline`).includes(`role-process.js\0${role}`),
  )
}

/**
 * The oldest of each role, because the standby of charging is younger; and the stores of the
 * folder, which an earlier start may have left running.
 */
function childrenOf(parent: number, folder: string): Map<string, number> {
  const children = new Map<string, number>()
  for (const pid of oldestFirst(parent)) {
    const command = textOf(`/proc/${pid}/cmdline`)
    const role = /role-process\.js\0(\w+)/.exec(command)?.[1]
    const name = role ?? storeOf(command) ?? command
    if (!children.has(name)) children.set(name, pid)
  }
  for (const pid of processesWith(folder)) {
    const store = storeOf(textOf(`/proc/${pid}/cmdline`))
    if (store !== undefined && !children.has(store)) children.set(store, pid)
  }
  return children
}

function storeOf(command: string): string | undefined {
  return /redis-server|mongo/.exec(command)?.[0]
}

/** Child processes in the order of their starts, which is not that of their numbers. */
function oldestFirst(parent: number): number[] {
  const startOf = (pid: number) => {
    const fields = textOf(`/proc/${pid}/stat`).split(') ')[1]?.split(' ') ?? []
    return { ppid: Number(fields[1]), startedAt: Number(fields[19]) }
  }
  return processes()
    .map((pid) => ({ pid, ...startOf(pid) }))
    .filter(({ ppid }) => ppid === parent)
    .sort((a, b) => a.startedAt - b.startedAt)
    .map(({ pid }) => pid)
}

/** Processes whose command line names a folder. */
export function processesWith(folder: string): number[] {
  return processes().filter(
    (pid) => pid !== process.pid && textOf(`/proc/${pid}/cmdline`).includes(folder) && isAlive(pid),
  )
}

function processes(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger)
}

function textOf(path: string): string {
  try {
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  } catch {
    return ''
  }
}
