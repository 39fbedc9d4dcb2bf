/** A separate Redis with the configuration of the product. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedRedis, startRedis } from '../../src/embedded/redis.ts'
import { runDirFor } from '../../src/embedded/run-dir.ts'

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

export async function withOwnRedis<T>(work: (redis: EmbeddedRedis) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-bench-'))
  const dataDir = join(folder, 'redis')
  mkdirSync(dataDir)
  const runDir = runDirFor(folder)
  const redis = await startRedis({ dataDir, runDir, appendfsync: 'everysec', log: silent })
  try {
    return await work(redis)
  } finally {
    await redis.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
