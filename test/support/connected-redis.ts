/** A private Redis and a connection to it, for the tests of a file. */
import { useOpened } from './opened.ts'
import { connectRedis, startTestRedis, type TestRedisOptions } from './redis.ts'

export function useRedis(options: TestRedisOptions = {}) {
  const server = useOpened(() => startTestRedis(options))
  return { server, redis: useOpened(() => connectRedis(server().url)) }
}
