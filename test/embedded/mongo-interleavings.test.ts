import { Binary, type Document, Int32, Long, UUID } from 'bson'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DirectServer, openDirectServer } from '../support/embedded/direct-server.ts'
import { type Answer, IsolationModel } from '../support/embedded/isolation-model.ts'

const RUNS = 150
const SESSIONS = 3

let server: DirectServer
let runs = 0

beforeAll(async () => {
  server = await openDirectServer()
})
afterAll(() => server.close())

const ids = fc.integer({ min: 1, max: 3 })
const keys = fc.integer({ min: 1, max: 4 })
/** Numbered sessions with a transaction each; the last one writes without a transaction. */
const sessions = fc.integer({ min: 0, max: SESSIONS })
const steps = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ by: sessions, kind: fc.constant('put' as const), id: ids, key: keys }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      by: sessions,
      kind: fc.constant('remove' as const),
      id: ids,
      key: keys,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ by: sessions, kind: fc.constant('read' as const), id: ids, key: keys }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      by: sessions,
      kind: fc.constant('commit' as const),
      id: ids,
      key: keys,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ by: sessions, kind: fc.constant('abort' as const), id: ids, key: keys }),
  },
)

type Step = typeof steps extends fc.Arbitrary<infer T> ? T : never

describe('random interleavings of transactions', () => {
  it('have the answers and contents of a simple model', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 4, maxLength: 40 }), async (sequence) => {
        const run = await Run.start()
        for (const step of sequence) {
          expect(await run.onServer(step), JSON.stringify(step)).toEqual(run.onModel(step))
        }
        await run.end()
      }),
      { numRuns: RUNS },
    )
  })
})

class Run {
  readonly #model = new IsolationModel(SESSIONS)
  readonly #collection: string
  readonly #sessions = Array.from({ length: SESSIONS }, () => ({
    lsid: { id: new Binary(new UUID().buffer, Binary.SUBTYPE_UUID) },
    number: 0,
    isOpen: false,
  }))

  private constructor(collection: string) {
    this.#collection = collection
  }

  static async start(): Promise<Run> {
    const collection = `c${++runs}`
    const index = { key: { key: new Int32(1) }, name: 'key', unique: true }
    await server.run({ createIndexes: collection, indexes: [index] })
    return new Run(collection)
  }

  onModel({ by, kind, id, key }: Step): Answer {
    return this.#model.run(by, kind, id, key)
  }

  async onServer({ by, kind, id, key }: Step): Promise<Answer> {
    const session = this.#sessions[by]
    if (kind === 'commit' || kind === 'abort') {
      if (!session?.isOpen) return 'done'
      session.isOpen = false
      const command = { [`${kind}Transaction`]: 1, ...fieldsOf(session) }
      return answerOf(await server.run(command, undefined, 'admin'))
    }
    const answer = answerOf(
      await server.run({ ...this.#command(kind, id, key), ...this.#fields(by) }),
    )
    if (session && (answer === 'conflict' || answer === 'duplicate')) session.isOpen = false
    return answer
  }

  #command(kind: 'put' | 'remove' | 'read', id: number, key: number): Document {
    const q = { _id: new Int32(id) }
    if (kind === 'read') {
      const filter = { key: { $gte: new Int32(1) } }
      return { find: this.#collection, filter, sort: { key: new Int32(-1) } }
    }
    if (kind === 'remove')
      return { delete: this.#collection, deletes: [{ q, limit: new Int32(1) }] }
    const u = { $set: { key: new Int32(key) } }
    return { update: this.#collection, updates: [{ q, u, upsert: true }] }
  }

  /** The fields of the transaction of a session, which starts with its first operation. */
  #fields(by: number): Document {
    const session = this.#sessions[by]
    // Without a transaction a write waits for others only for a moment.
    if (!session) return { maxTimeMS: new Int32(1) }
    if (session.isOpen) return fieldsOf(session)
    session.isOpen = true
    session.number += 1
    return { ...fieldsOf(session), startTransaction: true }
  }

  /** Aborts what is open; the indexes must contain exactly the committed documents. */
  async end(): Promise<void> {
    for (let by = 0; by < SESSIONS; by++) {
      const step = { by, kind: 'abort', id: 1, key: 1 } as const
      expect(await this.onServer(step)).toEqual(this.onModel(step))
    }
    const last = { by: SESSIONS, kind: 'read', id: 1, key: 1 } as const
    expect(await this.onServer(last)).toEqual(this.onModel(last))
    const entries = server.expectedEntries(`d.${this.#collection}`)
    const { documents } = server.content(`d.${this.#collection}`)
    expect(entries.length).toBe(documents.length * 2)
    const stored = new Set(server.content(`d.${this.#collection}`).entries)
    for (const entry of entries) expect(stored.has(entry)).toBe(true)
  }
}

function fieldsOf(session: { lsid: Document; number: number }): Document {
  const { lsid, number } = session
  return { lsid, txnNumber: Long.fromNumber(number), autocommit: false }
}

function answerOf(answer: Document): Answer {
  const code = Number(answer['code'] ?? answer['writeErrors']?.[0]?.code ?? 0)
  if (code === 112) return 'conflict'
  if (code === 11000) return 'duplicate'
  if (code === 50) return 'locked'
  if (code !== 0) throw new Error(`unexpected answer ${JSON.stringify(answer)}`)
  const batch = answer['cursor']?.firstBatch as Document[] | undefined
  if (!batch) return 'done'
  return batch.map(({ _id, key }) => [Number(_id), Number(key)])
}
