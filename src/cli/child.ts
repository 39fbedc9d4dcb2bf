/** Child processes of `tollgate start`. */
import { type ChildProcess, fork } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { CommandError, KilledAtStartError } from './errors.ts'
import { BEATS, type BoundPorts, isChildMessage, STANDBY, TAKE_OVER } from './ipc.ts'
import type { Running } from './supervisor.ts'

export interface ChildOptions {
  readonly name: string
  /** A built file. */
  readonly file: URL
  readonly args: readonly string[]
  /** Options of Node. */
  readonly execArgv?: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Receives its output line by line. */
  readonly onLine: (line: string) => void
  readonly startTimeoutMs: number
  /** The child is killed if it has not exited by then. */
  readonly stopTimeoutMs: number
  /** The child is killed if it was silent for so long since its first beat (`beatToParent`). */
  readonly silence?: Silence | undefined
}

interface Silence {
  readonly forMs: number
  /** Called before the child is killed. */
  onKill(): void
}

export interface Child extends Running {
  readonly ports: BoundPorts
}

/** A process that has loaded everything, or is about to, but has not opened its sockets. */
export interface Standby {
  readonly exited: Promise<string>
  /** Kills it immediately; it has no state. */
  stop(): Promise<void>
  /** Tells it to open its sockets. Rejects with `CommandError` if it cannot; it has exited then. */
  takeOver(): Promise<Child>
}

/**
 * Resolves when the process reports that it is ready. Otherwise throws `CommandError` with the
 * reported reason.
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const started = forkChild(options, options.args)
  return childOf(started, await started.waitFor('ready'))
}

/** A standby that cannot be prepared exits. */
export function startStandby(options: ChildOptions): Standby {
  const started = forkChild(options, [...options.args, STANDBY])
  const { process, exited } = started
  const prepared = started.waitFor('prepared')
  prepared.catch(() => undefined)
  return {
    exited,
    async stop() {
      process.kill('SIGKILL')
      await exited
    },
    async takeOver() {
      await prepared
      const ready = started.waitFor('ready')
      process.send(TAKE_OVER)
      return childOf(started, await ready)
    },
  }
}

function childOf({ process, exited, stop }: Forked, ports: BoundPorts): Child {
  return { pid: process.pid, ports, exited, stop }
}

interface Forked {
  readonly process: ChildProcess
  readonly exited: Promise<string>
  stop(): Promise<void>
  /**
   * Resolves when the child sends this message. If it does not, the child is stopped before this
   * rejects.
   */
  waitFor(what: 'ready' | 'prepared'): Promise<BoundPorts>
}

function forkChild(options: ChildOptions, args: readonly string[]): Forked {
  const { name, file, execArgv = [], env, onLine, startTimeoutMs, stopTimeoutMs } = options
  // Own process group: Ctrl-C reaches only this process, which stops the others in order.
  const child = fork(fileURLToPath(file), [...args], {
    env,
    detached: true,
    execArgv: [...execArgv],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface({ input: stream }).on('line', onLine)
  }
  const exited = exitOf(child)
  const watch = options.silence === undefined ? null : killIfSilent(child, options.silence)
  const stop = async () => {
    watch?.end()
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
    await exited
    clearTimeout(timer)
  }
  return {
    process: child,
    exited,
    stop,
    async waitFor(what) {
      try {
        return await awaitMessage(child, exited, what, name, startTimeoutMs)
      } catch (error) {
        await stop()
        throw error
      }
    },
  }
}

function awaitMessage(
  child: ChildProcess,
  exited: Promise<string>,
  awaited: 'ready' | 'prepared',
  name: string,
  timeoutMs: number,
): Promise<BoundPorts> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => reject(new CommandError(`${name}: ${reason}`))
    const timer = setTimeout(() => fail(`not ${awaited} within ${timeoutMs} ms`), timeoutMs)
    const take = (message: unknown) => {
      if (!isChildMessage(message)) return
      if (message.type === 'failed') fail(message.reason)
      else if (message.type === awaited) {
        resolve(message.type === 'ready' ? (message.ports ?? {}) : {})
      } else return
      clearTimeout(timer)
      child.off('message', take)
    }
    child.on('message', take)
    void exited.then((how) => {
      clearTimeout(timer)
      reject(endedAtStart(name, how))
    })
  })
}

type Watched = Pick<ChildProcess, 'on' | 'once' | 'kill'>

/**
 * A frozen process is killed even where it is stopped, and never runs again: what it had not sent
 * is not charged. Ticks are counted, because this process may have been frozen as well.
 */
export function killIfSilent(child: Watched, { forMs, onKill }: Silence): { end(): void } {
  let ticks = 0
  let timer: NodeJS.Timeout | undefined
  let hasEnded = false
  const end = () => {
    hasEnded = true
    clearInterval(timer)
  }
  const tick = () => {
    ticks += 1
    if (ticks <= BEATS) return
    end()
    onKill()
    child.kill('SIGKILL')
  }
  child.on('message', (message) => {
    if (hasEnded || !isChildMessage(message) || message.type !== 'alive') return
    ticks = 0
    timer ??= setInterval(tick, forMs / BEATS).unref()
  })
  child.once('exit', end)
  return { end }
}

/** `how`: the signal, or `code N`. */
export function endedAtStart(name: string, how: string): CommandError {
  const Kind = how.startsWith('SIG') ? KilledAtStartError : CommandError
  return new Kind(`${name}: ended at start, ${how}`)
}

/** Resolves with how the child exited. The child is killed if this process exits first. */
function exitOf(child: ChildProcess): Promise<string> {
  const killWithParent = () => child.kill('SIGKILL')
  process.once('exit', killWithParent)
  return new Promise((resolve) => {
    const settle = (how: string) => {
      process.removeListener('exit', killWithParent)
      resolve(how)
    }
    child.once('exit', (code, signal) => settle(signal === null ? `code ${code}` : signal))
    child.once('error', (error) => {
      if (child.pid === undefined) settle(error.message)
    })
  })
}
