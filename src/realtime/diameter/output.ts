/**
 * Collects writes to connections, so that each connection has one system call per event-loop
 * iteration.
 */

/** Destination of the writes: a socket. */
export interface Sink {
  readonly writableLength: number
  write(bytes: Buffer): boolean
  cork(): void
  uncork(): void
}

export interface Output {
  add(bytes: Buffer): void
  /** Writes the collected bytes immediately. */
  flush(): void
  /** Bytes that the peer has not read. */
  waitingBytes(): number
}

/** Flushes outputs with collected bytes in the next iteration; shared by all connections. */
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

/**
 * `onFlushed` is called after each write, when the number of waiting bytes is known. The parts are
 * passed to the system separately: measured, that takes half the time of joining them.
 */
export function createOutput(sink: Sink, flusher: Flusher, onFlushed: () => void): Output {
  let isGathering = false
  const output: Output = {
    add(bytes) {
      if (!isGathering) {
        isGathering = true
        sink.cork()
        flusher.soon(output)
      }
      sink.write(bytes)
    },
    flush() {
      if (!isGathering) return
      isGathering = false
      sink.uncork()
      onFlushed()
    },
    waitingBytes: () => sink.writableLength,
  }
  return output
}
