/** A process that `tollgate start` has started and answers for. */
import { type ChildProcess, fork } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { CommandError } from './errors.ts'
import { isChildMessage, type TakenPorts } from './ipc.ts'
import type { Running } from './keeper.ts'

export interface ChildOptions {
  readonly name: string
  /** A built module. */
  readonly file: URL
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** What it writes, line by line. */
  readonly onLine: (line: string) => void
  readonly startTimeoutMs: number
  /** After so long without an orderly end it is killed. */
  readonly stopTimeoutMs: number
}

export interface Child extends Running {
  readonly ports: TakenPorts
}

/**
 * Resolves when the process says that it is ready. Throws `CommandError` with what it says
 * else.
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { name, file, args, env, onLine, startTimeoutMs, stopTimeoutMs } = options
  // A process group of its own: Ctrl-C reaches this process only, which ends the others in order.
  const child = fork(fileURLToPath(file), [...args], {
    env,
    detached: true,
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface({ input: stream }).on('line', onLine)
  }
  const exited = exitOf(child)
  const stop = async () => {
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
    await exited
    clearTimeout(timer)
  }
  try {
    const ports = await readiness(child, exited, name, startTimeoutMs)
    return { pid: child.pid, ports, exited, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function readiness(
  child: ChildProcess,
  exited: Promise<string>,
  name: string,
  timeoutMs: number,
): Promise<TakenPorts> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => reject(new CommandError(`${name}: ${reason}`))
    const timer = setTimeout(() => fail(`not ready within ${timeoutMs} ms`), timeoutMs)
    child.on('message', (message) => {
      if (!isChildMessage(message)) return
      clearTimeout(timer)
      if (message.type === 'ready') resolve(message.ports ?? {})
      else fail(message.reason)
    })
    void exited.then((how) => {
      clearTimeout(timer)
      fail(`ended at start, ${how}`)
    })
  })
}

/** How the process ended. If this one ends first, in any way that it notices, it takes it along. */
function exitOf(child: ChildProcess): Promise<string> {
  const endTogether = () => child.kill('SIGKILL')
  process.once('exit', endTogether)
  return new Promise((resolve) => {
    const settle = (how: string) => {
      process.removeListener('exit', endTogether)
      resolve(how)
    }
    child.once('exit', (code, signal) => settle(signal === null ? `code ${code}` : signal))
    child.once('error', (error) => {
      if (child.pid === undefined) settle(error.message)
    })
  })
}
