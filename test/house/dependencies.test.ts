import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  checkApproved,
  checkDeclared,
  checkInside,
  checkVersions,
  DEPENDENCIES,
  DEV_DEPENDENCIES,
  PACKAGE_DEPENDENCIES,
} from './dependencies.ts'
import { HOUSE, readTree } from './tree.ts'

type Manifest = {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

interface Bom {
  bomFormat: string
  metadata: { component: { name: string } }
  components: { name: string }[]
}

describe('the project', () => {
  const text = readFileSync(join(HOUSE, 'package.json'), 'utf8')
  const { dependencies, devDependencies }: Manifest = JSON.parse(text)

  it('depends only on packages approved with a reason', () => {
    expect(checkApproved(dependencies, DEPENDENCIES)).toEqual([])
    expect(checkApproved(devDependencies, DEV_DEPENDENCIES)).toEqual([])
  })

  it('installs every dependency from the registry', () => {
    expect(checkVersions({ ...dependencies, ...devDependencies })).toEqual([])
  })

  it('has no dependencies of the package diameter in production', () => {
    const lock = JSON.parse(readFileSync(join(HOUSE, 'package-lock.json'), 'utf8'))
    const packages: Record<string, { dev?: boolean }> = lock.packages
    const found = Object.keys(packages).filter((path) =>
      /^node_modules\/(?:diameter|lodash|bluebird|long)$/.test(path),
    )
    expect(found).toContain('node_modules/diameter')
    expect(found.filter((path) => packages[path]?.dev !== true)).toEqual([])
  })

  it('lists the packages of production, without those of development only', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tg-sbom-'))
    try {
      const file = join(folder, 'sbom.json')
      execFileSync(process.execPath, [join(HOUSE, 'scripts/sbom.mjs'), file], { stdio: 'pipe' })
      const bom: Bom = JSON.parse(readFileSync(file, 'utf8'))
      expect([bom.bomFormat, bom.metadata.component.name]).toEqual(['CycloneDX', 'tollgate'])
      const names = bom.components.map(({ name }) => name)
      expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)))
      for (const gone of ['lodash', 'bluebird', 'diameter', 'vitest', 'typescript']) {
        expect(names).not.toContain(gone)
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('omits the packages of the build in production (npm ls)', () => {
    const options = { cwd: HOUSE, encoding: 'utf8', stdio: 'pipe' } as const
    const listed = execFileSync('npm', ['ls', '--all', '--json', '--omit', 'dev'], options)
    for (const gone of ['lodash', 'bluebird', 'diameter'])
      expect(listed).not.toContain(`"${gone}":`)
  })

  it('imports in src only dependencies of the product', () => {
    // The package of this repository is part of the bundle.
    const declared = { ...dependencies, '@tollgate/embedded-mongo': '' }
    expect(checkDeclared(readTree(HOUSE, ['src']), declared)).toEqual([])
  })

  it('has a package with its own dependencies, and with imports from nowhere else', () => {
    const folder = 'packages/embedded-mongo'
    const manifest = readFileSync(join(HOUSE, folder, 'package.json'), 'utf8')
    const { dependencies: own }: Manifest = JSON.parse(manifest)
    expect(checkApproved(own, PACKAGE_DEPENDENCIES)).toEqual([])
    expect(checkVersions(own)).toEqual([])
    const files = readTree(HOUSE, [`${folder}/src`])
    expect(files.length).toBeGreaterThan(50)
    expect(checkDeclared(files, own)).toEqual([])
    expect(checkInside(files, `${folder}/src/`)).toEqual([])
  })

  it('has a client without dependencies', () => {
    const folder = 'packages/client'
    const manifest = JSON.parse(readFileSync(join(HOUSE, folder, 'package.json'), 'utf8'))
    expect(Object.keys(manifest)).not.toContain('dependencies')
    const files = readTree(HOUSE, [`${folder}/src`])
    expect(checkDeclared(files, {})).toEqual([])
    expect(checkInside(files, `${folder}/`)).toEqual([])
  })
})

describe('a dependency is refused', () => {
  it('on a file outside of its package', () => {
    const text = "import { a } from '../../../src/a.ts'\nimport { b } from './b.ts'\n"
    expect(checkInside([{ path: 'packages/p/src/c.ts', text }], 'packages/p/src/')).toEqual([
      'packages/p/src/c.ts:1 src/a.ts is outside of packages/p/src/',
    ])
  })

  it('that is not approved, as is an approval that is not needed', () => {
    expect(checkApproved({ lodash: '^4.0.0' }, { yaml: 'settings' })).toEqual([
      'lodash is not approved',
      'yaml is approved, but not a dependency',
    ])
  })

  it.each([
    'git+https://example.org/a.git',
    'github:a/b',
    'https://example.org/a.tgz',
    'file:../a',
    '*',
    'latest',
  ])('that does not come from the registry: %s', (version) => {
    expect(checkVersions({ a: version })).toHaveLength(1)
  })

  it.each(['^1.2.3', '~1.2', '5.9', 'npm:@a/b@^20.30.0-unofficial.0'])(
    'unless it is a version of the registry: %s',
    (version) => {
      expect(checkVersions({ a: version })).toEqual([])
    },
  )

  it('that src uses without declaring it', () => {
    const text = "import 'node:fs'\nimport './b.ts'\nimport a from 'yaml/x'\nimport b from '@a/b/c'"
    const found = checkDeclared([{ path: 'src/store/a.ts', text }], { yaml: '^2.0.0' })
    expect(found).toEqual(['src/store/a.ts:4 @a/b/c is not a dependency'])
  })
})
