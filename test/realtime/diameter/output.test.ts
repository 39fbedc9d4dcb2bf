import { describe, expect, it } from 'vitest'
import { createFlusher, createOutput } from '../../../src/realtime/diameter/output.ts'

function sinkOf(writableLength = 0) {
  const writes: string[] = []
  return {
    writes,
    writableLength,
    write(bytes: Buffer) {
      writes.push(bytes.toString())
      return true
    },
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('an output', () => {
  it('writes all of one turn at once, in order, for each sink', async () => {
    const flusher = createFlusher()
    const [one, other] = [sinkOf(), sinkOf()]
    let flushes = 0
    const count = () => {
      flushes += 1
    }
    const outputs = [createOutput(one, flusher, count), createOutput(other, flusher, count)]
    for (const text of ['a', 'b', 'c']) outputs[0]?.add(Buffer.from(text))
    outputs[1]?.add(Buffer.from('z'))
    expect([...one.writes, ...other.writes]).toEqual([])
    await turn()
    expect(one.writes).toEqual(['abc'])
    expect(other.writes).toEqual(['z'])
    expect(flushes).toBe(2)
    outputs[0]?.add(Buffer.from('d'))
    await turn()
    expect(one.writes).toEqual(['abc', 'd'])
  })

  it('writes at once when it must, and then nothing again', async () => {
    const sink = sinkOf()
    const output = createOutput(sink, createFlusher(), () => undefined)
    output.add(Buffer.from('a'))
    output.flush()
    expect(sink.writes).toEqual(['a'])
    await turn()
    expect(sink.writes).toEqual(['a'])
  })

  it('takes what is added while it is flushed into the next turn', async () => {
    const sink = sinkOf()
    let isFirst = true
    const output = createOutput(sink, createFlusher(), () => {
      if (isFirst) output.add(Buffer.from('b'))
      isFirst = false
    })
    output.add(Buffer.from('a'))
    await turn()
    await turn()
    expect(sink.writes).toEqual(['a', 'b'])
  })

  it('knows what waits: what it has gathered, and what the sink has', async () => {
    const output = createOutput(sinkOf(100), createFlusher(), () => undefined)
    output.add(Buffer.alloc(5))
    expect(output.waitingBytes()).toBe(105)
    await turn()
    expect(output.waitingBytes()).toBe(100)
  })
})
