// Builds the files of the operator console (scripts in chunks, one stylesheet, the page and its
// icon) and those of the page of the API, with hashes in their names, each also compressed.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import scalar from '@scalar/fastify-api-reference'
import fastify from 'fastify'
import { rolldown } from 'rolldown'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const home = join(root, 'packages/console')
const source = join(home, 'src')

/** `main`: another begin of the program, in tests. */
export async function buildConsole({
  folder = join(root, 'dist/src/admin/console/built'),
  main = join(source, 'main.tsx'),
} = {}) {
  const styles = new Map()
  const bundle = await rolldown({
    cwd: root,
    input: { main },
    preserveEntrySignatures: false,
    platform: 'browser',
    tsconfig: join(home, 'tsconfig.json'),
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    plugins: [styleSheets(styles)],
    logLevel: 'warn',
  })
  const { output } = await bundle.generate({
    format: 'esm',
    minify: true,
    comments: { legal: true, annotation: false, jsdoc: false },
    entryFileNames: '[name]-[hash].js',
    chunkFileNames: ({ facadeModuleId }) => `${pageOf(facadeModuleId) ?? '[name]'}-[hash].js`,
  })
  await bundle.close()
  const files = new Map(output.map((chunk) => [chunk.fileName, chunk.code]))
  const add = adderTo(files)
  const entry = output.find(({ isEntry }) => isEntry)
  const links = {
    'main.js': entry.fileName,
    'style.css': add('style', 'css', [...styles.values()].join('')),
    'icon.svg': add('icon', 'svg', readFileSync(join(source, 'icon.svg'), 'utf8').trim()),
  }
  const linked = linkedPage(source, 'console', links)
  // The imports of the first script are loaded beside it.
  const preloads = entry.imports.map((name) => {
    return `<link rel="modulepreload" href="console/${name}">\n    `
  })
  files.set('index.html', linked.replace('<script', `${preloads.join('')}<script`))
  writeAll(folder, files)
}

/** The page of the API: the script of Scalar and the one that calls it. */
export async function buildApiPage({ folder = join(root, 'dist/src/admin/openapi/built') } = {}) {
  const home = join(root, 'src/admin/openapi/page')
  const files = new Map()
  const add = adderTo(files)
  const links = {
    'scalar.js': add('scalar', 'js', await scriptOfScalar()),
    'main.js': add('main', 'js', readFileSync(join(home, 'main.js'), 'utf8')),
    'icon.svg': add('icon', 'svg', readFileSync(join(source, 'icon.svg'), 'utf8').trim()),
  }
  files.set('index.html', linkedPage(home, 'docs', links))
  writeAll(folder, files)
}

/** Its package has it as a text, which only a route of its plugin sends. */
async function scriptOfScalar() {
  const server = fastify()
  await server.register(scalar, { configuration: { url: '/' } })
  const { statusCode, payload } = await server.inject('/reference/js/scalar.js')
  await server.close()
  if (statusCode !== 200) throw new Error(`the script of Scalar: HTTP ${statusCode}`)
  const license = readFileSync(join(root, 'node_modules/@scalar/fastify-api-reference/LICENSE'))
  return `/*!\n${license}*/\n${payload.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '')}`
}

/** Adds a text to files under a name with its hash, which it returns. */
function adderTo(files) {
  return (name, ending, text) => {
    const hash = createHash('sha256').update(text).digest('base64url').slice(0, 8)
    files.set(`${name}-${hash}.${ending}`, text)
    return `${name}-${hash}.${ending}`
  }
}

/** The page in a folder, with the built files in its links. */
function linkedPage(home, prefix, links) {
  const page = readFileSync(join(home, 'index.html'), 'utf8')
  return page.replaceAll(/(href|src)="([\w.]+)"/g, (found, attribute, name) => {
    return links[name] === undefined ? found : `${attribute}="${prefix}/${links[name]}"`
  })
}

function writeAll(folder, files) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of files) write(join(folder, name), Buffer.from(text))
}

/** The folder of a page; null for other modules. */
function pageOf(module) {
  return /\/pages\/([\w-]+)\/page\.tsx$/.exec(module ?? '')?.[1] ?? null
}

/** Rolldown bundles no CSS: collects the imported stylesheets in the order of their imports. */
function styleSheets(styles) {
  return {
    name: 'style-sheets',
    load(id) {
      if (!id.endsWith('.css')) return null
      const text = readFileSync(id, 'utf8').replaceAll(/\/\*.*?\*\//gs, '')
      styles.set(id, text.replaceAll(/\s*\n\s*/g, '\n').replace(/^\n/, ''))
      return { code: '', moduleType: 'js', moduleSideEffects: false }
    },
  }
}

function write(path, bytes) {
  writeFileSync(path, bytes)
  const params = {
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    // The highest level takes ten seconds for the script of Scalar, and saves a tenth of its size.
    [constants.BROTLI_PARAM_QUALITY]: bytes.length > 1_000_000 ? 9 : 11,
  }
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }))
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
}
