/** Files of src do not import each other in circles, neither values nor types. */
import { posix } from 'node:path'
import { expect, it } from 'vitest'
import { importsOf } from './imports.ts'
import { HOUSE, isTypeScript, readTree, type SourceFile } from './tree.ts'

/** Files that reach themselves by their imports, each with one such path. */
function circles(files: readonly SourceFile[]): readonly string[] {
  const imports = new Map(
    files.filter(isTypeScript).map((file) => [
      file.path,
      importsOf(file)
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => posix.join(posix.dirname(file.path), specifier)),
    ]),
  )
  const found: string[] = []
  const done = new Set<string>()
  const follow = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) {
      found.push([...way.slice(way.indexOf(path)), path].join(' -> '))
      return
    }
    if (done.has(path)) return
    for (const next of imports.get(path) ?? []) follow(next, [...way, path])
    done.add(path)
  }
  for (const path of imports.keys()) follow(path, [])
  return found
}

it('no file of src imports itself over others', () => {
  expect(circles(readTree(HOUSE, ['src', 'packages']))).toEqual([])
})

it('a circle of types alone is found', () => {
  const files = [
    { path: 'src/a.ts', text: "import type { B } from './b.ts'" },
    { path: 'src/b.ts', text: "import type { A } from './a.ts'" },
  ]
  expect(circles(files)).toEqual(['src/a.ts -> src/b.ts -> src/a.ts'])
})
