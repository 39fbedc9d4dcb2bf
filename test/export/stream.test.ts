/** Lines sent to Kafka: each at least once, whatever is killed. */
import { readFileSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { KafkaTopic } from '../../src/export/kafka.ts'
import { JobFailedError, JobLostError } from '../../src/jobs/jobs.ts'
import { dyingCatalog } from '../support/catalog/dying.ts'
import { type KafkaRecord, startKafkaBroker } from '../support/export/kafka-broker.ts'
import { createRealTopic } from '../support/export/real-kafka.ts'
import { ended, openStreamScene } from '../support/export/stream-scene.ts'
import { useOpened, useOpenedEach } from '../support/opened.ts'
import { createAuthority } from '../support/realtime/diameter/certificates.ts'

const TOPIC = 'lines'
const broker = useOpenedEach(() => startKafkaBroker({ topic: TOPIC, partitions: 3 }))
const scene = useOpened(() => openStreamScene({ brokers: ['localhost:1'], topic: TOPIC }))
beforeEach(() => scene().reset())

const here = () => ({ kafka: { brokers: [broker().address] } })
const sent = (records: readonly KafkaRecord[] = broker().records) =>
  records.map(({ value }) => {
    const { stamp, v } = JSON.parse(value)
    return `${stamp} ${v}`
  })

/** With TEST_KAFKA=host:port also a real one. */
const real = process.env['TEST_KAFKA']
const BROKERS = [
  ['a broker', async () => ({ ...here().kafka, topic: TOPIC, read: async () => broker().records })],
  ...(real === undefined ? [] : [['Apache Kafka', () => createRealTopic(real)] as const]),
] as const

describe.each(BROKERS)('%s', (_, open) => {
  it('has the lines of an account in one partition, in their order, as JSON', async () => {
    const { read, ...kafka } = await open()
    const accounts = [11, 12, 13, 14, 15, 16, 17]
    const lines = accounts.flatMap((aid) => [1, 2, 3].map((each) => ended(aid, `${aid}-${each}`)))
    for (const each of [1, 2, 3]) {
      await scene().record(lines.filter(({ stamp }) => stamp.endsWith(`-${each}`)))
    }
    await scene().run({ kafka, settings: { fields: ['aid', 'usagev', 'exact.final_charge'] } })
    const records = await read()
    expect(sent(records).toSorted()).toEqual(lines.map(({ stamp }) => `${stamp} 1`).toSorted())
    for (const aid of accounts) {
      const own = records.filter(({ key }) => key === String(aid))
      expect(sent(own)).toEqual([`${aid}-1 1`, `${aid}-2 1`, `${aid}-3 1`])
      expect(new Set(own.map(({ partition }) => partition)).size).toBe(1)
    }
    expect(new Set(records.map(({ partition }) => partition)).size).toBe(3)
    expect(records.find(({ key }) => key === '11')?.value).toBe(
      '{"stamp":"11-1","v":1,"aid":11,"usagev":1,"exact.final_charge":"0"}',
    )
    expect(await scene().waiting()).toEqual([])
    expect(scene().counts).toEqual({ sent: lines.length, failures: 0 })
  })

  it.each(['none', 'gzip', 'snappy', 'lz4'] as const)('reads %s', async (compression) => {
    const { read, ...kafka } = await open()
    await scene().record([ended(1, 'one'), ended(1, 'two')])
    await scene().run({ kafka: { ...kafka, compression } })
    expect(sent(await read())).toEqual(['one 1', 'two 1'])
  })

  it('that does not know the topic is named with its reason', async () => {
    const { read: _, ...kafka } = await open()
    await scene().record([ended(1, 'one')])
    await expect(scene().run({ kafka: { ...kafka, topic: 'other' } })).rejects.toThrow(
      /^Kafka topic other: Unknown topic other/,
    )
    expect(await scene().waiting()).toEqual(['one 1'])
  })
})

describe('a line', () => {
  it('is sent when its segment has ended, and again when it has changed', async () => {
    await scene().record([ended(1, 'open', 1, { state: 'open' }), ended(1, 'closed')])
    await scene().run(here())
    expect(sent()).toEqual(['closed 1'])
    await scene().record([ended(1, 'open', 2)])
    await scene().record([ended(1, 'closed', 4)])
    // A recorder that was slower.
    await scene().record([ended(1, 'closed', 3)])
    await scene().run(here())
    expect(sent()).toEqual(['closed 1', 'open 2', 'closed 4'])
  })

  it('that changes while it is sent is sent again', async () => {
    await scene().record([ended(1, 'one')])
    let isFirst = true
    await scene().run({
      topic: {
        send: async (messages) => {
          broker().records.push(...messages.map((message) => ({ ...message, partition: 0 })))
          if (isFirst) await scene().record([ended(1, 'one', 2)])
          isFirst = false
        },
        close: () => undefined,
      },
    })
    expect(sent()).toEqual(['one 1', 'one 2'])
  })

  it('is left out if it was removed, or is of no configured plan', async () => {
    await scene().record([ended(1, 'removed'), ended(1, 'other'), ended(1, 'one')])
    await scene().catalog.lines.deleteOne({ stamp: 'removed' })
    await scene().catalog.lines.updateOne({ stamp: 'other' }, { $set: { plan: 'B' } })
    await scene().run({ ...here(), settings: { plans: ['DEMO'] } })
    expect(sent()).toEqual(['one 1'])
    expect(await scene().waiting()).toEqual([])
  })

  it('with a field that no line has ends the job', async () => {
    await expect(scene().run({ settings: { fields: ['nothing'] } })).rejects.toThrow(
      new JobFailedError('export.fields: nothing is not a field of lines'),
    )
  })

  it('is in a request of at most half a MiB', async () => {
    const text = 'x'.repeat(100_000)
    const lines = Array.from({ length: 12 }, (_, each) => ended(1, `line ${each}`))
    await scene().record(lines)
    await scene().catalog.lines.updateMany({}, { $set: { called_number: text } } as never)
    await scene().run({ kafka: { ...here().kafka, compression: 'none' } })
    expect(sent()).toHaveLength(12)
    expect(broker().produced).toMatchObject({ requests: 3 })
    expect(broker().produced.bytesMax).toBeLessThan(530_000)
  })
})

describe('while Kafka is away', () => {
  it('lines are recorded and wait, and the job says why', async () => {
    await scene().record([ended(1, 'one')])
    await broker().close()
    await expect(scene().run(here())).rejects.toThrow(/^Kafka topic lines: .*ECONNREFUSED/)
    await scene().record([ended(2, 'two')])
    expect(await scene().waiting()).toEqual(['one 1', 'two 1'])
    expect(scene().counts).toEqual({ sent: 0, failures: 1 })
    await broker().reopen()
    await scene().run(here())
    expect(sent()).toEqual(['one 1', 'two 1'])
  })

  it('for less than the attempts of a request, nothing fails', async () => {
    const changing = 6
    await scene().record([ended(1, 'one')])
    broker().refuseNext(changing)
    await scene().run(here())
    expect(sent()).toEqual(['one 1'])
    expect(scene().counts.failures).toBe(0)
  })

  it('and silent, the request is given up after its time', async () => {
    await scene().record([ended(1, 'one')])
    broker().silence()
    await expect(scene().run({ kafka: { ...here().kafka, timeoutMs: 100 } })).rejects.toThrow(
      'Kafka topic lines: no acknowledgement within export.kafka.timeoutMs',
    )
    broker().silence(false)
    await scene().run(here())
    expect(sent()).toEqual(['one 1'])
  })

  it('and silent, a stop does not wait for it', async () => {
    await scene().record([ended(1, 'one')])
    broker().silence()
    const stop = new AbortController()
    const running = scene().run({ ...here(), signal: stop.signal })
    await expect.poll(() => broker().produced.requests).toBe(1)
    stop.abort()
    expect(await running).toBeLessThanOrEqual(Date.now())
    expect(scene().counts.failures).toBe(0)
    expect(await scene().waiting()).toEqual(['one 1'])
  })
})

describe('a connection', () => {
  const login = { username: 'tollgate', password: 'a secret' }

  it('is kept for later lines', async () => {
    const { kafka } = loadConfig({ env: {} }).export
    const topic = new KafkaTopic({ ...kafka, ...here().kafka, topic: TOPIC })
    const { signal } = new AbortController()
    for (const key of ['1', '2', '3']) await topic.send([{ key, value: '{}' }], signal)
    expect(broker().connections()).toBe(1)
    topic.close()
  })

  it('is encrypted and has a login, whose secret no error shows', async () => {
    const authority = createAuthority()
    const { certFile, keyFile } = authority.issue('kafka', 'localhost')
    const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile) }
    const secured = await startKafkaBroker({ topic: TOPIC, partitions: 1, tls, login })
    const { caFile } = authority
    const kafka = {
      ...{ brokers: [secured.address], tls: true, caFile, mechanism: 'PLAIN' as const },
      ...login,
    }
    await scene().record([ended(1, 'one')])
    const wrong = { ...kafka, password: 'wrong one' }
    const error = await scene()
      .run({ kafka: wrong })
      .catch((caught: unknown) => caught)
    expect(String(error)).toMatch(/^KafkaError: Kafka topic lines: .*authentication/i)
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('wrong one')
    await expect(scene().run({ kafka: { ...kafka, caFile: '' } })).rejects.toThrow(/certificate/)
    await expect(scene().run({ kafka: { ...kafka, caFile: '/none' } })).rejects.toThrow(
      'export.kafka.caFile /none cannot be read: ENOENT',
    )
    expect(secured.records).toEqual([])
    await scene().run({ kafka })
    expect(sent(secured.records)).toEqual(['one 1'])
    await secured.close()
  })
})

describe('at least once', () => {
  it('every final line is sent, wherever recorder and sender were killed', async () => {
    let killed = 0
    for (let writes = 0; ; writes += 1) {
      await scene().reset()
      broker().records.length = 0
      let done = 0
      // Before the next write: reads before it have no effect.
      const dying = await dyingCatalog(scene().mongo, (command) => {
        if (WRITE.test(command)) done += 1
        return done > writes
      })
      const rounds = [
        [ended(1, 'a'), ended(2, 'b'), ended(3, 'c', 1, { state: 'open' })],
        [ended(1, 'a', 2), ended(3, 'c', 2), ended(1, 'd')],
      ]
      const { catalog } = dying
      let recorded = 0
      try {
        for (const lines of rounds) {
          await scene().record(lines, catalog)
          recorded += 1
          await scene().run({ ...here(), catalog })
        }
      } catch {}
      const hasDied = dying.died()
      await dying.close()
      // It would be removed with an older version of the line, or without one.
      expect(await scene().unwritten()).toEqual([])
      // Entries that were not acknowledged are read again by the next recorder.
      for (const lines of rounds.slice(recorded)) await scene().record(lines)
      await scene().catalog.jobs.updateMany({}, { $set: { state: 'waiting', due: new Date(0) } })
      await scene().run(here())
      const last = new Map(sent().map((line) => line.split(' ') as [string, string]))
      expect(Object.fromEntries(last)).toEqual({ a: '2', b: '1', c: '2', d: '1' })
      expect(await scene().waiting()).toEqual([])
      if (!hasDied) break
      killed += 1
    }
    expect(killed).toBeGreaterThan(8)
  })

  it.each(['before', 'after'] as const)(
    'a line whose connection ends %s it is stored',
    async (when) => {
      await scene().record([ended(1, 'one')])
      broker().cutNext(when)
      await scene().run(here())
      const twice = when === 'after' ? ['one 1'] : []
      expect(sent()).toEqual(['one 1', ...twice])
      expect(await scene().waiting()).toEqual([])
    },
  )

  it('a process that has lost the job sends nothing more', async () => {
    const lines = Array.from({ length: 501 }, (_, each) => ended(1, `line ${each}`))
    await scene().record(lines)
    const messages: unknown[] = []
    const topic: Pick<KafkaTopic, 'send' | 'close'> = {
      async send(request) {
        messages.push(...request)
        await scene().catalog.jobs.updateOne({}, { $set: { token: 'other' } })
      },
      close: () => undefined,
    }
    await expect(scene().run({ topic })).rejects.toThrow(JobLostError)
    expect(messages).toHaveLength(500)
    expect(await scene().waiting()).toHaveLength(1)
  })
})

const WRITE = /^(?:insert|update|delete|findAndModify|commitTransaction)\b/
