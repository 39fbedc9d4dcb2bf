/** One concept has one type name: an exported type of src is found by its name alone. */
import ts from 'typescript'
import { expect, it } from 'vitest'
import { CONSOLE, HOUSE, isTypeScript, parse, readTree, type SourceFile } from './tree.ts'

function exportedTypes(file: SourceFile): string[] {
  return parse(file).statements.flatMap((statement) => {
    const isType =
      ts.isInterfaceDeclaration(statement) ||
      ts.isTypeAliasDeclaration(statement) ||
      ts.isClassDeclaration(statement)
    if (!isType || statement.name === undefined) return []
    const isExported = statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
    return isExported === true ? [statement.name.text] : []
  })
}

/** `Name: file, file` for every name that several files export. */
function sharedNames(files: readonly SourceFile[]): string[] {
  const paths = new Map<string, string[]>()
  for (const file of files) {
    for (const name of exportedTypes(file)) {
      paths.set(name, [...(paths.get(name) ?? []), file.path])
    }
  }
  return [...paths]
    .filter(([, found]) => found.length > 1)
    .map(([name, found]) => `${name}: ${found.join(', ')}`)
}

it.each(['src', 'packages/embedded-mongo/src', 'packages/client/src', CONSOLE])(
  'no two exported types of %s have the same name',
  (folder) => {
    expect(sharedNames(readTree(HOUSE, [folder]).filter(isTypeScript))).toEqual([])
  },
)

it('a name exported by two files is found', () => {
  const files = [
    { path: 'a.ts', text: 'export interface Step {}\ntype Own = 1' },
    { path: 'b.ts', text: 'export class Step {}\nexport type Own = 2' },
  ]
  expect(sharedNames(files)).toEqual(['Step: a.ts, b.ts'])
})
