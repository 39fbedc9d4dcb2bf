/**
 * Sources compiled into a folder of their own, so that other processes can run them without a
 * build.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const MODULES = [
  ...'config domain domain/events domain/pricing external/customers ledger'.split(' '),
  ...'rating rating/match runtime store workers'.split(' '),
]

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  rewriteRelativeImportExtensions: true,
}

/** Compiles the sources of a worker, and the tests' own part of it, into `folder`. */
export function compileWorkers(folder: string): void {
  for (const source of [
    ...MODULES.map((name) => `src/${name}`),
    'test/support',
    'test/support/domain',
    'test/support/workers',
    'test/support/rating',
  ]) {
    for (const name of readdirSync(join(ROOT, source))) {
      if (!name.endsWith('.ts') || name.endsWith('.test.ts')) continue
      const text = readFileSync(join(ROOT, source, name), 'utf8')
      const { outputText } = ts.transpileModule(text, { compilerOptions: OPTIONS })
      const path = join(folder, source, name.replace(/\.ts$/, '.js'))
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, outputText)
    }
  }
  cpSync(join(ROOT, 'src/ledger/lua'), join(folder, 'src/ledger/lua'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
}
