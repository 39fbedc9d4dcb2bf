/** Starts the command once with few open files: the limit is that of a process. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { checkOpenFiles } from '../../src/cli/open-files.ts'

const CONFIG = {
  realtime: { connectionsMax: 10_000, listeners: 1, workers: 0 },
  diameter: { enabled: true, connectionsMax: 4096 },
  admin: { connectionsMax: 1000 },
}
const ADVICE = 'raise it (ulimit -n, LimitNOFILE=), or lower these settings'

it('names what charging needs, and the limit', () => {
  const check = (limit: number, config = CONFIG) => checkOpenFiles('realtime', config, limit, 4)
  expect(() => check(15_247)).toThrow(
    'realtime needs 15248 open files (realtime.connectionsMax 10000, ' +
      'diameter.connectionsMax 4096, 4 workers 128, stores and reserve 1024), ' +
      `but the limit of the process is 15247: ${ADVICE}`,
  )
  expect(() => check(15_248)).not.toThrow()
  expect(() => check(Number.POSITIVE_INFINITY)).not.toThrow()
  const without = { ...CONFIG, diameter: { ...CONFIG.diameter, enabled: false } }
  expect(() => check(11_152, without)).not.toThrow()
  const many = { ...without, realtime: { connectionsMax: 1, listeners: 2, workers: 3 } }
  expect(() => check(1_216, many)).toThrow('6 workers 192')
})

it('names what the other roles need', () => {
  expect(() => checkOpenFiles('admin', CONFIG, 2_023)).toThrow('admin needs 2024 open files')
  expect(() => checkOpenFiles('admin', CONFIG, 2_024)).not.toThrow()
  expect(() => checkOpenFiles('recorder', CONFIG, 1_024)).not.toThrow()
})

it('refuses to start a role', async () => {
  const program = fileURLToPath(new URL('../../bin/tollgate.mjs', import.meta.url))
  const command = `ulimit -n 2000 && exec "${process.execPath}" "${program}" realtime`
  // Neither store is needed for the answer.
  const env = {
    TOLLGATE_REDIS_URL: 'redis://127.0.0.1:1',
    TOLLGATE_MONGO_URL: 'mongodb://127.0.0.1:1',
  }
  const run = promisify(execFile)('sh', ['-c', command], { env })
  await expect(run).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^tollgate: realtime needs \d+ open files .* is 2000: raise it/),
  })
})
