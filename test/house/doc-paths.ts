/** Paths and file names of the repository in Markdown documents, mostly in backticks. */
import { posix } from 'node:path'
import type { SourceFile, Violation } from './tree.ts'

/** Files of the repository and the folders that contain them. */
export type Paths = ReadonlySet<string>

/** A file name, with or without folders; `*` matches a part of a name. */
const FILE = /^[\w./*-]*[\w*]\.(?:ts|mjs|lua)$/
/** Folders, or a file without its ending. */
const PATH = /^[\w.*-]+(?:\/[\w.*-]+)*\/?$/

export function withFolders(files: readonly string[]): Paths {
  const paths = new Set(files)
  for (const file of files) {
    for (let at = posix.dirname(file); at !== '.'; at = posix.dirname(at)) paths.add(at)
  }
  return paths
}

/** Names in backticks, and mentions of `docs/NAME.md` without them, that are not in `paths`. */
export function checkDocPaths(documents: readonly SourceFile[], paths: Paths): Violation[] {
  return documents.flatMap(({ path, text }) =>
    proseLines(text).flatMap((line, index) => {
      const names = namesIn(line).filter((name) => isOfRepository(name, path, paths))
      return names
        .filter((name, at) => !exists(name, path, paths, names.slice(0, at)))
        .map((name) => ({ path, line: index + 1, rule: `${name} is not one existing path` }))
    }),
  )
}

/** Lines of a document; those of code blocks are empty. */
function proseLines(text: string): string[] {
  let isCode = false
  return text.split('\n').map((line) => {
    if (/^\s*(?:```|~~~)/.test(line)) {
      isCode = !isCode
      return ''
    }
    return isCode ? '' : line
  })
}

function namesIn(line: string): string[] {
  const spans = [...line.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span)
  const rest = line.replace(/`[^`]+`/g, '')
  return [...spans, ...(rest.match(/\bdocs\/[\w-]+\.md\b/g) ?? [])]
}

/** True if a name is meant as a path: by its ending, or because it begins with a folder here. */
function isOfRepository(name: string, document: string, paths: Paths): boolean {
  if (/^\.?\//.test(name)) return false
  if (FILE.test(name) || name.startsWith('../')) return true
  if (!PATH.test(name) || !name.includes('/')) return false
  const [top = ''] = name.split('/')
  const bases = ['', 'src', ...(isReadme(document) ? [posix.dirname(document)] : [])]
  return bases.some((base) => paths.has(posix.join(base, top)))
}

/** `before`: names of the same line, in whose folders a name may be, too. */
function exists(name: string, document: string, paths: Paths, before: readonly string[]): boolean {
  const siblings = before.map((other) => posix.dirname(other)).filter((folder) => folder !== '.')
  const bases = [posix.dirname(document), '', 'src', ...siblings]
  const places = [
    ...bases.map((base) => posix.join(base, name)),
    `test/${name}.test`,
    `${name}.test`,
  ]
  if (places.some((place) => matches(place, paths).length > 0)) return true
  // The nearest folder that has it decides; `*` may match several files there.
  const counts = scopesOf(document).map((folder) => matches(`${folder}/**/${name}`, paths).length)
  const nearest = counts.find((count) => count > 0) ?? 0
  return name.includes('*') ? nearest > 0 : nearest === 1
}

function matches(pattern: string, paths: Paths): string[] {
  const path = pattern.replace(/\/$/, '')
  if (paths.has(path)) return [path]
  if (paths.has(`${path}.ts`)) return [`${path}.ts`]
  if (!path.includes('*')) return []
  const source = path
    .replace(/[.+]/g, '\\$&')
    .replaceAll('**/', '\0')
    .replaceAll('*', '[^/]*')
    .replaceAll('\0', '(?:[^/]+/)*')
  const expression = new RegExp(`^${source}(?:\\.ts)?$`)
  return [...paths].filter((candidate) => expression.test(candidate))
}

/** Folders in which a base name must be unique: those of a README up to its module, or `src`. */
function scopesOf(document: string): string[] {
  if (!isReadme(document)) return ['src']
  const folder = posix.dirname(document)
  const scopes: string[] = []
  const [top = '', second = ''] = folder.split('/')
  const module = top === 'bench' ? top : posix.join(top, second)
  for (let at = folder; at.startsWith(module); at = posix.dirname(at)) scopes.push(at)
  if (folder.startsWith('test/')) scopes.push(folder.replace(/^test/, 'test/support'))
  return scopes
}

function isReadme(document: string): boolean {
  return document.endsWith('/README.md')
}
