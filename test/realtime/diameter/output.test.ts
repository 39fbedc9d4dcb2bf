import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createFlusher, createOutput } from '../../../src/realtime/diameter/output.ts'

/** A sink that records each write separately, as a socket would send it. */
function sinkOf() {
  const writes: string[] = []
  const sink = new Writable({
    writev(chunks, done) {
      writes.push(chunks.map(({ chunk }) => String(chunk)).join(''))
      done()
    },
  })
  return { sink, writes }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('output to sockets', () => {
  it('is written once per event-loop turn, in order, for each socket', async () => {
    const flusher = createFlusher()
    const [one, other] = [sinkOf(), sinkOf()]
    let flushes = 0
    const count = () => {
      flushes += 1
    }
    const first = createOutput(one.sink, flusher, count)
    const second = createOutput(other.sink, flusher, count)
    for (const text of ['a', 'b', 'c']) first.add(Buffer.from(text))
    second.add(Buffer.from('z'))
    expect([...one.writes, ...other.writes]).toEqual([])
    await turn()
    expect(one.writes).toEqual(['abc'])
    expect(other.writes).toEqual(['z'])
    expect(flushes).toBe(2)
    first.add(Buffer.from('d'))
    await turn()
    expect(one.writes).toEqual(['abc', 'd'])
  })

  it('is written immediately above the limit, and not written again', async () => {
    const { sink, writes } = sinkOf()
    const output = createOutput(sink, createFlusher(), () => undefined)
    output.add(Buffer.from('a'))
    output.flush()
    expect(writes).toEqual(['a'])
    await turn()
    expect(writes).toEqual(['a'])
  })

  it('added during a flush is written in the next turn', async () => {
    const { sink, writes } = sinkOf()
    let isFirst = true
    const output = createOutput(sink, createFlusher(), () => {
      if (isFirst) output.add(Buffer.from('b'))
      isFirst = false
    })
    output.add(Buffer.from('a'))
    await turn()
    await turn()
    expect(writes).toEqual(['a', 'b'])
  })

  it('counts the bytes that wait', async () => {
    const { sink } = sinkOf()
    const output = createOutput(sink, createFlusher(), () => undefined)
    output.add(Buffer.alloc(5))
    output.add(Buffer.alloc(2))
    expect(output.waitingBytes()).toBe(7)
    await turn()
    expect(output.waitingBytes()).toBe(0)
  })
})
