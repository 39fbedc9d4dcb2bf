import { describe, expect, it } from 'vitest'
import { createFrames } from '../../../src/realtime/diameter/frames.ts'
import { ccr, cer, written } from '../../support/realtime/diameter/raw-peer.ts'

const MAX = 4096

function collect(chunks: readonly Buffer[], max = MAX) {
  const frames = createFrames(max)
  const messages: Buffer[] = []
  const problems = chunks.map((chunk) =>
    frames.take(chunk, (bytes) => {
      messages.push(Buffer.from(bytes))
      return true
    }),
  )
  return { messages, problem: problems.find((problem) => problem !== null) ?? null }
}

/** Three messages, one of them only a header. */
const MESSAGES = [cer(), written(280), ccr(5, 'a session')]
const STREAM = Buffer.concat(MESSAGES)

describe('a stream of messages', () => {
  it('is split the same if it is cut once or twice anywhere', () => {
    for (let first = 0; first <= STREAM.length; first += 1) {
      for (let second = first; second <= STREAM.length; second += 7) {
        const chunks = [
          STREAM.subarray(0, first),
          STREAM.subarray(first, second),
          STREAM.subarray(second),
        ]
        expect(collect(chunks), `${first} ${second}`).toEqual({ messages: MESSAGES, problem: null })
      }
    }
  })

  it.each([1, 2, 3, 19, 20, 21, 64])('is split the same in pieces of %d bytes', (size) => {
    const chunks = []
    for (let at = 0; at < STREAM.length; at += size) chunks.push(STREAM.subarray(at, at + size))
    expect(collect(chunks)).toEqual({ messages: MESSAGES, problem: null })
  })

  it('is not copied if a message lies in one chunk', () => {
    const frames = createFrames(MAX)
    frames.take(STREAM, (bytes) => {
      expect(bytes.buffer).toBe(STREAM.buffer)
      return true
    })
  })

  it('is not read further when the receiver stops', () => {
    const frames = createFrames(MAX)
    let count = 0
    const stop = () => {
      count += 1
      return false
    }
    expect(frames.take(STREAM, stop)).toBeNull()
    expect(frames.take(STREAM, stop)).toBeNull()
    expect(count).toBe(1)
  })

  it('may have messages of the maximum length, whole and in pieces', () => {
    const message = written(272, { avps: [{ ...longAvp(MAX - 28) }] })
    expect(message).toHaveLength(MAX)
    expect(collect([message]).messages).toEqual([message])
    const chunks = [message.subarray(0, 600), message.subarray(600, 3000), message.subarray(3000)]
    expect(collect(chunks).messages).toEqual([message])
  })
})

function longAvp(bytes: number) {
  return { code: 1, vendor: 0, flags: 0, data: Buffer.alloc(bytes) }
}

describe('an invalid header', () => {
  const broken = (change: (bytes: Buffer) => void) => {
    const bytes = ccr(3)
    change(bytes)
    return bytes
  }
  const rows: [what: string, bytes: Buffer, code: number][] = [
    ['version 0', broken((bytes) => bytes.writeUInt8(0, 0)), 5011],
    ['version 2', broken((bytes) => bytes.writeUInt8(2, 0)), 5011],
    ['length 0', broken((bytes) => bytes.writeUIntBE(0, 1, 3)), 5015],
    ['length 16', broken((bytes) => bytes.writeUIntBE(16, 1, 3)), 5015],
    ['length 22', broken((bytes) => bytes.writeUIntBE(22, 1, 3)), 5015],
    ['length 4100', broken((bytes) => bytes.writeUIntBE(MAX + 4, 1, 3)), 5015],
    ['length 16777212', broken((bytes) => bytes.writeUIntBE(0xfffffc, 1, 3)), 5015],
    ['text', Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'), 5011],
  ]

  it.each(rows)('ends the stream and is returned: %s', (_what, bytes, code) => {
    const ends = [[bytes, MESSAGES[0] as Buffer], [...bytes].map((byte) => Buffer.from([byte]))]
    for (const chunks of ends) {
      const { messages, problem } = collect([MESSAGES[1] as Buffer, ...chunks])
      expect(messages).toEqual([MESSAGES[1]])
      expect(problem).toMatchObject({ resultCode: code, header: bytes.subarray(0, 20) })
    }
  })
})
