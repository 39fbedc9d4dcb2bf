import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { findOrProvideRedis, findRedis } from '../../src/embedded/redis/find.ts'
import { useFolderEach } from '../support/opened.ts'

type Entry = { version?: string; integrity?: string; optional?: boolean; dev?: boolean }
type Packages = Record<string, Entry>
type Lock = { packages: Packages }
type Setup = {
  checkNode(version?: string): void
  dependenciesMatch(lock: Lock, installed: Lock, options: { development: boolean }): boolean
  isBuildCurrent(root: string): boolean
}

const tree = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const script = (name: string) => join(tree, 'scripts', name)
const { checkNode, dependenciesMatch, isBuildCurrent } = (await import(
  script('setup.mjs')
)) as Setup
const folder = useFolderEach()

test('setup refuses an old Node by name', () => {
  expect(() => checkNode('20.18.3')).toThrow(/SetupError|Node 20\.18\.3 is too old.*20\.19/)
  expect(() => checkNode('18.20.0')).toThrow(/too old/)
  checkNode('20.19.0')
  checkNode('24.0.0')
})

describe('installed dependencies', () => {
  const lock = {
    packages: {
      '': {},
      'node_modules/a': { version: '1.0.0', integrity: 'x' },
      'node_modules/a-darwin': { version: '1.0.0', integrity: 'y', optional: true },
    },
  }
  test.each([
    [
      'the locked packages except those of another system',
      true,
      { a: { version: '1.0.0', integrity: 'x' } },
    ],
    ['another version', false, { a: { version: '1.0.1', integrity: 'x' } }],
    ['different content', false, { a: { version: '1.0.0', integrity: 'z' } }],
    ['nothing', false, {}],
    [
      'an additional package',
      false,
      { a: { version: '1.0.0', integrity: 'x' }, b: { version: '2.0.0' } },
    ],
    [
      'an optional package missing in the lock file',
      true,
      { a: { version: '1.0.0', integrity: 'x' }, b: { version: '2.0.0', optional: true } },
    ],
  ])('with %s: %s', (_, expected, present) => {
    const entries = Object.entries(present).map(([name, entry]) => [`node_modules/${name}`, entry])
    const installed = { packages: Object.fromEntries(entries) }
    expect(dependenciesMatch(lock, installed, { development: true })).toBe(expected)
  })

  test('of a start are those of the product and the bundler', () => {
    const packages: Packages = {
      '': {},
      'node_modules/a': { version: '1.0.0' },
      'node_modules/rolldown': { version: '1.0.0', dev: true },
      'node_modules/vitest': { version: '1.0.0', dev: true },
    }
    const matches = (gone: string, development: boolean) => {
      const { [`node_modules/${gone}`]: _, ...left } = packages
      return dependenciesMatch({ packages }, { packages: left }, { development })
    }
    expect(matches('vitest', false)).toBe(true)
    expect(matches('vitest', true)).toBe(false)
    for (const needed of ['a', 'rolldown']) expect(matches(needed, false)).toBe(false)
  })
})

test('a build is current until a source file is changed, added or removed', () => {
  const at = (path: string, seconds: number) => utimesSync(join(folder(), path), seconds, seconds)
  for (const dir of ['src/deep', 'dist']) mkdirSync(join(folder(), dir), { recursive: true })
  writeFileSync(join(folder(), 'src/deep/a.ts'), '')
  expect(isBuildCurrent(folder())).toBe(false)
  writeFileSync(join(folder(), 'dist/.stamp'), '')
  for (const path of ['src/deep/a.ts', 'src/deep', 'src']) at(path, 1000)
  at('dist/.stamp', 2000)
  expect(isBuildCurrent(folder())).toBe(true)
  at('src/deep/a.ts', 2001)
  expect(isBuildCurrent(folder())).toBe(false)
  at('src/deep/a.ts', 1000)
  at('src/deep', 2001)
  expect(isBuildCurrent(folder())).toBe(false)
})

describe('providing Redis on a machine without it', () => {
  const redis = join('redis-7.0.15', 'usr/bin/redis-server')

  /** Runs provideRedis with only the given programs (shell scripts) on the PATH. */
  function provide(programs: Record<string, string>) {
    const bin = join(folder(), 'bin')
    mkdirSync(bin)
    for (const [name, body] of Object.entries(programs)) {
      writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 })
    }
    const program = `
      import { provideRedis } from ${JSON.stringify(script('provide-redis.mjs'))}
      const say = (line) => console.log(line)
      provideRedis({ folder: ${JSON.stringify(join(folder(), 'redis'))}, say })`
    return spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      env: { PATH: bin },
    })
  }

  const server = (version: string) => `echo "Redis server v=${version} sha=0"`

  /** Substitutes for apt and dpkg-deb, which need a network. */
  function packagesWith(version: string): Record<string, string> {
    const body = `printf '#!/bin/sh\\n%s\\n' '${server(version)}' > "$3/usr/bin/redis-server"`
    const tools = 'PATH=/usr/bin:/bin'
    return {
      'apt-get': `${tools}\ncase "$*" in *download*) touch redis.deb;; esac`,
      'dpkg-deb': `${tools}\n[ "$1" = -x ] || exit 0
        mkdir -p "$3/usr/bin"\n${body}\nchmod +x "$3/usr/bin/redis-server"`,
      ldd: 'exit 0',
    }
  }

  test('unpacks the packages where the product finds them, once', async () => {
    const first = provide(packagesWith('7.0.15'))
    expect(first.stderr).toBe('')
    expect(first.stdout).toMatch(/unpacking Debian's packages in .*\n.*7\.0\.15 ready/)
    const found = await findRedis(folder(), 'redis-server-that-is-not-there', folder())
    expect(found.command).toBe(join(folder(), 'redis', redis))
    rmSync(join(folder(), 'bin'), { recursive: true })
    expect(provide({})).toMatchObject({ status: 0, stdout: '', stderr: '' })
  })

  test('refuses packages that are too old, and leaves nothing behind', async () => {
    const failed = provide(packagesWith('6.0.16'))
    expect(failed.status).toBe(1)
    expect(failed.stderr).toMatch(/RedisUnavailableError: .*6\.0\.16 \(needs 6\.2\)/)
    await expect(findRedis(folder(), 'redis-server-that-is-not-there', folder())).rejects.toThrow()
  })

  test('without apt, prints instructions', () => {
    const failed = provide({ brew: 'exit 0' })
    expect(failed.stderr).toMatch(/RedisUnavailableError: no redis-server >= 6\.2/)
    expect(failed.stderr).toMatch(/run: brew install redis/)
  })

  test('is done by the first start of a package', async () => {
    const said: string[] = []
    const provided = `console.log('Redis: unpacking')
      import { mkdirSync, writeFileSync } from 'node:fs'
      const [, , folder] = process.argv
      mkdirSync(folder, { recursive: true })
      writeFileSync(folder + '/server', '#!/bin/sh\\necho v=7.0.15', { mode: 0o755 })
      writeFileSync(folder + '/redis.json', '{"server":"server","libraryPath":[]}')`
    mkdirSync(join(folder(), 'scripts'))
    const place = join(folder(), 'scripts/provide-redis.mjs')
    const find = () =>
      findOrProvideRedis(
        join(folder(), 'data'),
        (line) => said.push(line),
        'redis-server-that-is-not-there',
        folder(),
      )
    await expect(find()).rejects.toThrow('not found')
    writeFileSync(place, "process.stderr.write('no apt here'); process.exitCode = 1")
    await expect(find()).rejects.toThrow(/^no apt here$/)
    writeFileSync(place, provided)
    expect(await find()).toMatchObject({ version: '7.0.15' })
    expect(await find()).toMatchObject({ command: join(folder(), 'data/redis/server') })
    expect(said).toEqual(['Redis: unpacking'])
  })
})
