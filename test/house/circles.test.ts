/**
 * There is no import cycle, neither of values nor of types: not between files, and in `src` not
 * between neighbouring folders.
 *
 * In each folder of `src`, its entries are compared: a file is one, and so is a subfolder with all
 * below it. An entry imports another if a file of the first imports a file of the second. So
 * neighbouring folders are never in an import cycle, directly or by way of others; and each file of
 * a folder lies below a subfolder or above it: what the subfolder imports, even by way of others,
 * imports nothing of it. The entry file of a process or thread, which is started by its path, is
 * no import.
 */
import { posix } from 'node:path'
import { expect, it } from 'vitest'
import { importsOf } from './imports.ts'
import { HOUSE, isTypeScript, readTree, type SourceFile } from './tree.ts'

/** By importing file or entry: those that it imports. */
type Graph = Map<string, Set<string>>

interface OwnImport {
  readonly from: string
  readonly to: string
}

function ownImports(files: readonly SourceFile[]): readonly OwnImport[] {
  return files.filter(isTypeScript).flatMap((file) =>
    importsOf(file)
      .filter(({ specifier }) => specifier.startsWith('.'))
      .map(({ specifier }) => {
        return { from: file.path, to: posix.join(posix.dirname(file.path), specifier) }
      }),
  )
}

function fileGraph(files: readonly SourceFile[]): Graph {
  const graph: Graph = new Map()
  for (const { from, to } of ownImports(files)) add(graph, from, to)
  return graph
}

/** For each folder, the graph of its entries. */
function folderGraphs(files: readonly SourceFile[]): readonly Graph[] {
  const graphs = new Map<string, Graph>()
  for (const { from, to } of ownImports(files)) {
    const [steps, target] = [from.split('/'), to.split('/')]
    const common = steps.findIndex((step, index) => step !== target[index])
    const folder = steps.slice(0, common).join('/')
    const graph = graphs.get(folder) ?? new Map()
    graphs.set(folder, graph)
    add(graph, ...entries(steps, target, common + 1))
  }
  return [...graphs.values()]
}

function entries(from: string[], to: string[], length: number): [from: string, to: string] {
  return [from.slice(0, length).join('/'), to.slice(0, length).join('/')]
}

function add(graph: Graph, from: string, to: string): void {
  graph.set(from, (graph.get(from) ?? new Set()).add(to))
}

/** Import cycles of files or entries, each as one path. */
function circles(graph: Graph): readonly string[] {
  const found: string[] = []
  const done = new Set<string>()
  const follow = (at: string, way: readonly string[]): void => {
    if (way.includes(at)) {
      found.push([...way.slice(way.indexOf(at)), at].join(' -> '))
      return
    }
    if (done.has(at)) return
    for (const next of graph.get(at) ?? []) follow(next, [...way, at])
    done.add(at)
  }
  for (const at of graph.keys()) follow(at, [])
  return found
}

it('files have no import cycle', () => {
  expect(circles(fileGraph(readTree(HOUSE, ['src', 'packages'])))).toEqual([])
})

it('neighbouring folders of src have no import cycle', () => {
  expect(folderGraphs(readTree(HOUSE, ['src'])).flatMap(circles)).toEqual([])
})

function importing(imports: Readonly<Record<string, string>>): readonly SourceFile[] {
  return Object.entries(imports).map(([path, to]) => {
    return { path, text: `import type { X } from '${to}'` }
  })
}

it('an import cycle of types alone is found', () => {
  const files = importing({ 'src/a.ts': './b.ts', 'src/b.ts': './a.ts' })
  expect(circles(fileGraph(files))).toEqual(['src/a.ts -> src/b.ts -> src/a.ts'])
})

it.each([
  [
    'of folders whose files make none',
    { 'src/m/a/x.ts': '../b/x.ts', 'src/m/b/y/z.ts': '../../a/y.ts' },
    ['src/m/a -> src/m/b -> src/m/a'],
  ],
  [
    'of a folder and a file beside it',
    { 'src/a/x.ts': '../b.ts', 'src/b.ts': './a/y.ts' },
    ['src/a -> src/b.ts -> src/a'],
  ],
  [
    'of none, with one file below a folder and another above it',
    { 'src/a/x.ts': '../below.ts', 'src/above.ts': './a/x.ts' },
    [],
  ],
])('folders: finds an import cycle %s', (_, imports, found) => {
  expect(folderGraphs(importing(imports)).flatMap(circles)).toEqual(found)
})
