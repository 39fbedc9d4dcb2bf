import { describe, expect, it } from 'vitest'
import {
  checkImports,
  importsOf,
  MODULES,
  moduleOf,
  PACKAGE_PREFIXES,
  unusedPermissions,
} from './imports.ts'
import { HOUSE, readTree, report, type SourceFile } from './tree.ts'

/** Files that the imports in these tests may refer to. */
const NEIGHBOURS: readonly SourceFile[] = [
  ...Object.keys(MODULES).map((module) => ({ path: `src/${module}/a.ts`, text: '' })),
  { path: 'src/catalog/signature/a.ts', text: '' },
  { path: 'src/admin/http/a.ts', text: '' },
  { path: 'src/main.ts', text: '' },
]

function problems(path: string, text: string): readonly string[] {
  const rest = NEIGHBOURS.filter((file) => file.path !== path)
  return checkImports([...rest, { path, text }]).map((violation) => violation.rule)
}

describe('the project', () => {
  const files = readTree(HOUSE, ['src'])

  it('respects the import table and the module of every package', () => {
    expect(files.length).toBeGreaterThan(0)
    expect(report(checkImports(files))).toEqual([])
  })

  it('has no permission that no file uses', () => {
    expect(unusedPermissions(files)).toEqual([])
  })

  it('has no module that is missing in the import table', () => {
    const modules = new Set(files.map(({ path }) => moduleOf(path)))
    const unknown = [...modules].filter(
      (module) => module !== 'main' && !Object.hasOwn(MODULES, module),
    )
    expect(unknown).toEqual([])
  })

  it('has an import table without cycles, except imports within a module', () => {
    const table: Readonly<Record<string, readonly string[]>> = MODULES
    const reach = (module: string, path: readonly string[]): void => {
      expect(path).not.toContain(module)
      for (const next of table[module] ?? []) reach(next, [...path, module])
    }
    for (const module of Object.keys(MODULES)) reach(module, [])
  })
})

describe('an import is refused', () => {
  it.each([
    ['src/domain/b.ts', "import { x } from '../ledger/a.ts'", 'domain may not import ledger'],
    ['src/domain/b.ts', "import type { x } from '../config/a.ts'", 'domain may not import config'],
    ['src/domain/b.ts', "export * from '../rating/a.ts'", 'domain may not import rating'],
    ['src/ledger/b.ts', "await import('../catalog/a.ts')", 'ledger may not import catalog'],
    ['src/ledger/b.ts', "type X = import('../catalog/a.ts').X", 'ledger may not import catalog'],
    ['src/admin/b.ts', "import { x } from '../workers/a.ts'", 'admin may not import workers'],
    ['src/admin/b.ts', "await import('../embedded/a.ts')", 'admin may not import embedded'],
    ['src/cli/b.ts', "import { x } from '../realtime/a.ts'", 'cli may not import realtime'],
    ['src/admin/b.ts', "import { x } from '../main.ts'", 'admin may not import main'],
    [
      'src/requests/b.ts',
      "import { x } from '../entities/a.ts'",
      'requests may not import entities',
    ],
    [
      'src/identity/b.ts',
      "import { x } from '../entities/a.ts'",
      'identity may not import entities',
    ],
    ['src/entities/b.ts', "import { x } from '../admin/a.ts'", 'entities may not import admin'],
    ['src/cli/b.ts', "import { x } from '../admin/http/a.ts'", 'cli may not import admin/http'],
    ['src/cli/b.ts', "import { x } from '../main.ts'", 'cli may not import main'],
    ['src/attic/b.ts', "import { x } from '../domain/a.ts'", 'attic may not import domain'],
  ])('by the table: %s %s', (path, text, rule) => {
    expect(problems(path, text)).toEqual([rule])
  })

  it.each([
    ['../../test/support/redis.ts', 'src never imports test/support/redis.ts'],
    ['../../scripts/build.mjs', 'src never imports scripts/build.mjs'],
    ['../../bench/main.ts', 'src never imports bench/main.ts'],
    ['../config/a.js', 'an import of our own ends in .ts, not ../config/a.js'],
    ['../config/missing.ts', 'there is no src/config/missing.ts'],
  ])('outside the product: %s', (specifier, rule) => {
    expect(problems('src/runtime/b.ts', `import { x } from '${specifier}'`)).toEqual([rule])
  })

  it.each([
    ['src/domain/b.ts', 'node:fs', 'domain is pure: no node:fs'],
    ['src/domain/b.ts', 'decimal.js', 'domain is pure: no decimal.js'],
    ['src/rating/b.ts', 'msgpackr', 'rating is pure: no msgpackr'],
  ])('into a pure module: %s %s', (path, specifier, rule) => {
    expect(problems(path, `import x from '${specifier}'`)).toEqual([rule])
  })

  it.each([...Object.keys(PACKAGE_PREFIXES), '@fastify/cookie', 'mongodb/lib/x'])(
    'of a package outside its module: %s',
    (specifier) => {
      expect(problems('src/recorder/b.ts', `import type { x } from '${specifier}'`)).toHaveLength(1)
      expect(problems('src/recorder/b.ts', `import '${specifier}'`)).toHaveLength(1)
      expect(problems('src/recorder/b.ts', `await import('${specifier}')`)).toHaveLength(1)
    },
  )

  it.each([
    ['src/realtime/http/b.ts', "import { x } from 'piscina'"],
    ['src/realtime/pool.ts', "import { x } from 'uWebSockets.js'"],
    ['src/store/b.ts', "import { x } from 'mongodb'"],
  ])('of a package from a neighbouring module: %s %s', (path, text) => {
    expect(problems(path, text)).toHaveLength(1)
  })

  it('of catalog by realtime, unless it is a type or part of signatures', () => {
    const rule = 'realtime may import only types from catalog'
    const compiled = "import { x } from '../catalog/signature/a.ts'"
    expect(problems('src/realtime/b.ts', compiled)).toEqual([])
    const mixed = "import { type X, y } from '../catalog/a.ts'"
    expect(problems('src/realtime/b.ts', mixed)).toEqual([rule])
    expect(problems('src/realtime/b.ts', "import { type X } from '../catalog/a.ts'")).toEqual([])
    expect(problems('src/realtime/b.ts', "import type { X } from '../catalog/a.ts'")).toEqual([])
    const pure = "import { x } from '../catalog/signature/a.ts'"
    expect(problems('src/realtime/b.ts', pure)).toEqual([])
  })
})

describe('an import is allowed', () => {
  it.each([
    ['src/main.ts', "import { x } from './realtime/a.ts'\nimport { y } from './embedded/a.ts'"],
    ['src/cli/b.ts', "import { x } from '../embedded/a.ts'\nimport { y } from '../admin/a.ts'"],
    ['src/admin/b.ts', "import { x } from './http/a.ts'"],
    ['src/workers/b.ts', "import { x } from '../ledger/a.ts'"],
    ['src/store/b.ts', "import { Redis } from 'ioredis'"],
    ['src/catalog/b.ts', "import { MongoClient } from 'mongodb'"],
    ['src/realtime/http/b.ts', "import uws from 'uWebSockets.js'"],
    ['src/realtime/worker-thread.ts', "import { Piscina } from 'piscina'"],
    ['src/embedded/redis/b.ts', "import net from 'node:net'\nimport { x } from '../a.ts'"],
    ['src/rating/b.ts', "import { Decimal } from 'decimal.js'"],
    ['src/config/b.ts', "import { readFileSync } from 'node:fs'"],
  ])('%s %s', (path, text) => {
    expect(problems(path, text)).toEqual([])
  })

  it('in a comment or in a text', () => {
    const text = "// import { x } from '../ledger/a.ts'\nconst t = \"import '../ledger/a.ts'\""
    expect(importsOf({ path: 'src/domain/b.ts', text })).toEqual([])
  })
})

it('a permission counts as used by a type, too, and by a package of its prefix', () => {
  const before = unusedPermissions([])
  const text = "import type { x } from '../domain/a.ts'\nimport { Decimal } from 'decimal.js'"
  const after = unusedPermissions([{ path: 'src/rating/b.ts', text }])
  expect(before.filter((each) => !after.includes(each))).toEqual([
    'rating > domain',
    'rating > decimal.js',
  ])
  const mongo = { path: 'src/catalog/b.ts', text: "import { Db } from 'mongodb/lib/db'" }
  expect(before).toContain('catalog/ > mongodb')
  expect(unusedPermissions([mongo])).not.toContain('catalog/ > mongodb')
})
