import { posix } from 'node:path'
import ts from 'typescript'
import { isOfConsole, isTypeScript, parse, type SourceFile, type Violation, walk } from './tree.ts'

const FUNCTION_LINES_MAX = 70
const FILE_LINES_MAX = 400
const COLUMNS_MAX = 100

const FORBIDDEN_FOLDERS: ReadonlySet<string> = new Set(
  'utils util helpers helper common shared misc lib'.split(' '),
)
const TEXT_ENDINGS = ['.ts', '.tsx', '.css', '.lua', '.mjs']
/** Files that others load by their path: the pool of threads, and the router of the console. */
const DEFAULT_EXPORT_FILES = new RegExp(
  `^(?:${[
    'src/workers/main.ts',
    'packages/console/src/pages/[\\w-]+/page.tsx',
    'test/run/memory-folder.ts',
  ].join('|')})$`,
)

/** Effects and hidden inputs that only one module may use. */
const ONLY_MODULE: Readonly<Record<string, string>> = {
  'process.env': 'src/config/',
  'process.stdout': 'src/runtime/',
  'process.stderr': 'src/runtime/',
  'process.hrtime': 'src/runtime/',
  'Date.now': 'src/runtime/',
  'performance.now': 'src/runtime/',
  'performance.timeOrigin': 'src/runtime/',
  'Math.random': 'src/runtime/',
}

/** The console has no module `runtime`. */
const CONSOLE_CLOCK = 'packages/console/src/api/clock.ts'

/** All style rules for files of src, bench, test and packages; docs/STYLE.md has the reasons. */
export function checkStyle(files: readonly SourceFile[]): readonly Violation[] {
  return [
    ...files.flatMap(checkNames),
    ...files.filter(isText).flatMap(checkLines),
    ...files.filter(isTypeScript).flatMap(checkFunctions),
    ...files.filter(isTypeScript).flatMap(checkSyntax),
    ...files.filter(isTypeScript).flatMap(checkComments),
    ...files.filter((file) => isTypeScript(file) && isDeployed(file)).flatMap(checkEffects),
    ...files.filter((file) => isTypeScript(file) && hasAmounts(file)).flatMap(checkAmounts),
    ...checkReadmes(files),
    ...files.filter((file) => WIRING.has(file.path)).flatMap(checkWiring),
  ]
}

function isText(file: SourceFile): boolean {
  return TEXT_ENDINGS.some((ending) => file.path.endsWith(ending))
}

function isProduct(file: SourceFile): boolean {
  return file.path.startsWith('src/')
}

function isDeployed(file: SourceFile): boolean {
  return isProduct(file) || isOfConsole(file)
}

function checkNames({ path }: SourceFile): readonly Violation[] {
  const folders = posix.dirname(path).split('/')
  const bad = folders.find((name) => FORBIDDEN_FOLDERS.has(name))
  if (bad !== undefined) return [{ path, line: 1, rule: `no folder is called ${bad}` }]
  const name = posix.basename(path)
  const isNamedWell =
    !/\.tsx?$/.test(name) || /^[a-z0-9]+(-[a-z0-9]+)*(\.d|(\.browser)?\.test)?\.tsx?$/.test(name)
  return isNamedWell ? [] : [{ path, line: 1, rule: `file names are kebab-case, not ${name}` }]
}

function checkLines({ path, text }: SourceFile): readonly Violation[] {
  const lines = text.replace(/\n$/, '').split('\n')
  const violations = lines.flatMap((line, index) =>
    line.length > COLUMNS_MAX
      ? [{ path, line: index + 1, rule: `line of ${line.length} columns, ${COLUMNS_MAX} allowed` }]
      : [],
  )
  if (lines.length > FILE_LINES_MAX) {
    const rule = `file of ${lines.length} lines, ${FILE_LINES_MAX} allowed`
    violations.push({ path, line: FILE_LINES_MAX + 1, rule })
  }
  return violations
}

function checkFunctions(file: SourceFile): readonly Violation[] {
  const source = parse(file)
  const violations: Violation[] = []
  walk(file, (node, line) => {
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return
    // A describe block groups tests; each test in it is a function by itself.
    if (/^(?:packages\/[\w-]+\/)?test\//.test(file.path) && isDescribeBody(node)) return
    const lines = source.getLineAndCharacterOfPosition(node.end).line + 2 - line
    if (lines > FUNCTION_LINES_MAX) {
      const rule = `function of ${lines} lines, ${FUNCTION_LINES_MAX} allowed`
      violations.push({ path: file.path, line, rule })
    }
  })
  return violations
}

function isDescribeBody(node: ts.Node): boolean {
  if (!ts.isCallExpression(node.parent)) return false
  let callee: ts.Expression = node.parent.expression
  while (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee)) {
    callee = callee.expression
  }
  return ts.isIdentifier(callee) && callee.text === 'describe'
}

function checkSyntax(file: SourceFile): readonly Violation[] {
  const violations: Violation[] = []
  walk(file, (node, line) => {
    const add = (rule: string) => violations.push({ path: file.path, line, rule })
    if (ts.isEnumDeclaration(node)) add('no enum')
    // Extending the types of a package requires a quoted module name: there is no other way.
    if (ts.isModuleDeclaration(node) && !ts.isStringLiteral(node.name)) add('no namespace')
    if (node.kind === ts.SyntaxKind.AnyKeyword) add('no any')
    const isDefault =
      ts.isExportAssignment(node) ||
      node.kind === ts.SyntaxKind.DefaultKeyword ||
      (ts.isExportSpecifier(node) && node.name.text === 'default')
    if (isDefault && !DEFAULT_EXPORT_FILES.test(file.path)) {
      add('no default export')
    }
  })
  return violations
}

/** The console has heads of columns that name the currency; gateways name it themselves. */
function hasAmounts({ path }: SourceFile): boolean {
  return path.startsWith('src/') && !path.startsWith('src/external/')
}

const AMOUNT = /^(?:amount|price|aprice|cost|due|owed|debt|micros)$/
const AMOUNT_TEXTS = /^(?:decimalText|moneyText)$/

/** Amounts between words, as they are and not by a function that can name the currency. */
function checkAmounts(file: SourceFile): readonly Violation[] {
  const violations: Violation[] = []
  walk(file, (node, line) => {
    if (!ts.isTemplateExpression(node)) return
    const words = [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)]
    if (!/[a-z] |[:,] | [a-z]/.test(words.join('\n'))) return
    const rule = 'an amount in a text is formatted by moneyFormat'
    for (const { expression } of node.templateSpans) {
      const called = ts.isCallExpression(expression)
      const name = lastNameOf(called ? expression.expression : expression)
      if ((called ? AMOUNT_TEXTS : AMOUNT).test(name))
        violations.push({ path: file.path, line, rule })
    }
  })
  return violations
}

function lastNameOf(node: ts.Node): string {
  if (ts.isPropertyAccessExpression(node)) return node.name.text
  return ts.isIdentifier(node) ? node.text : ''
}

function checkComments(file: SourceFile): readonly Violation[] {
  const source = parse(file)
  const seen = new Set<number>()
  const violations: Violation[] = []
  const look = (ranges: readonly ts.CommentRange[] | undefined): void => {
    for (const { pos, end } of ranges ?? []) {
      if (seen.has(pos)) continue
      seen.add(pos)
      const word = /\b(?:TODO|FIXME|XXX|HACK)\b|@ts-(?:ignore|nocheck)/.exec(
        file.text.slice(pos, end),
      )?.[0]
      const line = source.getLineAndCharacterOfPosition(pos).line + 1
      if (word) violations.push({ path: file.path, line, rule: `no ${word}` })
    }
  }
  const step = (node: ts.Node): void => {
    look(ts.getLeadingCommentRanges(file.text, node.getFullStart()))
    look(ts.getTrailingCommentRanges(file.text, node.end))
    for (const child of node.getChildren(source)) step(child)
  }
  step(source)
  return violations
}

function checkEffects(file: SourceFile): readonly Violation[] {
  const violations: Violation[] = []
  walk(file, (node, line) => {
    const add = (what: string, module: string): void => {
      if (file.path.startsWith(module) || file.path === CONSOLE_CLOCK) return
      violations.push({ path: file.path, line, rule: `${what} is used only in ${module}` })
    }
    for (const name of membersUsed(node)) {
      const module = ONLY_MODULE[name]
      if (module !== undefined) add(name, module)
    }
    if (ts.isIdentifier(node) && node.text === 'console' && isGlobalUse(node)) {
      add('console', 'src/runtime/')
    }
    const isDate =
      (ts.isNewExpression(node) || ts.isCallExpression(node)) && isNamed(node.expression, 'Date')
    if (isDate && (ts.isCallExpression(node) || !node.arguments?.length)) {
      add('new Date()', 'src/runtime/')
    }
  })
  return violations
}

/** `process.env`, `process['env']` and `const { env } = process` as `process.env`. */
function membersUsed(node: ts.Node): readonly string[] {
  if (ts.isPropertyAccessExpression(node)) {
    const owner = ownerOf(node.expression)
    return owner === undefined ? [] : [`${owner}.${node.name.text}`]
  }
  if (ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression)) {
    const owner = ownerOf(node.expression)
    return owner === undefined ? [] : [`${owner}.${node.argumentExpression.text}`]
  }
  if (ts.isVariableDeclaration(node) && ts.isObjectBindingPattern(node.name)) {
    const owner = node.initializer ? ownerOf(node.initializer) : undefined
    if (owner === undefined) return []
    return node.name.elements.map(
      (part) => `${owner}.${(part.propertyName ?? part.name).getText()}`,
    )
  }
  return []
}

/** Name of an object, even if it is accessed through globalThis. */
function ownerOf(node: ts.Expression): string | undefined {
  if (ts.isIdentifier(node)) return node.text
  const isGlobal = ts.isPropertyAccessExpression(node) && isNamed(node.expression, 'globalThis')
  return isGlobal ? node.name.text : undefined
}

/** True if a name refers to the global, and is not a key or a member of another object. */
function isGlobalUse(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) {
    return isNamed(parent.expression, 'globalThis')
  }
  return !(ts.isPropertyAssignment(parent) && parent.name === node)
}

function isNamed(node: ts.Expression, name: string): boolean {
  return ts.isIdentifier(node) && node.text === name
}

function checkReadmes(files: readonly SourceFile[]): readonly Violation[] {
  const modules = new Set(
    files.filter(isProduct).flatMap(({ path }) => {
      const [, module, inside] = path.split('/')
      return module !== undefined && inside !== undefined ? [module] : []
    }),
  )
  const paths = new Set(files.map((file) => file.path))
  return [...modules]
    .map((module) => `src/${module}/README.md`)
    .filter((path) => !paths.has(path))
    .map((path) => ({ path, line: 1, rule: 'each module has a README.md' }))
}

const WIRING = new Set(['src/main.ts', 'src/roles.ts'])
/** They wire modules: they may choose (if), but not loop, calculate or define classes. */
function checkWiring(file: SourceFile): readonly Violation[] {
  const violations: Violation[] = []
  walk(file, (node, line) => {
    const isArithmetic =
      ts.isBinaryExpression(node) &&
      /^(\+|-|\*|\/|%|\*\*)=?$/.test(node.operatorToken.getText()) &&
      !ts.isStringLiteralLike(node.left)
    const isLogic = ts.isIterationStatement(node, false) || ts.isClassLike(node) || isArithmetic
    if (isLogic)
      violations.push({ path: file.path, line, rule: `${posix.basename(file.path)} has no logic` })
  })
  return violations
}
