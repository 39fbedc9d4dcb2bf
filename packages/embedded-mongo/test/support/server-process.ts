import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
// A client of a killed server would otherwise wait forever for a command sent at the same moment.
import '../../../../src/catalog/lost-connections.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')

/** The sources of the package as one file of JavaScript: no build is needed or used. */
export async function compileEmbedded(): Promise<{ readonly main: string; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'tg-built-'))
  const main = join(folder, 'main.js')
  const bundle = await rolldown({
    input: join(root, 'src/main.ts'),
    platform: 'node',
    tsconfig: false,
    external: (id) => !/^[./]/.test(id),
  })
  await bundle.write({ file: main, format: 'esm', codeSplitting: false })
  await bundle.close()
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  symlinkSync(join(root, '../../node_modules'), join(folder, 'node_modules'))
  return { main, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

export type MongoProcess = {
  readonly child: ChildProcess
  readonly url: string
  /** Exit code and signal, once the process has ended. */
  readonly ended: Promise<readonly [code: number | null, signal: string | null]>
  /** Everything that the process has written. */
  output(): string
}

/** Starts the entry as the supervisor does; rejects with its output if it exits instead. */
export async function startMongoProcess(
  main: string,
  dataDir: string,
  socketPath: string,
): Promise<MongoProcess> {
  const child = fork(main, ['--data', dataDir, '--socket', socketPath], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (bytes: Buffer) => {
      output += bytes.toString('utf8')
    })
  }
  // Not 'close', which does not follow a disconnect from this side.
  const exit = once(child, 'exit') as Promise<[number | null, string | null]>
  const written = [child.stdout, child.stderr].map((stream) => stream && once(stream, 'close'))
  const ended = Promise.all(written).then(() => exit)
  const url = await new Promise<string>((resolve, reject) => {
    child.once('message', (message: { type: string; url: string }) => resolve(message.url))
    ended.then(([code, signal]) => {
      reject(new Error(`ended with ${code ?? signal}: ${output}`))
    })
  })
  return { child, url, ended, output: () => output }
}
