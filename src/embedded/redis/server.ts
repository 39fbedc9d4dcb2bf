/**
 * A redis-server process: a child of this process, or one that an earlier owner has left running.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { NobodyListensError, sendCommand } from './send-command.ts'

export type RedisExit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

export interface RedisServer {
  readonly pid: number
  /** Code and signal are unknown if the server was adopted. */
  readonly exited: Promise<RedisExit>
  /** Null while it runs. */
  exit(): RedisExit | null
  kill(): void
  /** Detaches from the server: this process can end while the server keeps running. */
  release(): void
}

/** Output before the server opened its log file, for example about an unknown setting. */
export interface RedisChild extends RedisServer {
  output(): string
}

const OUTPUT_CHARS_MAX = 4096
const REPLY_MS = 2_000
const POLL_MS = 10

export function spawnRedis(
  command: string,
  args: readonly string[],
  environment: { env: NodeJS.ProcessEnv },
): RedisChild {
  // In its own process group: Ctrl-C in a terminal signals the whole group of the owner, and Redis
  // has to keep running until the owner has drained.
  const child = spawn(command, args, {
    ...environment,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  const outputs = [child.stdout, child.stderr]
  for (const output of outputs) {
    output.on('data', (bytes: Buffer) => {
      text = (text + bytes.toString('utf8')).slice(-OUTPUT_CHARS_MAX)
    })
  }
  return {
    pid: child.pid ?? 0,
    ...trackExit(endOf(child)),
    output: () => text.trim(),
    kill: () => child.kill('SIGKILL'),
    release() {
      for (const output of outputs) output.destroy()
      child.unref()
    },
  }
}

/** A running server that is reached through a socket. It has ended when a connection to it ends. */
export function adoptServer(pid: number, socketPath: string): RedisServer {
  const holding = new AbortController()
  return {
    pid,
    ...trackExit(waitUntilClosed(socketPath, holding.signal)),
    kill: () => process.kill(pid, 'SIGKILL'),
    release: () => holding.abort(),
  }
}

function trackExit(exited: Promise<RedisExit>): Pick<RedisServer, 'exited' | 'exit'> {
  let exit: RedisExit | null = null
  void exited.then((how) => {
    exit = how
  })
  return { exited, exit: () => exit }
}

function endOf(child: ChildProcess): Promise<RedisExit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', () => {
      if (child.pid === undefined) resolve({ code: null, signal: null })
    })
  })
}

/** Resolves when no process listens on the socket any more; never if it is aborted before. */
async function waitUntilClosed(socketPath: string, signal: AbortSignal): Promise<RedisExit> {
  for (;;) {
    await connectionEnd(socketPath, signal)
    if (signal.aborted) return new Promise(() => undefined)
    const reply = await sendCommand(socketPath, ['PING'], REPLY_MS).catch((error: unknown) => error)
    if (reply instanceof NobodyListensError) return { code: null, signal: null }
    await delay(POLL_MS)
  }
}

function connectionEnd(socketPath: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(socketPath)
    const destroy = () => socket.destroy()
    signal.addEventListener('abort', destroy, { once: true })
    socket.on('error', destroy)
    socket.once('close', () => {
      signal.removeEventListener('abort', destroy)
      resolve()
    })
    socket.resume()
  })
}
