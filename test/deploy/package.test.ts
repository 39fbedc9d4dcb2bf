/** A user runs the package from npm: only a process in a folder of its own shows that it starts. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { HOUSE } from '../house/tree.ts'
import { createProduct, shell } from '../support/cli/product.ts'

interface Packed {
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

const product = createProduct()
const folder = dirname(product.dataDir)
afterAll(() => product.close())

function npm(cwd: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm ${args.join(' ')}: ${stderr}${stdout}`)
  return stdout
}

describe('the package', () => {
  const [packed] = JSON.parse(npm(HOUSE, 'pack', '--json', '--pack-destination', folder)) as [
    Packed,
  ]

  it('contains the built product, its settings and an example, and no sources or tests', () => {
    const paths = packed.files.map(({ path }) => path)
    const main = ['bin/tollgate.mjs', 'dist/src/main.js', 'dist/config/default.yaml', 'LICENSE']
    expect(paths).toEqual(expect.arrayContaining(main))
    const folders = /^(?:bin|dist\/src|dist\/config|examples)\//
    const others = [
      ...['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'],
      'scripts/provide-redis.mjs',
    ]
    expect(paths.filter((path) => !folders.test(path))).toEqual(others)
  })

  it('depends only on packages of the registry', () => {
    const text = readFileSync(join(HOUSE, 'package.json'), 'utf8')
    const names = Object.keys(JSON.parse(text).dependencies)
    expect(names.filter((name) => name.startsWith('@tollgate/'))).toEqual([])
  })

  it('starts in an empty folder, and charges as README.md shows', async () => {
    const options = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
    npm(folder, 'install', `./${packed.filename}`, ...options)
    expect(existsSync(join(folder, 'node_modules/rolldown'))).toBe(false)
    // Unpacked before if this machine has no Redis; the packages of Debian need the network.
    const redis = join(HOUSE, 'data/redis')
    if (existsSync(join(redis, 'redis.json'))) {
      cpSync(redis, join(product.dataDir, 'redis'), { recursive: true })
    }
    // npx itself passes on no signal that only it gets.
    const started = await product.start(
      {},
      [join(folder, 'node_modules/.bin/tollgate'), 'start'],
      folder,
    )
    const answers = []
    for (const line of started.curls) answers.push(JSON.parse(await shell(line)))
    expect(answers).toMatchObject([0, 1, 2].map((requestNum) => ({ returnCode: 1, requestNum })))
    const [, command = ''] = /^Its balances: (.*)$/m.exec(started.output()) ?? []
    expect(command).toBe('npx tollgate balance show --sid 1001')
    const shown = await shell(`cd ${folder} && ${command} --json`)
    const buckets: { name: string }[] = JSON.parse(shown).buckets
    const pack = buckets.find(({ name }) => name === 'DATA_PACK')
    expect(pack).toMatchObject({ spent: 11 * 1024 ** 2 })
    started.signal('SIGINT')
    expect((await started.ended).stdout).toContain('tollgate has stopped')
  })
})
