/** Code for all collections does not compare their names: what is special is in their rules. */
import ts from 'typescript'
import { expect, it } from 'vitest'
import { DEFINITIONS } from '../../src/entities/definitions/collections.ts'
import {
  HOUSE,
  isTypeScript,
  readTree,
  report,
  type SourceFile,
  type Violation,
  walk,
} from './tree.ts'

/** Code for all collections. */
const FOLDERS = [
  ...['src/entities', 'src/admin/actions', 'src/admin/openapi', 'src/admin/http'],
  ...['src/admin/auth', 'src/reports', 'src/jobs', 'src/prepaid'],
]
/** The rules of single collections, whose fields may have the same names. */
const OF_ONE = 'src/entities/rules/'

const EQUALITY: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
])

function isName(node: ts.Node): boolean {
  return ts.isStringLiteralLike(node) && DEFINITIONS.has(node.text)
}

/** Comparisons by an operator or a `case`, and sets of names. */
function comparesName(node: ts.Node): boolean {
  if (ts.isBinaryExpression(node)) {
    return EQUALITY.has(node.operatorToken.kind) && (isName(node.left) || isName(node.right))
  }
  if (ts.isCaseClause(node)) return isName(node.expression)
  const isSet = ts.isNewExpression(node) && node.expression.getText() === 'Set'
  const [members] = isSet ? (node.arguments ?? []) : []
  return (
    members !== undefined && ts.isArrayLiteralExpression(members) && members.elements.some(isName)
  )
}

function comparisons(files: readonly SourceFile[]): readonly Violation[] {
  const found: Violation[] = []
  for (const file of files) {
    walk(file, (node, line) => {
      if (comparesName(node)) found.push({ path: file.path, line, rule: 'compares a collection' })
    })
  }
  return found
}

it('the APIs compare no name of a collection outside of its rules', () => {
  const files = readTree(HOUSE, FOLDERS).filter(isTypeScript)
  const generic = files.filter(({ path }) => !path.startsWith(OF_ONE))
  expect(generic.length).toBeGreaterThan(0)
  expect(report(comparisons(generic))).toEqual([])
})

it.each([
  "if (definition.name === 'users') f()",
  "const is = 'rates' !== name",
  "switch (name) { case 'plans': f() }",
  "const FEW = new Set(['accounts'])",
])('a comparison is found: %s', (text) => {
  expect(comparisons([{ path: 'a.ts', text }])).toHaveLength(1)
})

it.each(['const RULES = { users: 1 }', "if (kind === 'plan') f()", "read('users')"])(
  'another use of a name is allowed: %s',
  (text) => {
    expect(comparisons([{ path: 'a.ts', text }])).toEqual([])
  },
)
