// Writes the list of the packages that run in production, as CycloneDX: node scripts/sbom.mjs
// [FILE]. Needs no network. `npm sbom --omit dev` alone omits packages that development needs too
// (such as yaml), so npm receives a lock file without development packages, and its result is
// compared with that file.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const NPM = ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only']

const readJson = (name) => JSON.parse(readFileSync(join(ROOT, name), 'utf8'))

/** package.json and the lock file without development dependencies. */
function productionFiles() {
  const { devDependencies: _, ...manifest } = readJson('package.json')
  const lock = readJson('package-lock.json')
  const { devDependencies: __, ...top } = lock.packages['']
  const kept = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && !dev)
  return { manifest, lock: { ...lock, packages: { '': top, ...Object.fromEntries(kept) } } }
}

/** The CycloneDX document. Throws if npm fails or omits a package. */
export function makeSbom() {
  const { manifest, lock } = productionFiles()
  const temporary = mkdtempSync(join(tmpdir(), 'tollgate-sbom-'))
  // npm names the product after its folder.
  const folder = join(temporary, manifest.name)
  try {
    mkdirSync(folder)
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
    const ownPackages = []
    for (const [path, entry] of Object.entries(lock.packages)) {
      if (!path.startsWith('packages/')) continue
      ownPackages.push(entry)
      cpSync(join(ROOT, path, 'package.json'), join(folder, path, 'package.json'))
    }
    const options = { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }
    const bom = JSON.parse(execFileSync('npm', NPM, options))
    // npm names a package of this repository after its folder.
    for (const { name, version } of ownPackages) {
      const component = bom.components.find((each) => each['bom-ref'] === `${name}@${version}`)
      if (component) component.name = name
    }
    const listed = new Set(bom.components.map(({ name, version }) => `${name} ${version}`))
    const missing = Object.entries(lock.packages).filter(([path, entry]) => {
      const { version, optional, peer, link } = entry
      const name = path.startsWith('packages/') ? entry.name : path.replace(/^.*node_modules\//, '')
      return path !== '' && !optional && !peer && !link && !listed.has(`${name} ${version}`)
    })
    if (missing.length === 0) return bom
    throw new Error(`npm sbom leaves out ${missing.map(([path]) => path).join(', ')}`)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const file = process.argv[2] ?? join(ROOT, 'dist/sbom.cdx.json')
  const bom = makeSbom()
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(bom, null, 2)}\n`)
  process.stdout.write(`${bom.components.length} packages: ${file}\n`)
}
