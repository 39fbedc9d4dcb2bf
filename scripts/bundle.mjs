// Bundles the programs with the packages that they use, one file for each process, thread, role and
// command; files share chunks. A process loads in half the time that single modules would take.
import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** A bundle of its own: what only commands need would divide the others into more chunks. */
const COMMAND_LINE = ['src/main']
const PROCESSES = [
  ...['src/role-process', 'src/loop-thread', 'src/embedded/mongo'],
  ...['src/workers/main', 'src/billing/run/thread', 'src/billing/run/document-thread'],
]
/** Programs of `bench`, and modules of it that Node starts or loads into the product. */
const BENCHMARKS = [
  ...['catalogue', 'codecs', 'compare', 'console', 'cycle', 'delivery', 'diameter', 'docs'],
  ...['entities', 'hostile', 'import', 'intake', 'main', 'matching', 'payments', 'reports', 'wire'],
  ...['console/attackers', 'echo-server', 'event-receivers', 'generator/process'],
  ...['preload/loop-delay', 'preload/profile', 'preload/slow-commits'],
].map((name) => `bench/${name}`)

/** Packages that stay in node_modules. */
export const EXTERNAL = [
  // Native code.
  ...['@node-rs/argon2', 'lmdb', 'msgpackr-extract', 'uWebSockets.js'],
  // It looks for native code that is not installed.
  'ssh2',
  // They read other files of theirs.
  ...['@platformatic/kafka', 'pdfkit', 'piscina'],
  // Optional packages of mongodb, which are not installed.
  ...['@aws-sdk/credential-providers', '@mongodb-js/zstd', 'aws4', 'gcp-metadata', 'kerberos'],
  ...['mongodb-client-encryption', 'snappy', 'socks'],
]

/** Benchmarks share chunks with the processes: a preload changes a class of a package in them. */
export async function bundleProduct({ benchmarks }) {
  await bundle(COMMAND_LINE)
  await bundle(benchmarks ? [...PROCESSES, ...BENCHMARKS] : PROCESSES)
}

async function bundle(entries) {
  const outside = [...EXTERNAL, ...developmentPackages()]
  const build = await rolldown({
    ...optionsFor((path) => `new URL('${path}', $dist).href`),
    input: Object.fromEntries(entries.map((entry) => [entry, join(root, `${entry}.ts`)])),
    external: (id) =>
      isBuiltin(id) || outside.some((name) => id === name || id.startsWith(`${name}/`)),
    logLevel: 'warn',
  })
  const depthOf = ({ fileName }) => '../'.repeat(fileName.split('/').length - 1)
  await build.write({
    dir: join(root, 'dist'),
    format: 'esm',
    sourcemap: true,
    sourcemapExcludeSources: true,
    comments: { legal: true, annotation: false, jsdoc: false },
    entryFileNames: '[name].js',
    chunkFileNames: 'src/chunks/[name]-[hash].js',
    intro: (chunk) => `const $dist = new URL('./${depthOf(chunk)}', import.meta.url)`,
  })
  await build.close()
}

/** Packages that only development needs; `ajv`, for example, is also a dependency of fastify. */
function developmentPackages() {
  const read = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'))
  const { packages } = read('package-lock.json')
  return Object.keys(read('package.json').devDependencies).filter(
    (name) => packages[`node_modules/${name}`].dev,
  )
}

/** Writes a module and those of ours that it imports as one file, below this folder. */
export async function bundleModule(module, file) {
  const build = await rolldown({
    ...optionsFor((path) => `'${pathToFileURL(join(root, path)).href}'`),
    input: module,
    external: (id) => !/^[./]/.test(id),
    logLevel: 'warn',
  })
  await build.write({ file, format: 'esm', codeSplitting: false })
  await build.close()
}

/**
 * Modules find their files by their URL: that of their path from the root, rendered by `urlOf`.
 */
function optionsFor(urlOf) {
  const render = (code, id) =>
    code.replaceAll('import.meta.url', urlOf(relative(root, id).replace(/ts$/, 'js')))
  return {
    cwd: root,
    platform: 'node',
    tsconfig: false,
    transform: { target: 'node20' },
    resolve: { conditionNames: ['source', 'node', 'import', 'module', 'default'] },
    plugins: [
      {
        name: 'module-urls',
        transform: {
          filter: { id: /\/(?:src|bench|test)\/.*\.ts$/, code: 'import.meta.url' },
          handler: (code, id) => ({ code: render(code, id), map: null }),
        },
      },
    ],
  }
}

const isBuiltin = (id) => id.startsWith('node:') || builtinModules.includes(id)
