import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { startMongoServer } from '../src/server.ts'
import { mongoContract } from './contract.ts'

mongoContract('the embedded server', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tg-mongo-'))
  const server = await startMongoServer({
    dataDir: join(folder, 'data'),
    socketPath: join(folder, 's'),
  })
  return {
    url: server.url,
    async close() {
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
})

const url = process.env['TEST_MONGO_URL']
if (url) mongoContract('the server of TEST_MONGO_URL', async () => ({ url, close: async () => {} }))
else describe('the server of TEST_MONGO_URL', () => it.skip('is not configured', () => {}))
