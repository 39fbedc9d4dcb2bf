import { posix } from 'node:path'
import ts from 'typescript'
import { isTypeScript, type SourceFile, type Violation, walk } from './tree.ts'

/** Modules that each module of the control plane may import. */
const BASE = ['domain', 'config', 'catalog'] as const

/** The import table: the modules of src that a module imports. A module may import itself. */
export const MODULES = {
  domain: [],
  rating: ['domain'],
  'file-types': ['domain', 'rating', 'config'],
  config: ['domain'],
  runtime: ['config'],
  store: ['runtime'],
  catalog: ['domain', 'rating', 'file-types', 'config', 'runtime', 'store', 'external'],
  ledger: ['domain', 'runtime', 'store'],
  external: ['domain', 'config', 'runtime'],
  realtime: ['domain', 'file-types', 'config', 'runtime', 'store', 'catalog'],
  workers: [
    'domain',
    'rating',
    'file-types',
    'config',
    'runtime',
    'store',
    'ledger',
    'catalog',
    'external',
  ],
  notifications: ['domain', 'config', 'runtime', 'catalog', 'external'],
  recorder: ['domain', 'config', 'runtime', 'store', 'ledger', 'catalog', 'notifications'],
  billing: ['domain', 'rating', 'config', 'runtime', 'catalog', 'ledger', 'external'],
  requests: [...BASE, 'rating', 'store', 'external', 'billing'],
  identity: [...BASE, 'runtime', 'store', 'requests'],
  entities: [
    ...BASE,
    ...['rating', 'runtime', 'store', 'file-types', 'ledger', 'billing', 'requests', 'identity'],
  ],
  jobs: [
    ...BASE,
    'rating',
    'runtime',
    'ledger',
    'notifications',
    'billing',
    'requests',
    'entities',
  ],
  prepaid: [
    ...BASE,
    ...['rating', 'runtime', 'store', 'ledger', 'billing', 'requests', 'identity', 'entities'],
    'jobs',
  ],
  reports: [...BASE, 'runtime', 'billing', 'requests', 'entities', 'jobs'],
  export: ['config', 'catalog', 'runtime', 'entities', 'jobs', 'transfer'],
  admin: [
    ...BASE,
    ...['rating', 'runtime', 'store', 'file-types', 'ledger', 'external', 'notifications'],
    ...['recorder', 'billing', 'requests', 'identity', 'entities', 'jobs', 'prepaid', 'reports'],
    ...['intake', 'export', 'transfer'],
  ],
  intake: [...BASE, 'file-types', 'runtime', 'store', 'ledger', 'workers', 'transfer'],
  cli: [
    ...BASE,
    ...['rating', 'runtime', 'store', 'file-types', 'ledger', 'external', 'billing', 'embedded'],
    ...['requests', 'identity', 'entities', 'jobs', 'prepaid', 'reports', 'intake', 'admin'],
    ...['export', 'transfer'],
  ],
  embedded: ['config', 'runtime'],
  transfer: ['config', 'runtime'],
} as const satisfies Record<string, readonly string[]>

/** HTTP of the control plane, which only admin imports. */
const HTTP = 'src/admin/http/'

/** Module to module where only types may be imported: the code behind them must not be loaded. */
const TYPES_ONLY: Readonly<Record<string, readonly string[]>> = { realtime: ['catalog'] }
/** Exceptions: parts of such modules that use no store. */
const PURE_PARTS = ['src/catalog/signature/']

/** Modules that import nothing from outside the project; exceptions by name. */
const PURE: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  rating: ['decimal.js', 're2js'],
}

/**
 * Packages with a module: path prefixes of src, the only ones under which they may be imported.
 * Nothing imports those without a prefix.
 */
export const PACKAGE_PREFIXES: Readonly<Record<string, readonly string[]>> = {
  ioredis: ['store/'],
  mongodb: ['catalog/'],
  'uWebSockets.js': ['realtime/http/'],
  piscina: [
    'realtime/worker-thread.ts',
    'billing/run/thread-workers.ts',
    'billing/run/document-threads.ts',
  ],
  re2js: ['rating/rule-regex.ts'],
  'node:net': [
    'realtime/diameter/',
    'realtime/http/javascript-',
    'embedded/',
    'catalog/settings/peers/peer-addresses.ts',
  ],
  'node:tls': [
    'realtime/diameter/',
    'realtime/http/javascript-',
    'realtime/certificate-names.ts',
    'runtime/tls-',
    'config/tls.ts',
    'admin/server.ts',
    'jobs/syslog/',
  ],
  'node:http': ['realtime/http/javascript-', 'admin/'],
  'node:https': ['realtime/http/javascript-'],
  'node:http2': [],
  undici: ['external/', 'transfer/s3.ts'],
  ssh2: ['transfer/sftp.ts'],
  aws4fetch: ['transfer/s3.ts'],
  '@platformatic/kafka': ['export/kafka.ts'],
  fastify: ['admin/'],
  asn1js: ['file-types/records/ber-message.ts'],
  'csv-parse': ['entities/import/'],
  'csv-stringify': ['entities/export/', 'prepaid/cards/'],
  '@node-rs/argon2': ['identity/'],
  '@node-oauth/oauth2-server': ['identity/oauth/', 'admin/auth/oauth/'],
  '@zxcvbn-ts/language-common': ['identity/common-passwords.ts'],
  otplib: ['identity/totp/'],
  ldapts: ['identity/protocols/'],
  '@node-saml/node-saml': ['identity/protocols/'],
  '@tollgate/embedded-mongo': ['embedded/'],
  liquidjs: ['billing/documents/html.ts'],
  pdfkit: ['billing/documents/pdf/'],
  'bidi-js': ['billing/documents/pdf/'],
  stripe: ['external/payment/stripe/'],
  nodemailer: ['external/mail.ts'],
  pino: ['runtime/'],
  'prom-client': ['runtime/'],
  'node:process': [],
  'node:console': [],
  'node:perf_hooks': [],
}

export type Import = {
  readonly specifier: string
  readonly line: number
  readonly kind: 'value' | 'type' | 'dynamic'
}

/** Every import of a file: static, re-exported, dynamic, in a type, by require. */
export function importsOf(file: SourceFile): readonly Import[] {
  const found: Import[] = []
  walk(file, (node, line) => {
    const add = (target: ts.Node | undefined, kind: Import['kind']): void => {
      if (target && ts.isStringLiteralLike(target)) {
        found.push({ specifier: target.text, line, kind })
      }
    }
    if (ts.isImportDeclaration(node)) {
      add(node.moduleSpecifier, isTypeImport(node.importClause) ? 'type' : 'value')
    } else if (ts.isExportDeclaration(node)) {
      add(node.moduleSpecifier, node.isTypeOnly ? 'type' : 'value')
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node.argument.literal, 'type')
    } else if (ts.isCallExpression(node)) {
      const isImport = node.expression.kind === ts.SyntaxKind.ImportKeyword
      const isRequire = ts.isIdentifier(node.expression) && node.expression.text === 'require'
      if (isImport || isRequire) add(node.arguments[0], isImport ? 'dynamic' : 'value')
    }
  })
  return found
}

function isTypeImport(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true
  const named = clause.namedBindings
  return (
    clause.name === undefined &&
    named !== undefined &&
    ts.isNamedImports(named) &&
    named.elements.length > 0 &&
    named.elements.every((element) => element.isTypeOnly)
  )
}

/** Name of a package without the path inside it: `mongodb/lib/x` → `mongodb`. */
export function packageOf(specifier: string): string {
  const parts = specifier.split('/')
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? specifier)
}

/** All violations in the imports of src. Files outside src are not checked. */
export function checkImports(files: readonly SourceFile[]): readonly Violation[] {
  const paths = new Set(files.map((file) => file.path))
  return files.filter(isTypeScript).flatMap((file) => {
    if (!file.path.startsWith('src/')) return []
    return importsOf(file).flatMap((found) => {
      const rule = found.specifier.startsWith('.')
        ? checkOwn(file.path, found, paths)
        : checkPackage(file.path, found.specifier)
      return rule === undefined ? [] : [{ path: file.path, line: found.line, rule }]
    })
  })
}

/** Entries of the tables that no import uses, as `from > to`. */
export function unusedPermissions(files: readonly SourceFile[]): readonly string[] {
  const used = new Set<string>()
  for (const file of files.filter(isTypeScript)) {
    const module = moduleOf(file.path)
    for (const { specifier } of importsOf(file)) {
      const isOwn = specifier.startsWith('.')
      const name = isOwn ? moduleOf(targetOf(file.path, specifier)) : packageOf(specifier)
      used.add(`${module} > ${name}`)
      for (const prefix of prefixesOf(name) ?? []) {
        if (file.path.startsWith(`src/${prefix}`)) used.add(`${prefix} > ${name}`)
      }
    }
  }
  const tables: Readonly<Record<string, readonly string[]>>[] = [MODULES, TYPES_ONLY, PURE]
  const permitted = [
    ...tables
      .flatMap(Object.entries<readonly string[]>)
      .flatMap(([from, names]) => names.map((name) => `${from} > ${name}`)),
    ...Object.entries(PACKAGE_PREFIXES).flatMap(([name, prefixes]) =>
      prefixes.map((prefix) => `${prefix} > ${name}`),
    ),
  ]
  return permitted.filter((permission) => !used.has(permission))
}

function targetOf(path: string, specifier: string): string {
  return posix.join(posix.dirname(path), specifier)
}

function prefixesOf(name: string): readonly string[] | undefined {
  return PACKAGE_PREFIXES[name.startsWith('@fastify/') ? 'fastify' : name]
}

function checkOwn(path: string, found: Import, paths: ReadonlySet<string>): string | undefined {
  const { specifier, kind } = found
  const target = targetOf(path, specifier)
  if (!target.startsWith('src/')) return `src never imports ${target}`
  if (!target.endsWith('.ts')) return `an import of our own ends in .ts, not ${specifier}`
  if (!paths.has(target)) return `there is no ${target}`
  const from = moduleOf(path)
  const to = moduleOf(target)
  if (from === to || from === 'main') return undefined
  if (target.startsWith(HTTP)) return `${from} may not import admin/http`
  const allowed: readonly string[] = Object.hasOwn(MODULES, from)
    ? MODULES[from as keyof typeof MODULES]
    : []
  if (!allowed.includes(to)) return `${from} may not import ${to}`
  const isPure = PURE_PARTS.some((part) => target.startsWith(part))
  if (TYPES_ONLY[from]?.includes(to) && kind !== 'type' && !isPure) {
    return `${from} may import only types from ${to}`
  }
  return undefined
}

function checkPackage(path: string, specifier: string): string | undefined {
  const inside = path.slice('src/'.length)
  const name = packageOf(specifier)
  const exceptions = PURE[moduleOf(path)]
  if (exceptions && !exceptions.includes(name)) return `${moduleOf(path)} is pure: no ${name}`
  const prefixes = prefixesOf(name)
  if (prefixes === undefined || moduleOf(path) === 'main') return undefined
  if (prefixes.some((prefix) => inside.startsWith(prefix))) return undefined
  return `${name} is used in these parts of src only: ${prefixes.join(', ')}`
}

/** The module of a file in src: its first folder, or `main` for the files directly in src. */
export function moduleOf(path: string): string {
  const [, first = '', second] = path.split('/')
  return second === undefined ? 'main' : first
}
