import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
// A client of a killed server would otherwise wait forever for a command sent at the same moment.
import '../../../../src/catalog/lost-connections.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')

/** The sources of the package as JavaScript in their own folder: no build is needed or used. */
export function compileEmbedded(): { readonly main: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'tg-built-'))
  compile(join(root, 'src'), folder)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  symlinkSync(join(root, '../../node_modules'), join(folder, 'node_modules'))
  return {
    main: join(folder, 'main.js'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function compile(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const path = join(from, entry.name)
    if (entry.isDirectory()) compile(path, join(to, entry.name))
    if (!entry.name.endsWith('.ts')) continue
    const { outputText } = ts.transpileModule(readFileSync(path, 'utf8'), {
      compilerOptions: {
        target: ts.ScriptTarget.ES2023,
        module: ts.ModuleKind.ESNext,
        rewriteRelativeImportExtensions: true,
        verbatimModuleSyntax: true,
      },
    })
    writeFileSync(join(to, entry.name.replace(/\.ts$/, '.js')), outputText)
  }
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
