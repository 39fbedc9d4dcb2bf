import { posix } from 'node:path'
import { importsOf, packageOf } from './imports.ts'
import { isTypeScript, type SourceFile } from './tree.ts'

/** Dependencies of the product, with the reason for each. A new one needs a line here. */
export const DEPENDENCIES: Readonly<Record<string, string>> = {
  '@fastify/cookie': 'cookies as browsers take them, for sessions of the control plane',
  '@fastify/multipart': 'uploads and forms in parts, as clients of the entity API send them',
  '@node-oauth/oauth2-server': 'OAuth 2.0: order and rules of its grants',
  '@node-rs/argon2': 'hashes of passwords: argon2id, off the thread that serves',
  '@node-saml/node-saml': 'login by SAML: requests, and signatures of XML that hold',
  '@platformatic/kafka':
    'lines to Apache Kafka: its protocol in JavaScript; 1.x runs on Node 20, 2.x does not',
  '@preact/signals': 'state of the console: a change renders only what shows it',
  '@scalar/fastify-api-reference':
    'the page of the API (/docs): its script for browsers, which the build copies',
  '@sinclair/typebox': 'schemas that are types and JSON Schema at once: settings, entities, API',
  '@zxcvbn-ts/language-common': 'the most common passwords, which no user may take',
  asn1js: 'charging data records of network elements: BER with limits of depth and values',
  aws4fetch: 'Signature Version 4 of S3: one file without dependencies',
  'bidi-js': 'order of right-to-left texts in PDF: the algorithm of Unicode',
  'csv-parse': 'CSV of imports as a stream: quotes, line ends and all',
  'csv-stringify': 'CSV of exports, quoted as other programs read it',
  'decimal.js': 'exact decimals of billing: taxes and final charges of lines',
  'dejavu-fonts-ttf': 'fonts of PDF: Latin, Greek, Cyrillic, Hebrew and Arabic, free to embed',
  fastify: 'HTTP of the control plane',
  ioredis: 'Redis client with cluster, pipelines and scripts',
  'ipaddr.js': 'which IP addresses are public: all special ranges of IPv4 and IPv6',
  ldapts: 'login by directories: the protocol LDAP, and TLS over it',
  liquidjs: 'templates of operators: escaped, sandboxed, errors with file and line',
  lmdb: 'durable storage of the embedded store: native code, which is not bundled',
  mongodb: 'the official MongoDB driver',
  msgpackr: 'packed values where they measure better than JSON',
  nodemailer: 'e-mails with invoices: SMTP with TLS, and messages that hold',
  otplib: 'second factor: codes by time (TOTP, RFC 6238)',
  pdfkit: 'PDF of invoices: text, embedded fonts and pictures, in pure JavaScript',
  pino: 'JSON logs that cost little',
  piscina: 'the pool of worker threads',
  preact: 'the console: components in 5 kB, which the build bundles',
  'prom-client': 'Prometheus metrics and the figures of the process',
  re2js: 'regular expressions of operators in linear time, whatever they are',
  saxes: 'XML of network elements: strict about what XML is, and it reads no entities',
  ssh2: 'SFTP: its own SSH in JavaScript, without a shell',
  stripe: 'charges of cards through Stripe: its own SDK',
  undici:
    'outgoing HTTP: pools per authority, with a lookup of its own (that of Node has no handle)',
  uplot: 'charts of live figures in the console: 15 minutes of seconds on a canvas',
  'uWebSockets.js': 'HTTP of the hot path',
  yaml: 'settings as people write them, with comments',
}

/** Dependencies of the packages of this repository. */
export const PACKAGE_DEPENDENCIES: Readonly<Record<string, string>> = {
  bson: 'documents of the MongoDB wire protocol',
  lmdb: 'durable storage of documents and index entries',
}

/** Dependencies for building, testing and measuring only. */
export const DEV_DEPENDENCIES: Readonly<Record<string, string>> = {
  '@biomejs/biome': 'format and lint',
  '@types/autocannon': 'types of the load generator',
  '@types/node': 'types of Node',
  '@types/nodemailer': 'types of nodemailer',
  '@types/smtp-server': 'types of smtp-server',
  '@types/ssh2': 'types of ssh2',
  '@types/pdfkit': 'types of pdfkit',
  ajv: 'answers checked against the schemas of the OpenAPI document',
  'axe-core': 'rules of accessibility (WCAG 2.2), checked on each page of the console',
  autocannon: 'load generator that is not ours',
  diameter: 'dictionary of AVPs, which a script extracts, and the independent peer in tests',
  'fast-check': 'properties with shrinking counterexamples',
  mupdf: 'reads and renders the PDF of invoices in tests: text, pages, pictures',
  'node-schematron': 'the official rules of EN 16931 (Schematron with XPath 2) over e-invoices',
  'openapi-typescript': 'types of the client and the console, from the OpenAPI documents',
  'playwright-core': 'a browser that fills in and submits forms, with the Chromium of the machine',
  'smtp-server': 'the mail server that tests send e-mails to',
  typescript: 'types, build, and the syntax trees of the project tests',
  rolldown: 'bundles packages and the console for the build; vitest contains it',
  vitest: 'test runner',
}

/** Names in a package.json that are not approved, and approved ones that it does not have. */
export function checkApproved(
  declared: Readonly<Record<string, string>>,
  approved: Readonly<Record<string, string>>,
): readonly string[] {
  const extra = Object.keys(declared).filter((name) => !Object.hasOwn(approved, name))
  const gone = Object.keys(approved).filter((name) => !Object.hasOwn(declared, name))
  return [
    ...extra.map((name) => `${name} is not approved`),
    ...gone.map((name) => `${name} is approved, but not a dependency`),
  ]
}

/** Versions from outside the registry: they cannot be audited or cached. */
export function checkVersions(declared: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(declared)
    .filter(
      ([, version]) => !/^(npm:@?[\w./-]+@)?[\^~]?\d+(\.\d+){0,2}([-+][\w.]+)*$/.test(version),
    )
    .map(([name, version]) => `${name} ${version} is not a version of the registry`)
}

/** Packages that src imports although they are not dependencies of the product. */
export function checkDeclared(
  files: readonly SourceFile[],
  declared: Readonly<Record<string, string>>,
): readonly string[] {
  return files.filter(isTypeScript).flatMap((file) =>
    importsOf(file)
      .filter(({ specifier }) => !specifier.startsWith('.') && !specifier.startsWith('node:'))
      .filter(({ specifier }) => !Object.hasOwn(declared, packageOf(specifier)))
      .map(({ specifier, line }) => `${file.path}:${line} ${specifier} is not a dependency`),
  )
}

/** Imports of files that are not in a folder, by files in it. */
export function checkInside(files: readonly SourceFile[], folder: string): readonly string[] {
  return files.filter(isTypeScript).flatMap((file) =>
    importsOf(file)
      .filter(({ specifier }) => specifier.startsWith('.'))
      .map(({ specifier, line }) => ({
        line,
        target: posix.join(posix.dirname(file.path), specifier),
      }))
      .filter(({ target }) => !target.startsWith(folder))
      .map(({ target, line }) => `${file.path}:${line} ${target} is outside of ${folder}`),
  )
}
