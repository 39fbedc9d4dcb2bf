/** Gathers what is written to connections, so that a turn of the event loop costs one write each. */

/** What is written to: a socket. */
export interface Sink {
  readonly writableLength: number
  write(bytes: Buffer): boolean
}

export interface Output {
  add(bytes: Buffer): void
  /** Writes what was gathered, now. */
  flush(): void
  /** Bytes that the peer has not taken yet. */
  waitingBytes(): number
}

/** Flushes in the next turn each output that has something; one for all connections. */
export interface Flusher {
  soon(output: Output): void
}

export function createFlusher(): Flusher {
  let due: Output[] = []
  const flushAll = () => {
    const outputs = due
    due = []
    for (const output of outputs) output.flush()
  }
  return {
    soon(output) {
      if (due.length === 0) setImmediate(flushAll)
      due.push(output)
    },
  }
}

/** `onFlushed` is told after each write, when it is known what waits. */
export function createOutput(sink: Sink, flusher: Flusher, onFlushed: () => void): Output {
  let parts: Buffer[] = []
  let bytesGathered = 0
  const output: Output = {
    add(bytes) {
      if (parts.length === 0) flusher.soon(output)
      parts.push(bytes)
      bytesGathered += bytes.length
    },
    flush() {
      if (parts.length === 0) return
      const [first] = parts
      const all = parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
      parts = []
      bytesGathered = 0
      sink.write(all)
      onFlushed()
    },
    waitingBytes: () => bytesGathered + sink.writableLength,
  }
  return output
}
