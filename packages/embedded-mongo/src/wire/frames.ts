/** Maximum size of a message in bytes, as announced by `hello`. */
export const MESSAGE_BYTES_MAX = 48_000_000
const HEADER_BYTES = 16

/** The received bytes are not a valid message: the connection must be closed. */
export class MongoWireError extends Error {
  override readonly name = 'WireError'
}

/** Splits the bytes of a connection into complete messages, including their headers. */
export class FrameReader {
  #chunks: Buffer[] = []
  #bytes = 0
  #frameLength = 0

  /** @throws WireError for an invalid length */
  push(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    const frames: Buffer[] = []
    while (this.#bytes >= Math.max(4, this.#frameLength)) {
      if (this.#frameLength === 0) {
        this.#frameLength = lengthOf(this.#join())
        continue
      }
      const all = this.#join()
      frames.push(all.subarray(0, this.#frameLength))
      const rest = all.subarray(this.#frameLength)
      this.#chunks = rest.length > 0 ? [rest] : []
      this.#bytes = rest.length
      this.#frameLength = 0
    }
    return frames
  }

  #join(): Buffer {
    const [first] = this.#chunks
    if (this.#chunks.length === 1 && first) return first
    const all = Buffer.concat(this.#chunks)
    this.#chunks = [all]
    return all
  }
}

function lengthOf(bytes: Buffer): number {
  const length = bytes.readInt32LE(0)
  if (length >= HEADER_BYTES && length <= MESSAGE_BYTES_MAX) return length
  throw new MongoWireError(`invalid message length ${length}`)
}
