import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { StoreDownError } from '../../src/store/redis.ts'
import { useRedis } from '../support/connected-redis.ts'

const { server, redis } = useRedis()

it('a programming error is distinguished from an outage with a similar code', async () => {
  const create = () => redis().guard(redis().client.xgroup('CREATE', 's', 'g', '0', 'MKSTREAM'))
  await create()
  const error = await create().catch((reason: unknown) => reason)
  expect(error).toMatchObject({ message: expect.stringMatching(/^BUSYGROUP /) })
  expect(error).not.toBeInstanceOf(StoreDownError)
})

it('a Redis that is busy with a script is treated as unavailable', async () => {
  const other = new Redis({ path: server().socketPath })
  await redis().client.config('SET', 'busy-reply-threshold', '1')
  const endless = other.eval('while true do end', 0).catch(() => undefined)
  await expect
    .poll(() =>
      redis()
        .guard(redis().client.get('x'))
        .catch((reason: unknown) => reason),
    )
    .toBeInstanceOf(StoreDownError)
  await redis().client.call('SCRIPT', 'KILL')
  await endless
  other.disconnect()
})
