// Bundles packages of many files into dist/node_modules, where the built modules find them before
// those in node_modules: a process of the product then loads about a third faster.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Packages, and the modules of each that src imports. */
export const PACKAGES = {
  '@fastify/cookie': ['.'],
  '@fastify/multipart': ['.'],
  '@node-oauth/oauth2-server': ['.'],
  '@node-saml/node-saml': ['.'],
  '@sinclair/typebox': ['.', './value'],
  '@tollgate/embedded-mongo': ['.'],
  'csv-parse': ['.'],
  'csv-stringify': ['./sync'],
  fastify: ['.'],
  ioredis: ['.'],
  ldapts: ['.'],
  mongodb: ['.', './lib/cmap/connection.js'],
  msgpackr: ['.'],
  pino: ['.'],
  'prom-client': ['.'],
  re2js: ['.'],
  saxes: ['.'],
  yaml: ['.'],
}

/** Native code, and optional packages of mongodb, which are not installed. */
const EXTERNAL = [
  ...['lmdb', 'msgpackr-extract', 'aws4', 'gcp-metadata', 'kerberos', 'snappy', 'socks'],
  ...['@aws-sdk/credential-providers', '@mongodb-js/zstd', 'mongodb-client-encryption'],
]

export async function bundlePackages(folder = join(root, 'dist/node_modules')) {
  const entries = new Map()
  for (const [name, paths] of Object.entries(PACKAGES)) {
    for (const path of paths) entries.set(fileOf(name, path), await entryOf(join(name, path)))
  }
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries([...entries.keys()].map((file) => [file, file])),
    platform: 'node',
    external: [...EXTERNAL, ...builtinModules, /^node:/],
    plugins: [
      {
        name: 'entries',
        resolveId: (id) => (entries.has(id) ? { id } : null),
        load: (id) => entries.get(id) ?? null,
      },
    ],
    logLevel: 'warn',
  })
  rmSync(folder, { recursive: true, force: true })
  await bundle.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name]',
    chunkFileNames: 'chunks/[name]-[hash].js',
  })
  await bundle.close()
  for (const [name, paths] of Object.entries(PACKAGES)) {
    const exports = Object.fromEntries(paths.map((path) => [path, `./${moduleOf(path)}`]))
    const description = { name, type: 'module', exports }
    mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(join(folder, name, 'package.json'), JSON.stringify(description))
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
}

const moduleOf = (path) => `${path === '.' ? 'index' : path.slice(2)}.js`
const fileOf = (name, path) => `${name}/${moduleOf(path)}`

/** The names are those that Node finds: a bundler cannot tell them for a CommonJS package. */
async function entryOf(specifier) {
  const names = Object.keys(await import(specifier)).filter((name) => /^[\w$]+$/.test(name))
  const named = names.filter((name) => name !== 'default')
  return [
    `import * as all from '${specifier}'`,
    ...named.map((name) => `const _${name} = all.${name}`),
    `export { ${named.map((name) => `_${name} as ${name}`).join(', ')} }`,
    ...(names.includes('default') ? ['export default all.default'] : []),
  ].join('\n')
}
