/** Runs commands of the built product, in this process or as processes of their own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import type { main } from '../../../src/main.ts'
import { ROOT } from './product.ts'

export const BIN = join(ROOT, 'bin/tollgate.mjs')
/** The module that bin/tollgate.mjs runs. */
const MAIN = pathToFileURL(join(ROOT, 'dist/src/main.js')).href

export interface Ended {
  /** Null if a signal ended it. */
  code: number | null
  stdout: string
  stderr: string
}

/** The result of a command that ended by itself. */
export interface Completed extends Ended {
  code: number
}

export interface Begun {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
}

export type Settings = Readonly<Record<string, string | undefined>>

/**
 * Runs a command in this process, which costs a tenth of a process. For those that end by
 * themselves; relative paths are those of this process.
 */
export async function runCommand(
  args: readonly string[],
  environment: Settings,
  input = '',
): Promise<Completed> {
  const product: { main: typeof main } = await import(/* @vite-ignore */ MAIN)
  const stdout = new Collected()
  const stderr = new Collected()
  const streams = {
    stdin: Readable.from(input.length === 0 ? [] : [Buffer.from(input)]),
    stdout,
    stderr,
  }
  const code = await product.main(args, { streams, environment: { ...environment } })
  if (code === undefined) throw new Error(`tollgate ${args.join(' ')} continues to run`)
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

/** Starts `bin/tollgate.mjs`. */
export function beginProcess(args: readonly string[], environment: Settings): Begun {
  const child = spawn(process.execPath, [BIN, ...args], { env: environment })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  }
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => resolve({ code, ...output }))
  })
  return { child, ended }
}

/** Runs `bin/tollgate.mjs` to its end. */
export function runProcess(
  args: readonly string[],
  environment: Settings,
  input = '',
): Promise<Ended> {
  const { child, ended } = beginProcess(args, environment)
  // A command that does not read its input may end before it is written.
  child.stdin?.on('error', () => undefined).end(input)
  return ended
}

class Collected extends Writable {
  readonly #chunks: Buffer[] = []

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk)
    done()
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8')
  }
}
