/** The image cannot be built here: its build steps run in a folder, without Docker. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { HOUSE } from '../house/tree.ts'
import {
  type Copy,
  copiesOf,
  ignoredBy,
  parseDockerfile,
  type Stage,
} from '../support/deploy/dockerfile.ts'
import { runScript } from '../support/deploy/health.ts'
import { useFolder } from '../support/opened.ts'

const read = (path: string) => readFileSync(join(HOUSE, path), 'utf8')
const stages = parseDockerfile(read('Dockerfile'))
const isIgnored = ignoredBy(read('.dockerignore'))
const [build, final] = stages as [Stage, Stage]
const textsOf = (stage: Stage, keyword: string) =>
  stage.instructions.filter((one) => one.keyword === keyword).map(({ text }) => text)

const folder = useFolder()
describe('.dockerignore', () => {
  it.each([
    'data/redis/a.aof',
    'node_modules/a/b.js',
    '.git/config',
    'test/a.ts',
    '.env',
    'dist/a',
  ])('excludes %s', (path) => {
    expect(isIgnored(path)).toBe(true)
  })

  it.each(['package.json', 'src/main.ts', 'src/ledger/lua/commit.lua', 'scripts/build.mjs'])(
    'includes %s',
    (path) => {
      expect(isIgnored(path)).toBe(false)
    },
  )
})

describe('the image', () => {
  it('is built in two stages, from one pinned and maintained version of Node', () => {
    expect(stages).toHaveLength(2)
    expect(final.image).toBe(build.image.replace(/ AS build$/, ''))
    expect(final.image).toMatch(/^node:(24|26)-[a-z]+-slim$/)
  })

  it('copies existing files, and nothing that only the build needs', () => {
    const ours = [...copiesOf(build), ...copiesOf(final)].filter(({ from }) => from === undefined)
    for (const source of ours.flatMap(({ sources }) => sources)) {
      expect(existsSync(join(HOUSE, source)), source).toBe(true)
      expect(isIgnored(source), source).toBe(false)
    }
    const targets = copiesOf(final).map(({ target }) => target)
    expect(targets.sort()).toEqual([
      'LICENSE',
      'bin',
      'dist/config',
      'dist/src',
      'node_modules',
      'package.json',
    ])
    expect(textsOf(build, 'RUN').at(-1)).toMatch(/^npm prune --omit=dev/)
  })

  it('runs as a user other than root, and opens no port by itself', () => {
    expect(textsOf(final, 'USER')).toEqual(['node'])
    expect(textsOf(final, 'ENV')).toEqual(['NODE_ENV=production', 'TOLLGATE_DATA_DIR=/data'])
    // Only its own user can read and write there, and it can write nowhere else.
    expect(textsOf(final, 'RUN')).toEqual(['install -d -o node -g node -m 700 /data'])
    expect(textsOf(final, 'EXPOSE')).toEqual(['8181 8182 3868'])
  })

  it('is healthy when charging is ready', async () => {
    const [check = ''] = textsOf(final, 'HEALTHCHECK')
    const command: string[] = JSON.parse(/CMD (\[.*\])$/.exec(check)?.[1] ?? '[]')
    expect(command.slice(0, 2)).toEqual(['node', '-e'])
    const script = command[2] ?? ''
    expect(script).toContain('http://127.0.0.1:8181/health/ready')
    for (const [status, code] of [
      [200, 0],
      [503, 1],
    ] as const) {
      const server = createServer((request, response) => {
        response.statusCode = request.url === '/health/ready' ? status : 404
        response.end()
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      expect(await runScript(script, 8181, port)).toBe(code)
      await new Promise((resolve) => server.close(resolve))
      expect(await runScript(script, 8181, port)).toBe(1)
    }
  })

  it('contains the product', () => {
    const at = { build: join(folder, 'build'), final: join(folder, 'final') }
    for (const one of copiesOf(build)) copy(one, HOUSE, at.build)
    for (const command of textsOf(build, 'RUN')) run(command, at.build)
    for (const one of copiesOf(final)) copy(one, one.from === 'build' ? at.build : HOUSE, at.final)
    const [entry = ''] = textsOf(final, 'ENTRYPOINT')
    const [, program = ''] = JSON.parse(entry) as string[]
    const main = join(at.final, relative('/app', program))
    const tollgate = (...args: string[]) =>
      spawnSync(process.execPath, [main, ...args], { cwd: at.final, env: {}, encoding: 'utf8' })
    const { version } = JSON.parse(read('package.json'))
    expect(tollgate('version')).toMatchObject({ status: 0, stdout: `${version}\n` })
    // It contains default settings, but no store.
    for (const role of ['admin', ...(JSON.parse(textsOf(final, 'CMD')[0] ?? '') as string[])]) {
      expect(tollgate(role).stderr).toContain('tollgate is not running in ./data')
    }
    expect(existsSync(join(at.final, 'dist/src/ledger/lua/commit.lua'))).toBe(true)
  })
})

/** npm needs the network and a minute; the modules of this repository replace its result. */
function run(command: string, cwd: string): void {
  const modules = join(cwd, 'node_modules')
  if (command.startsWith('npm ci')) symlinkSync(join(HOUSE, 'node_modules'), modules)
  else if (!command.startsWith('npm prune')) execFileSync('sh', ['-c', command], { cwd })
}

function copy({ from, sources, target }: Copy, root: string, folderOfStage: string): void {
  for (const source of sources) {
    const path = join(root, source.replace(/^\/app\//, ''))
    const isFolder = target.endsWith('/')
    const to = join(folderOfStage, isFolder ? join(target, source) : target)
    mkdirSync(dirname(to), { recursive: true })
    const filter = (one: string) =>
      from !== undefined || one === root || !isIgnored(relative(root, one))
    // The modules are a link, and stay a link.
    if (statSync(path).isDirectory() && source.endsWith('node_modules')) symlinkSync(path, to)
    else cpSync(path, to, { recursive: true, filter })
  }
}
