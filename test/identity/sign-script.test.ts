/** docs/sign.sh as documented, against a server that admits signed requests. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { fastify } from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readParameters, registerBodies } from '../../src/admin/http/body.ts'
import { createSignatureCheck } from '../../src/identity/signature-check.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { openExpiringKeys } from '../../src/store/expiring.ts'
import { useRedis } from '../support/connected-redis.ts'

const KEY = '00112233445566778899aabbccddeeff'
const SCRIPT = new URL('../../docs/sign.sh', import.meta.url).pathname

const server = fastify({ forceCloseConnections: true })
let url = ''
const { redis } = useRedis()
beforeAll(async () => {
  const check = createSignatureCheck({
    clients: async () => ({ signers: () => [{ name: 'crm', key: KEY, roles: [] }] }),
    keys: openExpiringKeys(redis(), 'auth'),
    settings: { get: async (setting) => setting.read(undefined) },
    clock: systemClock,
  })
  server.register(async (scope) => {
    registerBodies(scope)
    scope.post('/', async (request, reply) => {
      const { ordered: sent } = await readParameters(request, reply)
      return check(sent)
    })
  })
  url = await server.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(() => server.close())

async function sign(key: string, ...parameters: string[]): Promise<unknown> {
  const env = { ...process.env, KEY: key }
  const { stdout } = await promisify(execFile)('sh', [SCRIPT, url, ...parameters], { env })
  return JSON.parse(stdout)
}

it('a signed request is accepted, with quotes and slashes in values', async () => {
  const update = String.raw`update={"url":"http://x/y?a=b&c=d","path":"\\ and more"}`
  expect(await sign(KEY, 'query={"aid":17}', update, 'size=10', 'empty=')).toEqual({
    name: 'crm',
    roles: [],
  })
  expect(await sign(KEY, 'b=2', 'a=1')).toEqual({ name: 'crm', roles: [] })
})

it('a request that is signed with another key is refused', async () => {
  const refused = { refused: '_sig_ does not match any known key' }
  expect(await sign(KEY.replace('0', '1'), 'query={"aid":17}')).toEqual(refused)
})
