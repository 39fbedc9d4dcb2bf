import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** A file of the project: its path from the root with forward slashes, and its text. */
export type SourceFile = { readonly path: string; readonly text: string }

/** A violation: its place and the rule. */
export type Violation = { readonly path: string; readonly line: number; readonly rule: string }

export const HOUSE = fileURLToPath(new URL('../..', import.meta.url))

/** Built and installed files of a package. */
const MADE = /\/(?:dist|node_modules)\//

/**
 * All files below some folders of a root, in order, except those that are built or installed
 * there; a missing folder has no files.
 */
export function readTree(root: string, folders: readonly string[]): readonly SourceFile[] {
  return folders.flatMap((folder) => {
    if (!existsSync(join(root, folder))) return []
    const entries = readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(join(root, '/').length))
      .filter((path) => !MADE.test(path))
      .sort()
      .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
  })
}

export function isTypeScript(file: SourceFile): boolean {
  return /\.tsx?$/.test(file.path)
}

/** The operator console: a program of its own, in a browser. */
export const CONSOLE = 'packages/console/src/'

export function isOfConsole({ path }: SourceFile): boolean {
  return path.startsWith(CONSOLE)
}

/** Calls `visit` for every node of a TypeScript file, with its first line (from 1). */
export function walk(file: SourceFile, visit: (node: ts.Node, line: number) => void): void {
  const source = parse(file)
  const step = (node: ts.Node): void => {
    visit(node, source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1)
    ts.forEachChild(node, step)
  }
  step(source)
}

const parsed = new WeakMap<SourceFile, ts.SourceFile>()

/** The syntax tree of a file, cached because several rules check each file. */
export function parse(file: SourceFile): ts.SourceFile {
  let source = parsed.get(file)
  if (source === undefined) {
    source = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.ES2023, true)
    parsed.set(file, source)
  }
  return source
}

/** One readable line per violation. */
export function report(violations: readonly Violation[]): readonly string[] {
  return violations.map(({ path, line, rule }) => `${path}:${line} ${rule}`)
}
