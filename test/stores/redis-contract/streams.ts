import { describe, expect, it } from 'vitest'
import type { Scene } from '../redis-contract.ts'

type Entry = [id: string, fields: string[] | null]

export function streamContract(scene: Scene): void {
  appending(scene)
  groups(scene)
  deleted(scene)
}

/** A stream with this number of entries and a group at its beginning. */
async function stream(scene: Scene, entries: number): Promise<{ key: string; ids: string[] }> {
  const key = scene.key()
  await scene.redis().xgroup('CREATE', key, 'g', '0', 'MKSTREAM')
  const ids: string[] = []
  for (let n = 0; n < entries; n++) ids.push((await scene.redis().xadd(key, '*', 'n', n)) ?? '')
  return { key, ids }
}

async function read(scene: Scene, key: string, consumer: string, count: number): Promise<Entry[]> {
  const group = ['GROUP', 'g', consumer, 'COUNT', String(count)]
  return entriesIn(await scene.redis().call('XREADGROUP', ...group, 'STREAMS', key, '>'))
}

/** Entries of one stream: a pair in a list (RESP2), or a map flattened by the driver (RESP3). */
function entriesIn(reply: unknown): Entry[] {
  const [first, second] = (reply ?? ['', []]) as [unknown, Entry[]]
  return typeof first === 'string' ? second : (first as [string, Entry[]])[1]
}

async function claim(scene: Scene, key: string, consumer: string): Promise<(Entry | null)[]> {
  const reply = await scene.redis().call('XAUTOCLAIM', key, 'g', consumer, '0', '0')
  return (reply as [string, (Entry | null)[]])[1]
}

const pending = async (scene: Scene, key: string): Promise<number> => {
  const [count] = (await scene.redis().xpending(key, 'g')) as [number]
  return count
}

function appending(scene: Scene): void {
  describe('streams', () => {
    it('assign each entry a greater id than all previous ones, with many clients', async () => {
      const key = scene.key()
      const clients = Array.from({ length: 4 }, () => scene.connect())
      await Promise.all(
        clients.map(async (client, writer) => {
          for (let n = 0; n < 25; n++) await client.xadd(key, '*', 'writer', writer, 'n', n)
        }),
      )
      const entries = await scene.redis().xrange(key, '-', '+')
      expect(entries).toHaveLength(100)
      const parts = entries.map(([id]) => id.split('-').map(Number) as [number, number])
      for (let i = 1; i < parts.length; i++) {
        const [[ms, n], [beforeMs, beforeN]] = [parts[i]!, parts[i - 1]!]
        expect(ms > beforeMs || (ms === beforeMs && n > beforeN)).toBe(true)
      }
      for (let writer = 0; writer < 4; writer++) {
        const own = entries.filter(([, fields]) => fields[1] === String(writer))
        expect(own.map(([, fields]) => Number(fields[3]))).toEqual([...Array(25).keys()])
      }
    })

    it('keep the order of fields, and all bytes', async () => {
      const key = scene.key()
      const bytes = Buffer.from([0, 10, 13, 255])
      await scene.redis().xadd(key, '*', 'b', bytes, 'a', '')
      const [[, fields] = []] = await scene.redis().xrangeBuffer(key, '-', '+')
      expect(fields).toEqual([Buffer.from('b'), bytes, Buffer.from('a'), Buffer.alloc(0)])
    })
  })
}

function groups(scene: Scene): void {
  describe('consumer groups', () => {
    it('are created once', async () => {
      const { key } = await stream(scene, 0)
      const again = scene.redis().xgroup('CREATE', key, 'g', '0', 'MKSTREAM')
      await expect(again).rejects.toThrow(/^BUSYGROUP/)
    })

    it('deliver each entry to one consumer, which owns it until it is acknowledged', async () => {
      const { key, ids } = await stream(scene, 5)
      const first = await read(scene, key, 'one', 3)
      const second = await read(scene, key, 'two', 9)
      expect([...first, ...second].map(([id]) => id)).toEqual(ids)
      expect(await read(scene, key, 'one', 9)).toEqual([])
      expect(await pending(scene, key)).toBe(5)
      expect(await scene.redis().xack(key, 'g', ids[0]!, ids[0]!, ids[4]!)).toBe(2)
      expect(await pending(scene, key)).toBe(3)
    })

    it('allow another consumer to claim unacknowledged entries, with their content', async () => {
      const { key, ids } = await stream(scene, 3)
      await read(scene, key, 'gone', 9)
      await scene.redis().xack(key, 'g', ids[1]!)
      const taken = await claim(scene, key, 'heir')
      expect(taken.map((entry) => [entry?.[0], entry?.[1]])).toEqual([
        [ids[0], ['n', '0']],
        [ids[2], ['n', '2']],
      ])
      expect(await pending(scene, key)).toBe(2)
    })

    it('do not transfer recently read entries', async () => {
      const { key } = await stream(scene, 2)
      await read(scene, key, 'one', 9)
      const reply = await scene.redis().call('XAUTOCLAIM', key, 'g', 'two', '3600000', '0')
      expect((reply as [string, unknown[]])[1]).toEqual([])
    })

    it('wake a waiting reader, and return when its wait expires', async () => {
      const { key } = await stream(scene, 0)
      const reader = scene.connect()
      const waitFor = (ms: string) =>
        reader.call('XREADGROUP', 'GROUP', 'g', 'c', 'BLOCK', ms, 'STREAMS', key, '>')
      expect(await waitFor('20')).toBeNull()
      const waiting = waitFor('60000')
      const id = await scene.redis().xadd(key, '*', 'n', 1)
      expect(entriesIn(await waiting)).toEqual([[id, ['n', '1']]])
    })
  })
}

function deleted(scene: Scene): void {
  describe('deleted stream entries', () => {
    it('are not delivered with content again while they are pending', async () => {
      const { key, ids } = await stream(scene, 3)
      await read(scene, key, 'one', 9)
      expect(await scene.redis().xdel(key, ids[1]!)).toBe(1)
      const taken = await claim(scene, key, 'two')
      // Redis 6.2 returns null for it; Redis 7 returns nothing and removes it from the pending
      // list.
      const present = taken.filter((entry) => entry !== null && entry[1] !== null)
      expect(present.map((entry) => entry?.[0])).toEqual([ids[0], ids[2]])
    })

    it('leave nothing behind once acknowledged, in either order and twice', async () => {
      const { key, ids } = await stream(scene, 2)
      await read(scene, key, 'one', 9)
      const redis = scene.redis()
      await redis.pipeline().xdel(key, ids[0]!).xack(key, 'g', ids[0]!).exec()
      await redis.pipeline().xack(key, 'g', ids[1]!).xdel(key, ids[1]!).exec()
      expect([await redis.xlen(key), await pending(scene, key)]).toEqual([0, 0])
      expect(await redis.xack(key, 'g', ids[0]!)).toBe(0)
      expect(await redis.xdel(key, ids[0]!)).toBe(0)
      expect(await claim(scene, key, 'two')).toEqual([])
      // An empty stream still exists, and its ids continue.
      const next = (await redis.xadd(key, '*', 'n', 9)) ?? ''
      expect(next.localeCompare(ids[1]!, 'en', { numeric: true })).toBe(1)
    })

    it('are not delivered if they were never read', async () => {
      const { key, ids } = await stream(scene, 3)
      await scene.redis().xdel(key, ids[0]!)
      const found = await read(scene, key, 'one', 9)
      expect(found.map(([id]) => id)).toEqual([ids[1], ids[2]])
    })
  })
}
