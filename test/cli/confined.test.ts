/**
 * Data of a running product that other users can read, and the environment of its processes.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProduct, type Product, type Started } from '../support/cli/product.ts'
import { waitUntil } from '../support/wait.ts'

/** Empty if there is no such process. */
function environmentText(pid: number | undefined): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    return ''
  }
}

const KEY = 'a key that seals what is secret in the store'

describe('a running product', () => {
  let product: Product
  let tollgate: Started

  beforeAll(async () => {
    product = createProduct()
    // As an earlier release created them.
    mkdirSync(join(product.dataDir, 'logs'), { recursive: true })
    chmodSync(product.dataDir, 0o755)
    tollgate = await product.start({
      TOLLGATE_ADMIN_OPEN_TO: 'nobody',
      TOLLGATE_SECRETS_KEY: KEY,
      AWS_SECRET_ACCESS_KEY: 'of somebody else',
      TZ: 'Europe/Paris',
      NODE_NO_WARNINGS: '1',
    })
  })
  afterAll(() => product.close())

  const modes = (folder: string): [path: string, mode: number][] =>
    readdirSync(folder, { withFileTypes: true, recursive: true }).flatMap((entry) => {
      const path = join(entry.parentPath, entry.name)
      // The stores may have renamed or removed it meanwhile.
      const found = statSync(path, { throwIfNoEntry: false })
      return found === undefined
        ? []
        : [[path.slice(product.dataDir.length + 1), found.mode & 0o777] as [string, number]]
    })

  it('creates files and folders that only its user and group can read', () => {
    expect(statSync(product.dataDir).mode & 0o777).toBe(0o750)
    const found = modes(product.dataDir)
    const paths = found.map(([path]) => path)
    for (const path of [
      'logs/admin.log',
      'logs/tollgate.log',
      'admin-password',
      'redis-data',
      'mongo',
    ]) {
      expect(paths).toContain(path)
    }
    expect(found.filter(([, mode]) => (mode & 0o027) !== 0)).toEqual([])
    const modeOf = new Map(found)
    expect(modeOf.get('admin-password')).toBe(0o600)
    expect(modeOf.get('logs/admin.log')).toBe(0o640)
    expect([modeOf.get('redis-data'), modeOf.get('mongo')]).toEqual([0o700, 0o700])
  })

  it.runIf(process.platform === 'linux')('passes to each process only what it needs', async () => {
    const environmentOf = async (name: string) => {
      let text = ''
      // A process that is being replaced is not there for a moment.
      await waitUntil(`an environment of ${name}`, () => {
        text = environmentText(tollgate.children().get(name))
        return text !== ''
      })
      return new Map(text.split('\0').map((line) => line.split(/=(.*)/s, 2) as [string, string]))
    }
    for (const name of ['admin', 'realtime', 'recorder', 'mongo']) {
      const environment = await environmentOf(name)
      expect(environment.get('TZ'), name).toBe('Europe/Paris')
      expect(environment.get('PATH'), name).toBe(process.env['PATH'])
      expect(environment.has('AWS_SECRET_ACCESS_KEY'), name).toBe(false)
    }
    for (const name of ['admin', 'realtime']) {
      const environment = await environmentOf(name)
      expect(environment.get('TOLLGATE_SECRETS_KEY'), name).toBe(KEY)
      expect(environment.get('NODE_NO_WARNINGS'), name).toBe('1')
    }
    expect((await environmentOf('mongo')).get('NODE_NO_WARNINGS')).toBe('1')
    // Redis writes its title over its arguments: the remainder contains no secret.
    for (const name of ['mongo', 'redis-server']) {
      const environment = await environmentOf(name)
      expect(
        [...environment.keys()].filter((key) => /^TOLLGATE_/.test(key)),
        name,
      ).toEqual([])
      expect([...environment.values()], name).not.toContain(KEY)
    }
  })
})
