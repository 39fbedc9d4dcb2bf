import { Command } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { openRedis, waitForRedis } from '../../src/store/redis.ts'
import {
  encodeScript,
  type ScriptValue,
  scriptSha,
  separateValues,
} from '../../src/store/script-command.ts'
import { startTestRedis } from '../support/redis.ts'

const SHA = scriptSha('return 1')

/** The encoding of the driver. */
function byDriver(keys: string[], args: ScriptValue[]): string {
  const command = new Command('EVALSHA', [SHA, keys.length, ...keys, ...separateValues(args)])
  return Buffer.from(command.toWritable({})).toString('latin1')
}

describe('a script call', () => {
  it.each<[string, string[], ScriptValue[]]>([
    ['without keys', [], ['a', 1]],
    ['without arguments', ['{p1}:o:1:2', '{p1}:x'], []],
    ['with a block at the end', ['k'], ['1-epoch', Buffer.from([0, 13, 10, 255])]],
    ['with blocks in a row, one empty', ['k'], [Buffer.from('ab'), Buffer.alloc(0), 'c']],
    [
      'with encoded arguments',
      ['k'],
      ['1-epoch', Buffer.from('ab'), { count: 2, bytes: Buffer.from('$2\r\n\r\n\r\n$0\r\n\r\n') }],
    ],
    ['with more than ASCII', ['schlüssel'], ['größe', '€', 2 ** 53 - 1]],
  ])('has the same encoding as from the driver: %s', (_, keys, args) => {
    expect(encodeScript(SHA, keys, args).toString('latin1')).toBe(byDriver([...keys], [...args]))
  })

  it('includes its text if Redis does not have the script, or no longer has it', async () => {
    const server = await startTestRedis({ appendfsync: 'everysec' })
    const log = { info: () => undefined, warn: () => undefined }
    const settings = { url: server.url, commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 }
    const redis = openRedis(settings, log as never)
    try {
      await waitForRedis(redis, 20_000)
      const text = 'return { KEYS[1], ARGV[1], ARGV[2] }'
      const block = Buffer.from([1, 0, 254])
      const call = { name: 'told', text, keys: ['key'], args: ['text', block], isDurable: false }
      const expected = [Buffer.from('key'), Buffer.from('text'), block]
      expect(await redis.runScript(call)).toEqual(expected)
      expect(await redis.runScript(call)).toEqual(expected)
      await redis.client.script('FLUSH')
      expect(await redis.runScript(call)).toEqual(expected)
      await expect(
        redis.runScript({ ...call, name: 'broken', text: 'return nothing()' }),
      ).rejects.toThrow('nothing')
    } finally {
      await redis.close()
      await server.close()
    }
  })
})
