// Builds the files of the operator console: scripts in chunks, one stylesheet, the page and its
// icon, with hashes in their names, each also compressed.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
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
  const add = (name, ending, text) => {
    const hash = createHash('sha256').update(text).digest('base64url').slice(0, 8)
    files.set(`${name}-${hash}.${ending}`, text)
    return `${name}-${hash}.${ending}`
  }
  const entry = output.find(({ isEntry }) => isEntry)
  const links = {
    'main.js': entry.fileName,
    'style.css': add('style', 'css', [...styles.values()].join('')),
    'icon.svg': add('icon', 'svg', readFileSync(join(source, 'icon.svg'), 'utf8').trim()),
  }
  const page = readFileSync(join(source, 'index.html'), 'utf8')
  const linked = page.replaceAll(/(href|src)="([\w.]+)"/g, (_, attribute, name) => {
    return `${attribute}="console/${links[name]}"`
  })
  // The imports of the first script are loaded beside it.
  const preloads = entry.imports.map((name) => {
    return `<link rel="modulepreload" href="console/${name}">\n    `
  })
  files.set('index.html', linked.replace('<script', `${preloads.join('')}<script`))
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
  const options = { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, options))
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
}
