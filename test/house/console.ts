/** Rules of the operator console, which runs in a browser. */
import { posix } from 'node:path'
import ts from 'typescript'
import { importsOf, packageOf } from './imports.ts'
import {
  CONSOLE,
  isOfConsole,
  isTypeScript,
  type SourceFile,
  type Violation,
  walk,
} from './tree.ts'

const API = `${CONSOLE}api/`
const FILE_LINES_MAX = 250
/** The parser of errors, which the client has, too. */
const PARSER = 'packages/client/src/errors.ts'
/** `tollgate-api`: types generated from the OpenAPI document. */
const PACKAGES: ReadonlySet<string> = new Set([
  'preact',
  '@preact/signals',
  'uplot',
  'tollgate-api',
])
/** Names that send requests. */
const SENDERS: ReadonlySet<string> = new Set([
  ...['fetch', 'EventSource', 'XMLHttpRequest', 'WebSocket', 'sendBeacon'],
])
/** Names that make code or markup of text, or keep data on the machine. */
const FORBIDDEN: ReadonlySet<string> = new Set([
  ...['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'dangerouslySetInnerHTML', 'srcdoc'],
  ...['eval', 'Function', 'indexedDB', 'caches'],
])
/** Kept are choices of the reader, and for a tab the keys of writes whose outcome is unknown. */
const STORAGES: Readonly<Record<string, string>> = {
  localStorage: `${CONSOLE}frame/choices.ts`,
  sessionStorage: `${CONSOLE}parts/tab-storage.ts`,
}
/** Names that turn text into binary numbers. */
const ROUNDING: ReadonlySet<string> = new Set(['parseFloat', 'toFixed', 'toPrecision'])

export function checkConsole(files: readonly SourceFile[]): readonly Violation[] {
  const own = files.filter(isOfConsole)
  const paths = new Set(own.map(({ path }) => path))
  return [
    ...own.flatMap(checkLength),
    ...checkClasses(own.filter(({ path }) => path.endsWith('.css'))),
    ...own
      .filter(isTypeScript)
      .flatMap((file) => [...checkConsoleImports(file, paths), ...checkIdentifiers(file)]),
  ]
}

function checkLength({ path, text }: SourceFile): readonly Violation[] {
  const lines = text.trimEnd().split('\n').length
  if (lines <= FILE_LINES_MAX) return []
  const rule = `file of ${lines} lines, ${FILE_LINES_MAX} allowed in the console`
  return [{ path, line: FILE_LINES_MAX + 1, rule }]
}

/** All stylesheets are one file: a class that begins selectors in two of them means two things. */
function checkClasses(sheets: readonly SourceFile[]): readonly Violation[] {
  const homes = new Map<string, string>()
  return sheets.flatMap(({ path, text }) => {
    const begins = text.matchAll(/(?:^|,)\s*\.([\w-]+)[^,{}]*(?=[,{])/gm)
    const own = new Set([...begins].map(([, name = '']) => name))
    return [...own].flatMap((name) => {
      const home = homes.get(name) ?? path
      homes.set(name, home)
      return home === path ? [] : [{ path, line: 1, rule: `.${name} belongs to ${home}` }]
    })
  })
}

function checkConsoleImports(file: SourceFile, paths: ReadonlySet<string>): readonly Violation[] {
  return importsOf(file).flatMap(({ specifier, line }) => {
    const add = (rule: string) => [{ path: file.path, line, rule }]
    if (!specifier.startsWith('.')) {
      return PACKAGES.has(packageOf(specifier))
        ? []
        : add(`the console may not import ${specifier}`)
    }
    const target = posix.join(posix.dirname(file.path), specifier)
    if (target === PARSER) return []
    if (!target.startsWith(CONSOLE)) return add(`the console may not import ${target}`)
    return paths.has(target) ? [] : add(`there is no ${target}`)
  })
}

function checkIdentifiers(file: SourceFile): readonly Violation[] {
  const violations: Violation[] = []
  walk(file, (node, line) => {
    if (!ts.isIdentifier(node)) return
    const { text: name } = node
    const add = (rule: string) => violations.push({ path: file.path, line, rule })
    if (FORBIDDEN.has(name)) add(`no ${name}`)
    if (ROUNDING.has(name)) add(`no ${name}: figures are text, Intl formats them`)
    if (SENDERS.has(name) && !file.path.startsWith(API)) add(`${name} is used only in ${API}`)
    const keeper = Object.hasOwn(STORAGES, name) ? STORAGES[name] : undefined
    if (keeper !== undefined && file.path !== keeper) add(`${name} is used only in ${keeper}`)
  })
  return violations
}
